"""Write a page to open in a browser, with its tables and images as files next to it."""

from scoup import store
from scoup.evidence.files import read_material
from scoup.job import job
from scoup.listing import load

with job(snakemake):
    facts, arrays = read_material(snakemake.input.material)
    module = load(f"scoup.experiments.{snakemake.wildcards.experiment}", "page")
    for name, content in module.page(facts, arrays).items():
        store.write_bytes(f"{snakemake.output.folder}/{name}", content)
