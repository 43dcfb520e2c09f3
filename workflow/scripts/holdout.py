"""Hide the cells of a variant from training."""

from dataclasses import replace

from scoup import results
from scoup.holdout import hold_out
from scoup.job import job

with job(snakemake):
    dataset = results.read_dataset(snakemake.input.data)
    hidden = hold_out(
        dataset.data, snakemake.params.variant["fraction"], int(snakemake.wildcards.seed)
    )
    results.write_dataset(snakemake.output.data, replace(dataset, data=hidden.data))
    results.write_truth(snakemake.output.truth, hidden.coords, hidden.truth)
