"""Compare each claim of the paper with what was measured."""

from scoup import scorecard, store
from scoup.evidence.files import read_metrics, write_claims
from scoup.job import job

with job(snakemake):
    metrics = read_metrics(*snakemake.input.metrics)
    claims = scorecard.judge(metrics, snakemake.params.own)
    write_claims(snakemake.output.json, claims)
    store.write_text(snakemake.output.table, scorecard.table(claims))
