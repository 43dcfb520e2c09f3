"""Write the pages that Snakemake's report gathers."""

from pathlib import Path

from scoup import report, results, store
from scoup.job import describe_code, job

with job(snakemake):
    given, made = snakemake.input, snakemake.output
    metrics, claims = (
        results.read_metrics(*given.metrics),
        store.read_json(given.scorecard)["claims"],
    )
    origins = {Path(path).stem: results.read_provenance(path) for path in given.data}
    store.write_text(
        made.front,
        report.front(
            Path(given.methods).read_text(),
            claims,
            origins,
            describe_code(),
            snakemake.params.left_out,
        ),
    )
    store.write_text(made.scorecard, report.scorecard(claims))
    store.write_text(made.provenance, report.provenance(origins))
    for path in made.tables:
        store.write_text(path, report.numbers(Path(path).stem, metrics))
    for folder, path in zip(given.folders, made.shown, strict=True):
        files = {file.name: file.read_bytes() for file in Path(folder).iterdir() if file.is_file()}
        store.write_text(path, report.inline(files.pop("index.html").decode(), files))
