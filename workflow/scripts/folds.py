"""Fit and decide one part of the noun pairs."""

from scoup import store
from scoup.experiments.folds import products
from scoup.experiments.leave_two_out import PART, LeaveTwoOutSpec, pack, part
from scoup.job import job

with job(snakemake):
    at, data = snakemake.wildcards, store.read_data(snakemake.input.data).data
    spec = LeaveTwoOutSpec(**snakemake.params.settings)
    found = part(products(data), spec, int(at.part), snakemake.params.parts, int(at.seed))
    store.write_archive(snakemake.output.part, PART, {}, pack(found))
