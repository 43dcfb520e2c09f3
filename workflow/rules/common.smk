"""Checks of the configuration, and the functions by which rules name their files; no rules."""

import os
import sys
import time
from pathlib import Path

from snakemake.exceptions import WorkflowError

from scoup import config as settings
from scoup.errors import ScoupError
from scoup.job import note_scheduling

ROOT = Path(workflow.basedir)
STARTED = time.time()
sys.path.insert(0, str(ROOT / "workflow"))

from digest import code_of, digest

try:
    settings.check(config, ROOT / "workflow" / "schemas" / "config.schema.json")
    settings.check_ranks(config, settings.shapes(config["datasets"]))
    EXPERIMENTS, LEFT_OUT = settings.leave_out(config)
    settings.check_modes(config, EXPERIMENTS)
except ScoupError as error:
    raise WorkflowError(f"config: {error} No job was started.")


wildcard_constraints:
    dataset="[A-Za-z0-9_]+",
    variant="[A-Za-z0-9_]+",
    plan="[A-Za-z0-9_]+",
    figure="[a-z_]+",
    seed=r"\d+",
    rep=r"\d+",
    part=r"\d+",
    pair=r"\d+",
    experiment="[a-z_]+",


# Said once, before the first job, and on the front page of the report.
if workflow.is_main_process:
    for sentence in LEFT_OUT:
        sys.stderr.write(f"scoup: {sentence}\n")

# Texts of the report: one that is tracked, one that a rule writes where the workflow runs.
METHODS = str(ROOT / "workflow" / "report" / "methods.rst")
FRONT_PAGE = str(Path("results", "report", "front.rst").absolute())

# figure: the experiment whose metrics it draws; its module is scoup/plot/<figure>.py
FIGURES = {
    "accuracy": "accuracy",
    "speedup": "speedup",
    "sparsity": "sparsity",
    "missing": "missing",
    "leave_two_out": "leave_two_out",
    "clusters": "clusters",
    "anomaly": "anomaly",
    "anomaly_plans": "anomaly",
    "rank": "rank",
}

# Experiments that leave something to look at beside their metrics: a page each, and material for their figures.
PAGES = ["clusters", "anomaly", "rank"]

# Settings of leave_two_out that its folds depend on.
FOLD_SETTINGS = [
    "ranks",
    "weights",
    "ridges",
    "groups",
    "sweeps",
    "alpha",
    "shuffles",
    "stable",
]


def dataset_of(wildcards):
    """What the configuration says of a data set."""
    return config["datasets"][wildcards.dataset]


def own_files_of(wildcards):
    """The user's own files that a data set is made of: when they change, what hangs on them is made again."""
    return settings.own_files(dataset_of(wildcards))


def variant_of(wildcards):
    """What the configuration says of a variant."""
    return config["variants"][wildcards.variant]


def sample_spec_of(wildcards):
    """The part of a plan that says how indices are drawn."""
    return settings.sample_spec(config["plans"][wildcards.plan])


def fit_spec_of(wildcards):
    """The part of a plan that says how a sample is fitted."""
    return settings.fit_spec(config["plans"][wildcards.plan])


def merge_spec_of(wildcards):
    """The part of a plan that says how repetitions are merged."""
    return settings.merge_spec(config["plans"][wildcards.plan])


def weights_of(wildcards):
    """The block weights of a plan."""
    return config["plans"][wildcards.plan]["weights"]


def data_of(wildcards):
    """The data that a variant trains on; on the whole data where no variant is named."""
    variant = getattr(wildcards, "variant", "whole")
    if config["variants"][variant]["fraction"] == 0:
        return f"results/preprocess/{wildcards.dataset}.npz"
    return f"results/holdout/{wildcards.dataset}/{variant}/seed{wildcards.seed}.npz"


def fits_of(wildcards):
    """The fit of every repetition of a plan, in order; on the whole data where no variant is named."""
    return expand(
        "results/fit/{dataset}/{variant}/{plan}/seed{seed}/rep{rep}.npz",
        dataset=wildcards.dataset,
        variant=getattr(wildcards, "variant", "whole"),
        plan=wildcards.plan,
        seed=wildcards.seed,
        rep=range(config["plans"][wildcards.plan]["repetitions"]),
    )


