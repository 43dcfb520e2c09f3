"""Models. Needs: the data of a variant, index sets, fits. Gives: results/merge/{dataset}/{variant}/{plan}/seed{seed}.npz."""


rule merge:
    """Merge the repetitions of one plan into one model."""
    input:
        data=data_of,
        samples="results/sample/{dataset}/{variant}/{plan}/seed{seed}.npz",
        fits=fits_of,
    output:
        merged="results/merge/{dataset}/{variant}/{plan}/seed{seed}.npz",
    log:
        "results/logs/merge/{dataset}/{variant}/{plan}/seed{seed}.log",
    benchmark:
        "results/benchmarks/merge/{dataset}/{variant}/{plan}/seed{seed}.tsv"
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=memory,
        runtime=minutes,
    params:
        spec=merge_spec_of,
        weights=weights_of,
        code=code_of("merge"),
    script:
        "../scripts/merge.py"
