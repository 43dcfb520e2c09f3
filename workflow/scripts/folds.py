"""Fit and decide one part of the noun pairs."""

from scoup import results, store
from scoup.experiments._images import flattened
from scoup.experiments.leave_two_out.folds import products
from scoup.experiments.leave_two_out.measure import PART, LeaveTwoOutSpec, pack, part
from scoup.job import job

with job(snakemake):
    at, dataset = snakemake.wildcards, flattened(results.read_dataset(snakemake.input.data))
    spec = LeaveTwoOutSpec(**snakemake.params.settings)
    single = [
        values for name, values in dataset.extras.items() if name.startswith("presentations.")
    ]
    found = part(
        products(dataset.data), spec, int(at.part), snakemake.params.parts, int(at.seed), single
    )
    store.write_archive(snakemake.output.part, PART, {}, pack(found))
