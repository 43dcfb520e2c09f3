"""Turn raw files into coupled data."""

from scoup import results
from scoup.job import job
from scoup.preprocess import preprocess

with job(snakemake):
    asked = snakemake.params.dataset
    dataset = preprocess(asked["kind"], snakemake.input.folder, asked["options"])
    results.write_dataset(snakemake.output.data, dataset)
