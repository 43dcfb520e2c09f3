"""Damage of every stage is repaired by the command that made the results."""

import random

from tests.faults import MANNERS, damage
from tests.workflow.conftest import snakemake, succeeded
from tests.workflow.test_runs import digests

TARGET = "results/plot/accuracy.svg"
DAMAGED = [
    "download/brainq/truth.json",
    "preprocess/brainq.npz",
    "holdout/brainq/whole/seed1.truth.npz",
    "sample/brainq/whole/scoup/seed1.npz",
    "fit/brainq/whole/scoup/seed0/rep1.npz",
    "merge/brainq/whole/full/seed0.npz",
    "experiments/accuracy/brainq/seed0.json",
    "experiments/accuracy/brainq/seed1.npz",
    "plot/accuracy.png",
    "logs/fit/brainq/whole/full/seed1/rep0.json",
]


def test_one_command_repairs_damage_of_every_stage(finished, run):
    for number, name in enumerate(DAMAGED):
        damage(run / "results" / name, MANNERS[number % 3], random.Random(number))
    planned = succeeded(snakemake(run, TARGET, "--dry-run"))
    assert "not as recorded" not in planned, "a dry run must not touch anything"
    said = succeeded(snakemake(run, TARGET))
    assert [name for name in DAMAGED if f"results/{name}: " not in said] == []
    mine, theirs = digests(run), digests(finished)
    assert mine == theirs
