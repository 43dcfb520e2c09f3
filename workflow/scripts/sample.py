"""Draw the indices of every repetition of a plan."""

from scoup import results, store
from scoup.job import job
from scoup.specs import SampleSpec
from scoup.sample import draw

with job(snakemake):
    data = store.read_data(snakemake.input.data).data.with_weights(snakemake.params.weights)
    samples = draw(data, SampleSpec(**snakemake.params.spec), int(snakemake.wildcards.seed))
    results.write_samples(snakemake.output.samples, samples)
