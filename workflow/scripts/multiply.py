"""Multiply some of the shards of a tensor on disk with the factors of a round."""

from scoup import results, rounds
from scoup.job import job
from scoup.multiply import multiply
from scoup.specs import MergeSpec

with job(snakemake):
    data = results.read_dataset(snakemake.input.data).data
    number, parts = map(int, snakemake.wildcards.scatteritem.split("-of-"))
    part = data.blocks[0].values.part(number, parts)
    state = rounds.read_round(snakemake.input.round, part.manifest, part.groups)
    products = multiply(part, state, data, MergeSpec(**snakemake.params.spec))
    rounds.write_products(snakemake.output.products, products)
