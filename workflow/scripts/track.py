"""Build the MLflow store from the metrics files, or bring a server up to date."""

from pathlib import Path

from scoup import store
from scoup.job import job
from scoup.track import Sources, track

with job(snakemake):
    given, params = snakemake.input, snakemake.params
    sources = Sources(given.metrics, given.data, params.figures, given.scorecard, params.settings)
    store.write_json(
        snakemake.output.receipt, track(sources, Path(snakemake.output.receipt).parent)
    )
