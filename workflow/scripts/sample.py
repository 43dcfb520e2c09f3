"""Draw the indices of every repetition of a plan."""

from scoup import results
from scoup.job import job
from scoup.sample import draw
from scoup.specs import SampleSpec

with job(snakemake):
    data = results.read_dataset(snakemake.input.data).data.with_weights(snakemake.params.weights)
    samples = draw(data, SampleSpec(**snakemake.params.spec), int(snakemake.wildcards.seed))
    results.write_samples(snakemake.output.samples, samples)
