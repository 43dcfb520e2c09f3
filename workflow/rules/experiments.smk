"""Experiments. Need: data, and the samples, fits and merged models of every plan that they name.

Give: results/experiments/{experiment}/{dataset}/seed{seed}.json (metrics) and .npz (material for figures and pages).
Both rules serve all experiments, which are found by listing scoup/experiments; an experiment that splits its work has
parts.
"""


rule parts:
    """Compute one independent part of an experiment."""
    input:
        data="results/preprocess/{dataset}.npz",
        raw="results/download/{dataset}",
        samples=files_of_models(SAMPLE),
        fits=files_of_models(FIT),
        facts=files_of_models(FIT_FACTS),
        merged=files_of_models(MERGED),
        truth=files_of_models(TRUTH),
    output:
        part=PART,
    log:
        text="results/logs/parts/{experiment}/{dataset}/seed{seed}/{part}.log",
        facts="results/logs/parts/{experiment}/{dataset}/seed{seed}/{part}.json",
    priority: 2
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=memory,
        runtime=minutes,
    params:
        experiment="{experiment}",
        spec=lookup(dpath="{experiment}", within=EXPERIMENTS),
        models=lookup(dpath="{experiment}", within=MODELS),
        code=code_of("parts", "scoup.experiments.{experiment}.measure"),
        part="{part}",
    script:
        "../scripts/parts.py"


rule experiments:
    """Measure what an experiment asks, on one data set with one seed."""
    input:
        data="results/preprocess/{dataset}.npz",
        raw="results/download/{dataset}",
        samples=files_of_models(SAMPLE),
        fits=files_of_models(FIT),
        facts=files_of_models(FIT_FACTS),
        merged=files_of_models(MERGED),
        truth=files_of_models(TRUTH),
        parts=parts_of_experiment,
    output:
        metrics=METRICS,
        material=MATERIAL,
    log:
        text="results/logs/experiments/{experiment}/{dataset}/seed{seed}.log",
        facts="results/logs/experiments/{experiment}/{dataset}/seed{seed}.json",
    priority: 1
    conda:
        "../../envs/scoup.yaml"
    threads: threads_of_experiment
    resources:
        mem_mb=memory,
        runtime=minutes,
    params:
        experiment="{experiment}",
        spec=lookup(dpath="{experiment}", within=EXPERIMENTS),
        models=lookup(dpath="{experiment}", within=MODELS),
        code=code_of("experiments", "scoup.experiments.{experiment}.measure"),
    script:
        "../scripts/experiments.py"
