"""Fetch, copy or simulate the raw files of one data set."""

from scoup.download import obtain
from scoup.job import job

with job(snakemake):
    asked = snakemake.params.dataset
    obtain(
        asked["kind"],
        asked["source"],
        snakemake.output.folder,
        asked["size"],
        asked["seed"],
        files=snakemake.input.files,
    )
