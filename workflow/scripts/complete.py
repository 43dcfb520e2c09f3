"""Update the factors of a merged model until the next pass over the shards."""

from scoup import results, rounds
from scoup.complete import begin, resume
from scoup.cover import provide
from scoup.job import job
from scoup.specs import MergeSpec
from scoup.values import view

with job(snakemake):
    data = view(results.read_dataset(snakemake.input.data).data, **snakemake.params.view)
    spec, manifest = MergeSpec(**snakemake.params.spec), data.blocks[0].values.manifest
    if snakemake.input.get("round"):
        before = rounds.read_round(snakemake.input.round, manifest)
        answers = [rounds.read_products(path) for path in snakemake.input.products]
        state = resume(before, answers, data, spec)
    else:
        samples = results.read_samples(snakemake.input.samples)
        fits = [results.read_fit(path) for path in snakemake.input.fits]
        provide(data, samples, spec, results.read_covered(snakemake.input.cells))
        state = begin(fits, samples, data, spec)
    rounds.write_round(snakemake.output.round, state, manifest)
