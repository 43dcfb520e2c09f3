"""Index sets. Needs: the data of a variant. Gives: results/sample/{dataset}/{variant}/{plan}/seed{seed}.npz, all repetitions."""


rule sample:
    """Draw the indices of every repetition of a plan, biased by density."""
    input:
        data="results/holdout/{dataset}/{variant}/seed{seed}.npz",
    output:
        samples=SAMPLE,
    log:
        text="results/logs/sample/{dataset}/{variant}/{plan}/seed{seed}.log",
        facts="results/logs/sample/{dataset}/{variant}/{plan}/seed{seed}.json",
    priority: 4
    conda:
        "../../envs/scoup.yaml"
    threads: threads_of_passes
    resources:
        mem_mb=memory,
        runtime=minutes,
    params:
        view=lookup(dpath="{plan}", within=VIEWS),
        spec=lookup(dpath="{plan}", within=SAMPLING),
        code=code_of("sample", "scoup.values.{values}"),
    script:
        "../scripts/sample.py"
