"""Paths of results, and the functions that name the files of a job; no rules."""

from functools import cache

SAMPLE = "results/sample/{dataset}/{variant}/{plan}/seed{seed}.npz"
EXTRACTED = "results/extract/{dataset}/{variant}/{plan}/seed{seed}/{scatteritem}.npz"
COVERED = "results/cover/{dataset}/{variant}/{plan}/seed{seed}/{scatteritem}.npz"
FIT = "results/fit/{dataset}/{variant}/{plan}/seed{seed}/rep{rep}.npz"
FIT_FACTS = "results/logs/fit/{dataset}/{variant}/{plan}/seed{seed}/rep{rep}.json"
ROUND = "results/complete/{dataset}/{variant}/{plan}/seed{seed}/round{round}.npz"
PRODUCTS = "results/multiply/{dataset}/{variant}/{plan}/seed{seed}/round{round}/{scatteritem}.npz"
MERGED = "results/merge/{dataset}/{variant}/{plan}/seed{seed}.npz"
MERGE_FACTS = "results/logs/merge/{dataset}/{variant}/{plan}/seed{seed}.json"
TRUTH = "results/holdout/{dataset}/{variant}/seed{seed}.truth.npz"
PART = "results/parts/{experiment}/{dataset}/seed{seed}/{part}.npz"
METRICS = "results/experiments/{experiment}/{dataset}/seed{seed}.json"
MATERIAL = "results/experiments/{experiment}/{dataset}/seed{seed}.npz"
FACTS = "results/logs/experiments/{experiment}/{dataset}/seed{seed}.json"
LOG = "results/logs/experiments/{experiment}/{dataset}/seed{seed}.log"
PAGE = "results/pages/{experiment}/{dataset}/seed{seed}"


def user_files(wildcards):
    """Return the user's files that a data set is made of: a change of them reruns what depends on them."""
    return datasets.paths(CONFIG.datasets[wildcards.dataset])


@cache
def is_on_disk(dataset):
    """Whether a data set's tensor stays on disk; heads of a user's files may tell."""
    return datasets.traits(CONFIG.datasets[dataset]).on_disk


def files_of_model(pattern, model, **job):
    """Return the files of ``pattern`` for one plan and variant: one, or one per repetition."""
    names = {"plan": model["plan"], "variant": model["variant"], **job}
    return expand(pattern, rep=REPETITIONS[model["plan"]] if "{rep}" in pattern else [0], **names)


def files_of_models(pattern):
    """Return an input function: the files of ``pattern`` for every model that an experiment reads."""

    def files(wildcards):
        models = MODELS[wildcards.experiment]
        return [path for model in models for path in files_of_model(pattern, model, **wildcards)]

    return files


def parts_of_experiment(wildcards):
    """Return the files of an experiment's independent jobs, if it has any."""
    names = experiments.parts_of(wildcards.experiment, CONFIG.experiments[wildcards.experiment])
    return expand(PART, part=names, **wildcards)


def jobs_of(names=tuple(EXPERIMENTS), seeds=None):
    """Return experiment, data set and seed of every job of some experiments, or of their first ``seeds``."""
    return [
        {"experiment": name, "dataset": dataset, "seed": seed}
        for name in names
        for dataset in CONFIG.experiments[name].datasets
        for seed in range(seeds or CONFIG.experiments[name].seeds)
    ]


def files_of_jobs(pattern, **which):
    """Return the file of ``pattern`` for every job of :func:`jobs_of`."""
    return [pattern.format(**job) for job in jobs_of(**which)]


def files_of_figure(pattern, seeds=None):
    """Return an input function: the files of ``pattern`` of the experiment that declares a figure."""

    def files(wildcards):
        name = experiments.experiment_of(wildcards.figure)
        return files_of_jobs(pattern, names=[name], seeds=seeds)

    return files


def figure_files(endings, names=tuple(EXPERIMENTS)):
    """Return the files of all figures of some experiments."""
    figures = [figure for name in names for figure in experiments.declared(name).CAPTIONS]
    return expand("results/plot/{figure}.{ending}", figure=figures, ending=endings)


def tracked_jobs():
    """Return the files of every experiment job, each model with its plan, variant and repetition."""

    def models(pattern, facts_pattern, job):
        return [
            {"plan": model["plan"], "variant": model["variant"], "path": path, "facts": facts}
            | ({"rep": rep} if "{rep}" in pattern else {})
            for model in MODELS[job["experiment"]]
            for rep, (path, facts) in enumerate(
                zip(*(files_of_model(files, model, **job) for files in (pattern, facts_pattern)))
            )
        ]

    files = {"metrics": METRICS, "facts": FACTS, "log": LOG}
    return [
        {
            **job,
            **{name: pattern.format(**job) for name, pattern in files.items()},
            "fits": models(FIT, FIT_FACTS, job),
            "merged": models(MERGED, MERGE_FACTS, job),
        }
        for job in jobs_of()
    ]


def files_of_all_models(pattern):
    """Return the files of ``pattern`` for every model that some experiment reads, each once."""
    paths = (
        path
        for job in jobs_of()
        for model in MODELS[job["experiment"]]
        for path in files_of_model(pattern, model, **job)
    )
    return sorted(set(paths))


include: "shares.smk"
