"""Draw one figure from all metrics files of its experiment."""

from scoup import plot, results, store
from scoup.job import job

with job(snakemake):
    metrics = results.read_metrics(*snakemake.input.metrics)
    material = [store.read_archive(path, results.MATERIAL) for path in snakemake.input.material]
    drawn = plot.draw(snakemake.wildcards.figure, metrics, material)
    plot.save(drawn, snakemake.output.svg, snakemake.output.pdf, snakemake.output.png)
