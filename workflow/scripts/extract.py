"""Extract the cells of every repetition from some of the shards of a tensor on disk."""

from scoup import results
from scoup.extract import extract
from scoup.job import job

with job(snakemake):
    data = results.read_dataset(snakemake.input.data).data
    samples = results.read_samples(snakemake.input.samples)
    number, parts = map(int, snakemake.wildcards.scatteritem.split("-of-"))
    results.write_extracted(snakemake.output.cells, extract(data, samples, number, parts))
