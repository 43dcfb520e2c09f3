"""Draw one figure from all metrics files of its experiment."""

from scoup import plot, results
from scoup.job import job

with job(snakemake):
    metrics = results.read_metrics(*snakemake.input.metrics)
    material = [results.read_material(path) for path in snakemake.input.material]
    figure = plot.draw(snakemake.wildcards.figure, metrics, material)
    plot.save(figure, snakemake.output.svg, snakemake.output.pdf, snakemake.output.png)
