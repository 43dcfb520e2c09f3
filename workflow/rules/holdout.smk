"""Training data. Needs: results/preprocess/{dataset}.npz. Gives: results/holdout/{dataset}/{variant}/seed{seed}.npz and the truth."""


rule holdout:
    """Hide the cells of a variant; their values lie apart from the data that is trained on."""
    input:
        data="results/preprocess/{dataset}.npz",
    output:
        data="results/holdout/{dataset}/{variant}/seed{seed}.npz",
        truth="results/holdout/{dataset}/{variant}/seed{seed}.truth.npz",
    log:
        "results/logs/holdout/{dataset}/{variant}/seed{seed}.log",
    benchmark:
        "results/benchmarks/holdout/{dataset}/{variant}/seed{seed}.tsv"
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=memory,
        runtime=minutes,
    params:
        variant=variant_of,
        code=code_of("holdout"),
    script:
        "../scripts/holdout.py"
