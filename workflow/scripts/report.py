"""Gather scorecard, figures, tables, pages and provenance in one file."""

from scoup import report, results, store
from scoup.job import check_recorded, describe_code, job
from scoup.report.gather import read_chapters, read_text

with job(snakemake):
    params, files = snakemake.params, snakemake.input
    check_recorded([*files.figures, *files.pages])
    origins = dict(zip(params.datasets, map(results.read_provenance, files.data), strict=True))
    metrics, claims = results.read_metrics(*files.metrics), results.read_claims(files.scorecard)
    chapters = read_chapters(params.chapters, metrics, files.figures, files.pages)
    methods = read_text(files.methods)
    code = describe_code()
    page = report.whole(claims, chapters, origins, methods, code, params.left_out)
    store.write_text(snakemake.output.report, page)
