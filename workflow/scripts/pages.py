"""Write a page to open in a browser, with its tables and images as files beside it."""

from scoup import results, store
from scoup.job import job
from scoup.plot import pages

with job(snakemake):
    meta, arrays = store.read_archive(snakemake.input.material, results.MATERIAL)
    for name, content in pages.files(snakemake.wildcards.experiment, meta, arrays).items():
        store.write_bytes(f"{snakemake.output.folder}/{name}", content)
