"""Draw the indices of every repetition of a plan."""

from scoup import results
from scoup.job import job
from scoup.sample import draw
from scoup.specs import SampleSpec
from scoup.values import view

with job(snakemake):
    data = view(results.read_dataset(snakemake.input.data).data, **snakemake.params.view)
    samples = draw(data, SampleSpec(**snakemake.params.spec), int(snakemake.wildcards.seed))
    results.write_samples(snakemake.output.samples, samples)
