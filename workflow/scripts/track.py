"""Build the MLflow store from the result files, or bring a server up to date."""

from pathlib import Path

from scoup import store
from scoup.job import job
from scoup.track import Sources, track

with job(snakemake):
    receipt = track(Sources(**snakemake.params.sources), Path(snakemake.output.receipt).parent)
    store.write_json(snakemake.output.receipt, receipt)
