"""Raw data. Needs: nothing, or files of the user's own. Gives: results/download/{dataset}, the files as published and where they came from."""


rule download:
    """Fetch, copy or simulate the raw files of one data set."""
    input:
        files=own_files_of,
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
        code=code_of("download"),
    script:
        "../scripts/download.py"
