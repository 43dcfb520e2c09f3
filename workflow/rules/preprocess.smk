"""Coupled data. Needs: results/download/{dataset}. Gives: results/preprocess/{dataset}.npz."""


rule preprocess:
    """Turn raw files into a tensor with its matrices, labels and provenance."""
    input:
        folder="results/download/{dataset}",
        files=user_files,
    output:
        data="results/preprocess/{dataset}.npz",
    log:
        text="results/logs/preprocess/{dataset}.log",
        facts="results/logs/preprocess/{dataset}.json",
    priority: 6
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=memory,
        runtime=minutes,
    params:
        spec=lookup(dpath="{dataset}", within=DATASETS),
        code=code_of("preprocess", "scoup.datasets.{kind}", "scoup.formats"),
    script:
        "../scripts/preprocess.py"
