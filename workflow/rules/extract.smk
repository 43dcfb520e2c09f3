"""Cells of samples. Needs: a tensor on disk, index sets. Gives: results/extract/{dataset}/{variant}/{plan}/seed{seed}/1-of-1.npz.

One pass serves all repetitions. Several jobs share it if a profile says so (set-scatter: parts=16); no byte of a fit
depends on their number. Another pass that they share, results/cover, takes the cells of all rows that samples cover,
for the merge; a single job leaves that to the merge. Data in memory skips both.
"""


scattergather:
    parts=1,


rule extract:
    """Extract the cells of every repetition from some of the shards of a tensor on disk."""
    input:
        data="results/holdout/{dataset}/{variant}/seed{seed}.npz",
        samples=SAMPLE,
    output:
        cells=EXTRACTED,
    log:
        text="results/logs/extract/{dataset}/{variant}/{plan}/seed{seed}/{scatteritem}.log",
        facts="results/logs/extract/{dataset}/{variant}/{plan}/seed{seed}/{scatteritem}.json",
    priority: 4
    conda:
        "../../envs/scoup.yaml"
    threads: threads_of_passes
    resources:
        mem_mb=memory,
        runtime=minutes,
    params:
        code=code_of("extract"),
    script:
        "../scripts/extract.py"


rule cover:
    """Extract the cells of the rows that samples cover from some of the shards of a tensor on disk."""
    input:
        data="results/holdout/{dataset}/{variant}/seed{seed}.npz",
        samples=SAMPLE,
    output:
        cells=COVERED,
    log:
        text="results/logs/cover/{dataset}/{variant}/{plan}/seed{seed}/{scatteritem}.log",
        facts="results/logs/cover/{dataset}/{variant}/{plan}/seed{seed}/{scatteritem}.json",
    priority: 3
    conda:
        "../../envs/scoup.yaml"
    threads: threads_of_passes
    resources:
        mem_mb=memory_of_merge,
        runtime=minutes,
    params:
        spec=lookup(dpath="{plan}", within=MERGING),
        code=code_of("cover", "scoup.finishes.{finish}"),
    script:
        "../scripts/cover.py"
