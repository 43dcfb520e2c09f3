"""A small results folder as the workflow leaves it, for the tests of track, report and compare."""

import hashlib
import json
from pathlib import Path

import numpy as np

from scoup import results, store
from scoup.coupled import CoupledData
from scoup.measures import Context, Measure
from scoup.records import Factors, Fit, FitReport, Provenance, SourceFile

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
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc0000003010100"
    "18dd8db00000000049454e44ae426082"
)


def path_of(folder, seed, experiment="accuracy"):
    return Path(folder, "results", "experiments", experiment, "brainq", "scoup", f"seed{seed}.json")


def metrics_of(seed, value=1.0, mark="simulated", experiment="accuracy"):
    context = Context(experiment, "brainq", "whole", "scoup", seed, mark)
    found = []
    for merge in ("joint", "paper"):
        for count in range(1, REPETITIONS + 1):
            found.append(
                context.metric(
                    COST, value + 1 / count, repetitions=count, merge=merge, finish="none"
                )
            )
        found.append(context.metric(MONOTONE, 1.0, merge=merge, finish="none"))
    return found


def write_run(folder, seed, value=1.0, mark="simulated", experiment="accuracy"):
    """Write what the job of one seed leaves: its metrics and its log."""
    path = path_of(folder, seed, experiment)
    results.write_metrics(
        path, metrics_of(seed, value, mark, experiment), {"merges": ["joint", "paper"]}
    )
    log = Path(folder, "results", "logs", experiment, "brainq", "scoup", f"seed{seed}.log")
    log.parent.mkdir(parents=True, exist_ok=True)
    read = [f"results/fit/brainq/whole/scoup/seed{seed}/rep{rep}.npz" for rep in range(2)]
    facts = {
        "started": 1.7e9 + seed,
        "host": "here",
        "threads": 1,
        "version": "0.1.0",
        "revision": "abc1234-dirty",
    }
    lines = [facts | {"python": "3.11.9", "input": read}, {"ended": 1.7e9 + seed + 5}]
    log.write_text("".join(f"10:00:00 scoup.job: facts {json.dumps(line)}\n" for line in lines))
    return path


def write_fits(folder, seed):
    """Write the two fits that the job of one seed reads."""
    for rep in range(2):
        factors = Factors(np.ones(2), (np.eye(4, 2), np.eye(3, 2), np.eye(2, 2)))
        report = FitReport((3.0, 2.0, 1.0 + rep), {"tensor": 1.0}, {"tensor": 0.9}, "tol", "als")
        results.write_fit(
            Path(folder, "results/fit/brainq/whole/scoup", f"seed{seed}", f"rep{rep}.npz"),
            Fit(factors, report),
        )


def write_rest(folder, mark="simulated"):
    """Write the data, a figure and the scorecard."""
    source = "simulate" if mark == "simulated" else "download"
    origin = Provenance("brainq", source, "no host could be reached", (RAW,), size="tiny", seed=0)
    tensor = np.arange(24.0).reshape(4, 3, 2)
    results.write_data(
        Path(folder, "results/preprocess/brainq.npz"), CoupledData(tensor, {}), provenance=origin
    )
    for kind in ("png", "svg"):
        store.write_bytes(Path(folder, f"results/figures/accuracy.{kind}"), ONE_PIXEL)
    claim = {
        "experiment": "accuracy", "claim": "more repetitions never raise the cost", "paper": "1", "unit": "share",
        "ours": 1.0, "low": 1.0, "high": 1.0, "runs": 2, "provenance": mark, "holds": True,
    }  # fmt: skip
    store.write_json(
        Path(folder, "results/scorecard.json"),
        {"claims": [claim, claim | {"holds": False, "ours": 0.25}]},
    )
    store.write_text(Path(folder, "results/scorecard.md"), "| claim |\n|---|\n| it holds |\n")


def make(folder, seeds=2, value=1.0, mark="simulated"):
    """Write a whole folder."""
    for seed in range(seeds):
        write_run(folder, seed, value, mark)
        write_fits(folder, seed)
    write_rest(folder, mark)
    return Path(folder)
