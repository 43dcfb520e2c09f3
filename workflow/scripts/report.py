"""Gather findings, scorecard, figures, tables, pages and provenance in one file."""

from scoup import experiments, report, results, store
from scoup.evidence.files import read_claims, read_material, read_metrics
from scoup.job import check_recorded, describe_code, job
from scoup.report.gather import links_of, read_chapters, read_text

with job(snakemake):
    params, files = snakemake.params, snakemake.input
    check_recorded([*files.figures, *files.pages])
    origins = dict(zip(params.datasets, map(results.read_provenance, files.data), strict=True))
    metrics, claims = read_metrics(*files.metrics), read_claims(files.scorecard)
    chapters = read_chapters(params.chapters, metrics, files.figures, files.pages)
    methods = read_text(files.methods)
    found = [
        experiments.findings_of(**entry, facts=read_material(path)[0], metrics=metrics)
        for entry, path in zip(params.findings, files.material, strict=True)
    ]
    links = links_of(files, params.models)
    texts = (methods, describe_code(), params.left_out)
    page = report.whole(claims, chapters, origins, *texts, found=found, links=links)
    store.write_text(snakemake.output.report, page)
