"""Draw one figure from all metrics files of its experiment."""

from scoup import plot, results
from scoup.job import job

with job(snakemake):
    metrics = results.read_metrics(*snakemake.input.metrics)
    drawn = plot.draw(snakemake.wildcards.figure, metrics)
    plot.save(drawn, snakemake.output.svg, snakemake.output.pdf, snakemake.output.png)
