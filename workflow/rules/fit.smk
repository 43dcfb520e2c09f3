"""Fits. Needs: the data of a variant, index sets. Gives: results/fit/{dataset}/{variant}/{plan}/seed{seed}/rep{rep}.npz."""


rule fit:
    """Factorize one repetition's part of the data; its times lie apart, since they differ from run to run."""
    input:
        data=data_of,
        samples="results/sample/{dataset}/{variant}/{plan}/seed{seed}.npz",
    output:
        fit="results/fit/{dataset}/{variant}/{plan}/seed{seed}/rep{rep}.npz",
        times="results/times/{dataset}/{variant}/{plan}/seed{seed}/rep{rep}.json",
    log:
        "results/logs/fit/{dataset}/{variant}/{plan}/seed{seed}/rep{rep}.log",
    benchmark:
        "results/benchmarks/fit/{dataset}/{variant}/{plan}/seed{seed}/rep{rep}.tsv"
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=memory,
        runtime=minutes,
    params:
        spec=fit_spec_of,
        weights=weights_of,
        code=code_of("fit"),
    script:
        "../scripts/fit.py"
