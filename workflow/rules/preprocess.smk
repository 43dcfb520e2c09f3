"""Coupled data. Needs: results/download/{dataset}. Gives: results/preprocess/{dataset}.npz."""


rule preprocess:
    """Turn raw files into a tensor with its matrices, labels and provenance."""
    input:
        folder="results/download/{dataset}",
        files=own_files_of,
    output:
        data="results/preprocess/{dataset}.npz",
    log:
        "results/logs/preprocess/{dataset}.log",
    benchmark:
        "results/benchmarks/preprocess/{dataset}.tsv"
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=memory,
        runtime=minutes,
    params:
        dataset=dataset_of,
        code=code_of("preprocess"),
    script:
        "../scripts/preprocess.py"
