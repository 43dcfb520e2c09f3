"""Raw data. Needs: nothing, or the user's files. Gives: results/download/{dataset}, files as published and where they came from."""


rule download:
    """Fetch, copy or simulate the raw files of one data set."""
    input:
        files=user_files,
    output:
        folder=directory("results/download/{dataset}"),
    log:
        text="results/logs/download/{dataset}.log",
        facts="results/logs/download/{dataset}.json",
    priority: 7
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        spec=lookup(dpath="{dataset}", within=DATASETS),
        code=code_of("download", "scoup.datasets.{kind}"),
    script:
        "../scripts/download.py"
