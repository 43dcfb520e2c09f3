"""Pages. Need: the material of an experiment that has a page. Give: results/pages/{experiment}/{dataset}/seed{seed}, to open in a browser."""


rule pages:
    """Write a page that needs no network, with its tables and images as files next to it."""
    input:
        material=MATERIAL,
    output:
        folder=directory(PAGE),
    log:
        text="results/logs/pages/{experiment}/{dataset}/seed{seed}.log",
        facts="results/logs/pages/{experiment}/{dataset}/seed{seed}.json",
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=memory,
        runtime=minutes,
    params:
        code=code_of("pages", "scoup.experiments.{experiment}.page", "scoup.report"),
    script:
        "../scripts/pages.py"