def fits_of_plans(experiment):
    """Path patterns of the fits of each plan of an experiment, plan by plan, repetition by repetition."""
    return [
        f"results/fit/{{dataset}}/whole/{plan}/seed{{seed}}/rep{rep}.npz"
        for plan in asked(experiment, "plans")
        for rep in range(config["plans"][plan]["repetitions"])
    ]


def samples_of_plans(experiment):
    """Path patterns of the index sets of each plan of an experiment."""
    return [
        f"results/sample/{{dataset}}/whole/{plan}/seed{{seed}}.npz"
        for plan in asked(experiment, "plans")
    ]


def baseline_of(experiment):
    """Path pattern of the full model that an experiment compares with."""
    return f"results/merge/{{dataset}}/whole/{asked(experiment, 'baseline', 'full')}/seed{{seed}}.npz"


def times_of_variants(wildcards):
    """The times of every fit of a plan, variant by variant."""
    return expand(
        "results/times/{dataset}/{variant}/{plan}/seed{seed}/rep{rep}.json",
        dataset=wildcards.dataset,
        variant=asked("missing", "variants"),
        plan=wildcards.plan,
        seed=wildcards.seed,
        rep=range(config["plans"][wildcards.plan]["repetitions"]),
    )


def merged_of_variants(experiment):
    """Path patterns of a plan's models, one for each variant of an experiment."""
    return [
        f"results/merge/{{dataset}}/{variant}/{{plan}}/seed{{seed}}.npz"
        for variant in asked(experiment, "variants")
    ]


def truth_of_variants(experiment):
    """Path patterns of the hidden cells of those variants that hide any."""
    return [
        f"results/holdout/{{dataset}}/{variant}/seed{{seed}}.truth.npz"
        for variant, fraction in fractions_of(experiment).items()
        if fraction > 0
    ]


def fractions_of(experiment):
    """The hidden fraction of each variant of an experiment."""
    return {
        variant: config["variants"][variant]["fraction"]
        for variant in asked(experiment, "variants")
    }


def asked(experiment, setting, default=()):
    """One setting of an experiment; a configuration may leave a whole experiment out."""
    return EXPERIMENTS.get(experiment, {}).get(setting, default)


def settings_of(experiment, names):
    """Some settings of an experiment: those that a change of makes it run again."""
    return {name: asked(experiment, name) for name in names}


def plan_of(experiment):
    """The plan that an experiment names."""
    return config["plans"].get(asked(experiment, "plan"), {})


def specs_of(experiment):
    """How the plan that an experiment names samples, fits and merges."""
    plan = plan_of(experiment)
    return plan and {
        "sample": settings.sample_spec(plan),
        "fit": settings.fit_spec(plan),
        "merge": settings.merge_spec(plan),
    }


def value_of(wildcards):
    """What a plan makes of a count of posts."""
    return asked("anomaly", "values", {}).get(wildcards.plan, "counts")


def parts_of_folds(wildcards):
    """The parts into which all noun pairs are cut."""
    return expand(
        "results/folds/{dataset}/seed{seed}/part{part}.npz",
        dataset=wildcards.dataset,
        seed=wildcards.seed,
        part=range(asked("leave_two_out", "parts", 1)),
    )


def pairs_of_nouns(wildcards):
    """The metrics of each of the paper's noun pairs."""
    return expand(
        "results/pairs/{dataset}/seed{seed}/pair{pair}.json",
        dataset=wildcards.dataset,
        seed=wildcards.seed,
        pair=range(len(asked("leave_two_out", "pairs"))),
    )


def found_of_plans(wildcards):
    """What each plan finds in a network, in the order of the plans."""
    return expand(
        "results/detect/{dataset}/{plan}/seed{seed}.json",
        dataset=wildcards.dataset,
        plan=asked("anomaly", "plans"),
        seed=wildcards.seed,
    )


def material_of_figure(wildcards):
    """What a figure shows beside metrics: that of the first seed of each data set."""
    experiment = FIGURES[wildcards.figure]
    wanted = asked(experiment, "datasets") if experiment in PAGES else []
    return [
        f"results/experiments/{experiment}/{dataset}/seed0.npz" for dataset in wanted
    ]


def page_files():
    """The pages of the experiments in the configuration."""
    return [
        f"results/pages/{experiment}/{dataset}/seed{seed}"
        for experiment in PAGES
        if experiment in EXPERIMENTS
        for dataset in asked(experiment, "datasets")
        for seed in range(asked(experiment, "seeds"))
    ]


