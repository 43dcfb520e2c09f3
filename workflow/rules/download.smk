"""Raw data. Needs: nothing. Gives: results/download/{dataset}, the files as published and where they came from."""


rule download:
    """Fetch, copy or simulate the raw files of one data set."""
    output:
        folder=directory("results/download/{dataset}"),
    log:
        "results/logs/download/{dataset}.log",
    benchmark:
        "results/benchmarks/download/{dataset}.tsv"
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        dataset=dataset_of,
        code=digest("download"),
    script:
        "../scripts/download.py"
