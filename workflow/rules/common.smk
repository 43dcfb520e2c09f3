"""Checks of the configuration, and the functions that name the files of a job; no rules."""

import sys
import time
from pathlib import Path

from snakemake.exceptions import WorkflowError

from scoup import config as configuration, datasets, experiments
from scoup.errors import ScoupError
from scoup.job import note_scheduling
from scoup.report import harmless
from scoup.specs import FitSpec, MergeSpec, SampleSpec

STARTED = time.time()
sys.path.insert(0, str(Path(workflow.basedir, "workflow")))

from digest import digest

try:
    CONFIG = configuration.check(config)
except ScoupError as error:
    raise WorkflowError(f"config: {error} No job was started.")

# Said once, before the first job, and in the report.
if workflow.is_main_process:
    for sentence in CONFIG.left_out:
        sys.stderr.write(f"scoup: {sentence}\n")
# Snakemake embeds params in the HTML of its own report.
LEFT_OUT = [harmless(sentence) for sentence in CONFIG.left_out]

# What lookup() finds for a job. Each stage sees its part of a plan: a change elsewhere does not rerun it.
DATASETS = {name: spec.to_dict() for name, spec in CONFIG.datasets.items()}
VARIANTS = {name: spec.to_dict() for name, spec in CONFIG.variants.items()}
PLANS = {name: spec.to_dict() for name, spec in CONFIG.plans.items()}
VIEWS = {
    name: {"values": plan["values"], "weights": plan["weights"]}
    for name, plan in PLANS.items()
}
SAMPLING = {
    name: spec.part(SampleSpec).to_dict() for name, spec in CONFIG.plans.items()
}
FITTING = {name: spec.part(FitSpec).to_dict() for name, spec in CONFIG.plans.items()}
MERGING = {name: spec.part(MergeSpec).to_dict() for name, spec in CONFIG.plans.items()}
REPETITIONS = {
    name: list(range(spec.repetitions)) for name, spec in CONFIG.plans.items()
}
EXPERIMENTS = {
    name: spec.model_dump(mode="json", exclude={"datasets", "seeds"})
    for name, spec in CONFIG.experiments.items()
}
MODELS = {
    name: [
        {"plan": plan, "spec": PLANS[plan], "variant": variant, **VARIANTS[variant]}
        for plan in experiments.plans_of(spec)
        for variant in experiments.variants_of(spec)
    ]
    for name, spec in CONFIG.experiments.items()
}
CAPTIONS = {
    figure: caption
    for name in EXPERIMENTS
    for figure, caption in experiments.declared(name).CAPTIONS.items()
}

SAMPLE = "results/sample/{dataset}/{variant}/{plan}/seed{seed}.npz"
FIT = "results/fit/{dataset}/{variant}/{plan}/seed{seed}/rep{rep}.npz"
FIT_FACTS = "results/logs/fit/{dataset}/{variant}/{plan}/seed{seed}/rep{rep}.json"
MERGED = "results/merge/{dataset}/{variant}/{plan}/seed{seed}.npz"
TRUTH = "results/holdout/{dataset}/{variant}/seed{seed}.truth.npz"
PART = "results/parts/{experiment}/{dataset}/seed{seed}/{part}.npz"
METRICS = "results/experiments/{experiment}/{dataset}/seed{seed}.json"
MATERIAL = "results/experiments/{experiment}/{dataset}/seed{seed}.npz"
FACTS = "results/logs/experiments/{experiment}/{dataset}/seed{seed}.json"
LOG = "results/logs/experiments/{experiment}/{dataset}/seed{seed}.log"
PAGE = "results/pages/{experiment}/{dataset}/seed{seed}"


wildcard_constraints:
    dataset="[A-Za-z0-9_]+",
    variant="[A-Za-z0-9_]+",
    plan="[A-Za-z0-9_]+",
    experiment="[a-z_]+",
    figure="[a-z_]+",
    part="[a-z0-9]+",
    seed=r"\d+",
    rep=r"\d+",


def code_of(script, *modules):
    """Return a digest of the code that a job runs: its script's, and that of the members its settings name."""

    def code(wildcards):
        job = dict(wildcards)
        names = {
            **DATASETS.get(job.get("dataset"), {}),
            **PLANS.get(job.get("plan"), {}),
            **job,
        }
        names["drawn"] = (
            experiments.experiment_of(job["figure"]) if "figure" in job else ""
        )
        return digest(script, *(module.format(**names) for module in modules))

    return code


def user_files(wildcards):
    """Return the user's files that a data set is made of: a change of them reruns what depends on them."""
    return datasets.paths(CONFIG.datasets[wildcards.dataset])


def files_of_model(pattern, model, **job):
    """Return the files of ``pattern`` for one plan and variant: one, or one per repetition."""
    names = {"plan": model["plan"], "variant": model["variant"], **job}
    return expand(
        pattern, rep=REPETITIONS[model["plan"]] if "{rep}" in pattern else [0], **names
    )


def files_of_models(pattern):
    """Return an input function: the files of ``pattern`` for every model that an experiment reads."""

    def files(wildcards):
        models = MODELS[wildcards.experiment]
        return [
            path
            for model in models
            for path in files_of_model(pattern, model, **wildcards)
        ]

    return files


def parts_of_experiment(wildcards):
    """Return the files of an experiment's independent jobs, if it has any."""
    names = experiments.parts_of(
        wildcards.experiment, CONFIG.experiments[wildcards.experiment]
    )
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
    figures = [
        figure for name in names for figure in experiments.declared(name).CAPTIONS
    ]
    return expand("results/plot/{figure}.{ending}", figure=figures, ending=endings)
