"""Merge the repetitions of one plan into one model."""

from scoup import results
from scoup.job import job
from scoup.merge import merge
from scoup.specs import MergeSpec
from scoup.values import view

with job(snakemake):
    data = view(results.read_dataset(snakemake.input.data).data, **snakemake.params.view)
    samples = results.read_samples(snakemake.input.samples)
    fits = [results.read_fit(path) for path in snakemake.input.fits]
    merged = merge(fits, samples, data, MergeSpec(**snakemake.params.spec))
    results.write_merged(snakemake.output.merged, merged)
