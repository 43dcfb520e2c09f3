"""Set each claim of the paper beside what was measured."""

from scoup import results, scorecard, store
from scoup.job import job

with job(snakemake):
    claims = scorecard.judge(results.read_metrics(*snakemake.input.metrics))
    store.write_json(snakemake.output.json, {"claims": claims})
    store.write_text(snakemake.output.table, scorecard.table(claims))
