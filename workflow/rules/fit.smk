"""Fits. Needs: the data of a variant, index sets, their cells. Gives: results/fit/{dataset}/{variant}/{plan}/seed{seed}/rep{rep}.npz."""


rule fit:
    """Factorize one repetition's part of the data."""
    input:
        data="results/holdout/{dataset}/{variant}/seed{seed}.npz",
        samples=SAMPLE,
        cells=extracted_files,
    output:
        fit=FIT,
    log:
        text="results/logs/fit/{dataset}/{variant}/{plan}/seed{seed}/rep{rep}.log",
        facts="results/logs/fit/{dataset}/{variant}/{plan}/seed{seed}/rep{rep}.json",
    priority: 3
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=memory,
        runtime=minutes,
    params:
        view=lookup(dpath="{plan}", within=VIEWS),
        spec=lookup(dpath="{plan}", within=FITTING),
        code=code_of("fit", "scoup.values.{values}", "scoup.solvers.{solver}"),
    script:
        "../scripts/fit.py"
