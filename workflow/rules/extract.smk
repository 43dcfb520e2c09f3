"""Cells of samples. Needs: a tensor on disk, index sets. Gives: results/extract/{dataset}/{variant}/{plan}/seed{seed}/1-of-1.npz.

One pass serves all repetitions. Several jobs share it if a profile says so (set-scatter: parts=16); no byte of a fit
depends on their number. Data in memory skips this stage.
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
