"""Models. Needs: the data of a variant, index sets, fits. Gives: results/merge/{dataset}/{variant}/{plan}/seed{seed}.npz."""


rule merge:
    """Merge the repetitions of one plan into one model."""
    input:
        data="results/holdout/{dataset}/{variant}/seed{seed}.npz",
        samples=SAMPLE,
        fits=collect(FIT, rep=lookup(dpath="{plan}", within=REPETITIONS), allow_missing=True),
    output:
        merged=MERGED,
    log:
        text="results/logs/merge/{dataset}/{variant}/{plan}/seed{seed}.log",
        facts="results/logs/merge/{dataset}/{variant}/{plan}/seed{seed}.json",
    priority: 1
    conda:
        "../../envs/scoup.yaml"
    threads: threads_of_passes
    resources:
        mem_mb=memory_of_merge,
        runtime=minutes,
    params:
        view=lookup(dpath="{plan}", within=VIEWS),
        spec=lookup(dpath="{plan}", within=MERGING),
        code=code_of(
            "merge",
            "scoup.values.{values}",
            "scoup.merges.{merge}",
            "scoup.finishes.{finish}",
        ),
    script:
        "../scripts/merge.py"
