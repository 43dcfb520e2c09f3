"""A small results folder as the workflow writes it, for the tests of track, report and compare."""

import hashlib
from pathlib import Path

import numpy as np

from scoup import results, store
from scoup.coupled import CoupledData, Dataset
from scoup.evidence import Context, Measure
from scoup.evidence.files import write_claims, write_metrics
from scoup.records import Factors, Fit, FitReport, Provenance, SourceFile
from scoup.track import Job, Sources

COST = Measure("relative_cost", "ratio", "lower", 0.0, None, "cost over that of full ALS")
MONOTONE = Measure(
    "monotone", "0 or 1", "higher", 0.0, 1.0, "1 if no further repetition raised the cost"
)
REPETITIONS = 3
RAW = SourceFile("raw.txt", "simulated", hashlib.sha256(b"raw").hexdigest(), 3)
SETTINGS = {
    "datasets": {"brainq": {"kind": "brainq", "size": "tiny"}},
    "variants": {"whole": {"fraction": 0.0}},
    "plans": {"scoup": {"rank": 2, "sampling": [2, 3, 1]}},
}
ONE_PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8"
    "cfc000000301010018dd8db00000000049454e44ae426082"
)


def path_of(folder, seed, experiment="accuracy"):
    return Path(folder, "results", "experiments", experiment, "brainq", f"seed{seed}.json")


def fit_path(seed, rep):
    return f"results/fit/brainq/whole/scoup/seed{seed}/rep{rep}.npz"


def metrics_of(seed, value=1.0, mark="simulated", experiment="accuracy"):
    context = Context(experiment, "brainq", "whole", "scoup", seed, mark)
    metrics = []
    for merge in ("joint", "paper"):
        at = {"merge": merge, "finish": "none"}
        for count in range(1, REPETITIONS + 1):
            metrics.append(context.metric(COST, value + 1 / count, repetitions=count, **at))
        metrics.append(context.metric(MONOTONE, 1.0, **at))
    return metrics


def write_run(
    folder, seed, value=1.0, mark="simulated", experiment="accuracy", revision="abc1234-dirty"
):
    """Write what the job of one seed writes: its metrics, its log and its facts."""
    path = path_of(folder, seed, experiment)
    write_metrics(path, metrics_of(seed, value, mark, experiment), {"merges": ["joint", "paper"]})
    facts = {
        "rule": "experiment", "started": 1.7e9 + seed, "ended": 1.7e9 + seed + 5, "host": "here",
        "threads": 1, "version": "0.1.0", "revision": revision, "python": "3.11.9",
    }  # fmt: skip
    log = Path(folder, "results", "logs", experiment, "brainq", f"seed{seed}.log")
    store.write_json(log.with_suffix(".json"), facts)
    store.write_text(log, "10:00:00 scoup.job: experiment done in 5.0 s\n")
    return path


def write_fits(folder, seed):
    """Write the two fits that the job of one seed reads."""
    for rep in range(2):
        factors = Factors(np.ones(2), (np.eye(4, 2), np.eye(3, 2), np.eye(2, 2)))
        report = FitReport((3.0, 2.0, 1.0 + rep), {"tensor": 1.0}, {"tensor": 0.9}, "tol", "als")
        results.write_fit(Path(folder, fit_path(seed, rep)), Fit(factors, report))


def write_rest(folder, mark="simulated"):
    """Write the data, a figure and the scorecard."""
    source = "simulate" if mark == "simulated" else "download"
    origin = Provenance("brainq", source, "no host could be reached", (RAW,), size="tiny", seed=0)
    tensor = np.arange(24.0).reshape(4, 3, 2)
    dataset = Dataset(CoupledData(tensor), provenance=origin)
    results.write_dataset(Path(folder, "results/preprocess/brainq.npz"), dataset)
    for kind in ("png", "svg"):
        store.write_bytes(Path(folder, f"results/figures/accuracy.{kind}"), ONE_PIXEL)
    claim = {
        "experiment": "accuracy", "claim": "more repetitions never raise the cost", "paper": "1",
        "setting": "joint merge", "bar": 0.9, "higher": True, "controls": {"random": 0.1},
        "note": "",
        "unit": "share", "ours": 1.0, "low": 1.0, "high": 1.0, "runs": 2, "provenance": mark,
        "verdict": "holds",
    }  # fmt: skip
    claims = [claim, claim | {"setting": "paper merge", "verdict": "does not hold", "ours": 0.25}]
    write_claims(Path(folder, "results/scorecard.json"), claims)
    store.write_text(Path(folder, "results/scorecard.md"), "| claim |\n|---|\n| it holds |\n")


def make(folder, seeds=2, value=1.0, mark="simulated"):
    """Write a whole folder."""
    for seed in range(seeds):
        write_run(folder, seed, value, mark)
        write_fits(folder, seed)
    write_rest(folder, mark)
    return Path(folder)


def sources():
    """List the files of the results folder in the working folder, as the rule does."""
    metrics = sorted(Path("results/experiments").rglob("seed*.json"))
    return Sources(
        jobs=[_job(path.parts[2], int(path.stem.removeprefix("seed"))) for path in metrics],
        data={"brainq": "results/preprocess/brainq.npz"},
        figures={"accuracy": [f"results/figures/accuracy.{kind}" for kind in ("png", "svg")]},
        scorecard={
            "claims": "results/scorecard.json",
            "table": "results/scorecard.md",
            "facts": "results/logs/scorecard.json",
        },
        settings=SETTINGS,
    )


def _job(experiment, seed):
    model = {"plan": "scoup", "variant": "whole"}
    fits = [
        {**model, "rep": rep, "path": fit_path(seed, rep), "facts": f"results/rep{rep}.json"}
        for rep in range(2)
        if Path(fit_path(seed, rep)).exists()
    ]
    log = f"results/logs/{experiment}/brainq/seed{seed}"
    return Job(
        experiment=experiment,
        dataset="brainq",
        seed=seed,
        metrics=str(path_of(".", seed, experiment)),
        facts=f"{log}.json",
        log=f"{log}.log",
        fits=fits,
    )
