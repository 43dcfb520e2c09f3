"""Figures. Need: the metrics of an experiment, and what else it leaves to look at. Give: results/figures/{figure}.svg, .pdf and .png."""


rule plot:
    """Draw one figure from all metrics files of its experiment."""
    input:
        metrics=metrics_of_figure,
        material=material_of_figure,
    output:
        svg=report(
            "results/figures/{figure}.svg",
            category=chapter_of_figure,
            caption="../report/figure.rst",
            labels={"what": "figure {figure}"},
        ),
        pdf="results/figures/{figure}.pdf",
        png="results/figures/{figure}.png",
    log:
        "results/logs/plot/{figure}.log",
    benchmark:
        "results/benchmarks/plot/{figure}.tsv"
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=10,
    params:
        code=figure_digest,
    script:
        "../scripts/plot.py"
