"""Pages. Need: what clusters, anomaly and rank found. Give: results/pages/{experiment}/{dataset}/seed{seed}, to open in a browser."""


rule pages:
    """Write a page that needs no network, with its tables and images as files beside it."""
    input:
        material="results/experiments/{experiment}/{dataset}/seed{seed}.npz",
    output:
        folder=directory("results/pages/{experiment}/{dataset}/seed{seed}"),
    log:
        "results/logs/pages/{experiment}/{dataset}/seed{seed}.log",
    benchmark:
        "results/benchmarks/pages/{experiment}/{dataset}/seed{seed}.tsv"
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=memory,
        runtime=minutes,
    params:
        code=code_of("pages"),
    script:
        "../scripts/pages.py"
