"""Turn raw files into coupled data."""

from scoup import results
from scoup.job import job
from scoup.preprocess import preprocess

with job(snakemake):
    spec = snakemake.params.spec
    dataset = preprocess(spec["kind"], snakemake.input.folder, spec["options"])
    results.write_dataset(snakemake.output.data, dataset)
