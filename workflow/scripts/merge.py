"""Merge the repetitions of one plan into one model."""

from scoup import results, rounds
from scoup.complete import end
from scoup.cover import provide
from scoup.job import job
from scoup.merge import merge
from scoup.specs import MergeSpec
from scoup.values import view

with job(snakemake):
    data = view(results.read_dataset(snakemake.input.data).data, **snakemake.params.view)
    spec = MergeSpec(**snakemake.params.spec)
    if snakemake.input.get("round"):
        last = rounds.read_round(snakemake.input.round, data.blocks[0].values.manifest)
        answers = [rounds.read_products(path) for path in snakemake.input.products]
        merged = end(last, answers, data, spec)
    else:
        samples = results.read_samples(snakemake.input.samples)
        fits = [results.read_fit(path) for path in snakemake.input.fits]
        if snakemake.input.cells:
            provide(data, samples, spec, results.read_covered(snakemake.input.cells))
        merged = merge(fits, samples, data, spec)
    results.write_merged(snakemake.output.merged, merged)
