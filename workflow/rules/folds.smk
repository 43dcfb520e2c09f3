"""Leave-two-out folds. Need: data. Give: results/folds/{dataset}/seed{seed}/part{part}.npz, a handful for all noun pairs."""


rule folds:
    """Fit and decide one part of the noun pairs, thousands of small fits in batches."""
    input:
        data="results/preprocess/{dataset}.npz",
    output:
        part="results/folds/{dataset}/seed{seed}/part{part}.npz",
    log:
        "results/logs/folds/{dataset}/seed{seed}/part{part}.log",
    benchmark:
        "results/benchmarks/folds/{dataset}/seed{seed}/part{part}.tsv"
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=memory,
        runtime=minutes,
    params:
        settings=settings_of("leave_two_out", FOLD_SETTINGS),
        parts=asked("leave_two_out", "parts", 1),
        code=code_of("folds"),
    script:
        "../scripts/folds.py"
