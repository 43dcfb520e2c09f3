"""Index sets. Needs: the data of a variant. Gives: results/sample/{dataset}/{variant}/{plan}/seed{seed}.npz, all repetitions."""


rule sample:
    """Draw the indices of every repetition of a plan, biased by density."""
    input:
        data=data_of,
    output:
        samples="results/sample/{dataset}/{variant}/{plan}/seed{seed}.npz",
    log:
        "results/logs/sample/{dataset}/{variant}/{plan}/seed{seed}.log",
    benchmark:
        "results/benchmarks/sample/{dataset}/{variant}/{plan}/seed{seed}.tsv"
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=memory,
        runtime=minutes,
    params:
        spec=sample_spec_of,
        weights=weights_of,
        code=code_of("sample"),
    script:
        "../scripts/sample.py"
