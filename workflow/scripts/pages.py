"""Write a page to open in a browser, with its tables and images as files next to it."""

from scoup import results, store
from scoup.job import job
from scoup.listing import load

with job(snakemake):
    facts, arrays = results.read_material(snakemake.input.material)
    module = load(f"scoup.experiments.{snakemake.wildcards.experiment}", "page")
    for name, content in module.page(facts, arrays).items():
        store.write_bytes(f"{snakemake.output.folder}/{name}", content)
