"""Training data. Needs: results/preprocess/{dataset}.npz. Gives: results/holdout/{dataset}/{variant}/seed{seed}.npz and the truth."""


rule holdout:
    """Hide the cells of a variant; their values are kept apart from the training data."""
    input:
        data="results/preprocess/{dataset}.npz",
    output:
        data="results/holdout/{dataset}/{variant}/seed{seed}.npz",
        truth=TRUTH,
    log:
        text="results/logs/holdout/{dataset}/{variant}/seed{seed}.log",
        facts="results/logs/holdout/{dataset}/{variant}/seed{seed}.json",
    priority: 5
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=memory,
        runtime=minutes,
    params:
        spec=lookup(dpath="{variant}", within=VARIANTS),
        code=code_of("holdout"),
    script:
        "../scripts/holdout.py"
