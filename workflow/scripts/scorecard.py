"""Compare each claim of the paper with what was measured."""

from scoup import results, scorecard, store
from scoup.job import job

with job(snakemake):
    metrics = results.read_metrics(*snakemake.input.metrics)
    claims = scorecard.judge(metrics, snakemake.params.own)
    results.write_claims(snakemake.output.json, claims)
    store.write_text(snakemake.output.table, scorecard.table(claims))
