"""Draw one figure from all metrics files of its experiment."""

from scoup import plot
from scoup.evidence.files import read_material, read_metrics
from scoup.job import job

with job(snakemake):
    metrics = read_metrics(*snakemake.input.metrics)
    material = [read_material(path) for path in snakemake.input.material]
    figure = plot.draw(snakemake.wildcards.figure, metrics, material)
    plot.save(figure, snakemake.output.svg, snakemake.output.pdf, snakemake.output.png)
