"""Hide the cells of a variant from training."""

from dataclasses import replace

from scoup import results, store
from scoup.holdout import hold_out
from scoup.job import job

with job(snakemake):
    dataset = results.read_dataset(snakemake.input.data)
    fraction, seed = snakemake.params.spec["fraction"], int(snakemake.wildcards.seed)
    hidden = hold_out(dataset.data, fraction, seed)
    if fraction:
        results.write_dataset(snakemake.output.data, replace(dataset, data=hidden.data))
    else:  # the same file under another name: BrainQ takes 336 MB, once for each of 20 seeds
        store.link(snakemake.input.data, snakemake.output.data)
    results.write_truth(snakemake.output.truth, hidden.coords, hidden.truth)
