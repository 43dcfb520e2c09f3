"""Figures. Need: the metrics and the material of an experiment. Give: results/plot/{figure}.svg, .pdf and .png."""


rule plot:
    """Draw one figure from all metrics files of its experiment."""
    input:
        metrics=files_of_figure(METRICS),
        material=files_of_figure(MATERIAL, seeds=1),
    output:
        svg=report(
            "results/plot/{figure}.svg",
            category="figures",
            caption="../report/figure.rst",
            labels={"figure": "{figure}"},
        ),
        pdf="results/plot/{figure}.pdf",
        png="results/plot/{figure}.png",
    log:
        text="results/logs/plot/{figure}.log",
        facts="results/logs/plot/{figure}.json",
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=10,
    params:
        caption=lookup(dpath="{figure}", within=CAPTIONS),
        code=code_of("plot", "scoup.experiments.{drawn}.figure"),
    script:
        "../scripts/plot.py"
