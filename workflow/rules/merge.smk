"""Models. Needs: the data of a variant, index sets, fits. Gives: results/merge/{dataset}/{variant}/{plan}/seed{seed}.npz.

A merge of a tensor on disk makes its passes itself. Where jobs share them (set-scatter: parts=16), it gets the cells of
covered rows from results/cover. The finish `complete` then proceeds in rounds: results/complete holds the factors up to
the next pass, results/multiply what each part of the shards adds to their products. No byte of a model depends on it.
"""


rule complete:
    """Update the factors of a merged model until the next pass over the shards."""
    input:
        unpack(files_of_round),
        data="results/holdout/{dataset}/{variant}/seed{seed}.npz",
    output:
        round=ROUND,
    log:
        text="results/logs/complete/{dataset}/{variant}/{plan}/seed{seed}/round{round}.log",
        facts="results/logs/complete/{dataset}/{variant}/{plan}/seed{seed}/round{round}.json",
    priority: 2
    conda:
        "../../envs/scoup.yaml"
    threads: threads_of_passes
    resources:
        mem_mb=memory_of_merge,
        runtime=minutes,
    params:
        view=lookup(dpath="{plan}", within=VIEWS),
        spec=lookup(dpath="{plan}", within=MERGING),
        code=code_of("complete", "scoup.values.{values}", "scoup.merges.{merge}"),
    script:
        "../scripts/complete.py"


rule multiply:
    """Multiply some of the shards of a tensor on disk with the factors of a round."""
    input:
        data="results/holdout/{dataset}/{variant}/seed{seed}.npz",
        round=ROUND,
    output:
        products=PRODUCTS,
    log:
        text="results/logs/multiply/{dataset}/{variant}/{plan}/seed{seed}/round{round}/{scatteritem}.log",
        facts="results/logs/multiply/{dataset}/{variant}/{plan}/seed{seed}/round{round}/{scatteritem}.json",
    priority: 2
    conda:
        "../../envs/scoup.yaml"
    threads: threads_of_passes
    resources:
        mem_mb=memory_of_multiply,
        runtime=minutes,
    params:
        spec=lookup(dpath="{plan}", within=MERGING),
        code=code_of("multiply"),
    script:
        "../scripts/multiply.py"


rule merge:
    """Merge the repetitions of one plan into one model."""
    input:
        unpack(shared_files),
        data="results/holdout/{dataset}/{variant}/seed{seed}.npz",
        samples=SAMPLE,
        fits=collect(FIT, rep=lookup(dpath="{plan}", within=REPETITIONS), allow_missing=True),
    output:
        merged=MERGED,
    log:
        text="results/logs/merge/{dataset}/{variant}/{plan}/seed{seed}.log",
        facts="results/logs/merge/{dataset}/{variant}/{plan}/seed{seed}.json",
    priority: 2
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