def baseline_weights(experiment):
    """The block weights under which an experiment compares costs."""
    return (
        config["plans"].get(asked(experiment, "baseline"), {}).get("weights", "paper")
    )


def all_cores():
    """Every core there is, so that nothing runs beside a job that asks for them; four where none are counted."""
    try:
        return workflow.cores or 4
    except WorkflowError:
        return 4


def metrics_files(experiment):
    """Every metrics file of an experiment, as the configuration asks for it."""
    return expand(
        {
            "accuracy": "results/experiments/accuracy/{dataset}/{plan}/seed{seed}.json",
            "speedup": "results/experiments/speedup/{dataset}/seed{seed}.json",
            "sparsity": "results/experiments/sparsity/{dataset}/seed{seed}.json",
            "missing": "results/experiments/missing/{dataset}/{plan}/seed{seed}.json",
            "leave_two_out": "results/experiments/leave_two_out/{dataset}/seed{seed}.json",
            "clusters": "results/experiments/clusters/{dataset}/seed{seed}.json",
            "anomaly": "results/experiments/anomaly/{dataset}/seed{seed}.json",
            "rank": "results/experiments/rank/{dataset}/seed{seed}.json",
        }[experiment],
        dataset=asked(experiment, "datasets"),
        plan=asked(experiment, "plans"),
        seed=range(asked(experiment, "seeds")),
    )


def metrics_of_figure(wildcards):
    """The metrics files that a figure draws."""
    return metrics_files(FIGURES[wildcards.figure])


def all_metrics():
    """The metrics files of all experiments."""
    return [path for experiment in EXPERIMENTS for path in metrics_files(experiment)]


def figure_files():
    """Every figure of the experiments in the configuration."""
    wanted = [
        figure for figure, experiment in FIGURES.items() if experiment in EXPERIMENTS
    ]
    return expand(
        "results/figures/{figure}.{kind}", figure=wanted, kind=["svg", "pdf", "png"]
    )


def data_files():
    """The data sets that the experiments in the configuration use."""
    used = {name for asked in EXPERIMENTS.values() for name in asked["datasets"]}
    return expand("results/preprocess/{dataset}.npz", dataset=sorted(used))


def figures_of_experiments():
    """The figure files of each experiment."""
    return {
        experiment: [
            path for path in figure_files() if FIGURES[Path(path).stem] == experiment
        ]
        for experiment in EXPERIMENTS
    }


def tracked_settings():
    """The parts of the configuration that a run's parameters are taken from."""
    return {
        section: dict(config[section]) for section in ("datasets", "variants", "plans")
    }


def chapter(experiment):
    """The heading of an experiment in the report, where headings are sorted by name."""
    return f"{1 + list(EXPERIMENTS).index(experiment)} {experiment.replace('_', ' ')}"


def chapter_of_figure(wildcards):
    """The heading under which the report shows a figure."""
    return chapter(FIGURES[wildcards.figure])


def shown_folders():
    """The pages that the report shows: those of the first seed."""
    return [folder for folder in page_files() if Path(folder).name == "seed0"]


def shown_page(folder):
    """The one file that a folder with a page becomes in the report."""
    experiment, dataset = Path(folder).parts[2:4]
    return f"results/report/{experiment}_{dataset}.html"


def scorecard_digest(wildcards):
    """The code that judges the experiments that were asked for."""
    return digest("scorecard", *(f"scoup.experiments.{name}" for name in EXPERIMENTS))


def figure_digest(wildcards):
    """The code that draws a figure."""
    return digest("plot", f"scoup.plot.{wildcards.figure}")


def megabytes(input):
    """The size of a job's input; a folder counts with all that is in it."""
    folders = [Path(path) for path in input if Path(path).is_dir()]
    inside = [path.stat().st_size for folder in folders for path in folder.rglob("*")]
    return input.size_mb + sum(inside) / 1e6


def memory(wildcards, input, attempt):
    """Megabytes for a job: a process and a few copies of its data, more after each failed attempt."""
    return int((600 + 6 * megabytes(input)) * attempt)


def minutes(wildcards, input, attempt):
    """Minutes for a job, by the size of its data, more after each failed attempt."""
    return int((10 + megabytes(input) / 20) * attempt)
