"""Extract the cells of the rows that samples cover from some of the shards of a tensor on disk."""

from scoup import results
from scoup.cover import cover
from scoup.job import job
from scoup.specs import MergeSpec

with job(snakemake):
    data = results.read_dataset(snakemake.input.data).data
    samples = results.read_samples(snakemake.input.samples)
    number, parts = map(int, snakemake.wildcards.scatteritem.split("-of-"))
    spec = MergeSpec(**snakemake.params.spec)
    results.write_extracted(snakemake.output.cells, cover(data, samples, spec, number, parts))
