"""Fetch, copy or simulate the raw files of one data set."""

from scoup.datasets import DatasetSpec
from scoup.download import obtain
from scoup.job import job

with job(snakemake):
    obtain(DatasetSpec(**snakemake.params.spec), snakemake.output.folder)
