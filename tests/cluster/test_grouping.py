"""Small jobs share submissions. A dry run shows it and needs no cluster."""

import re
from collections import Counter

import pytest
import yaml

from tests.workflow.conftest import ROOT, snakemake, succeeded

PROFILES = ROOT / "workflow" / "profiles"
MODEL = "results/merge/brainq/whole/scoup/seed0.npz"


def test_five_hundred_repetitions_are_at_most_fifty_submissions(tmp_path):
    config = tmp_path / "config.yaml"
    change = {
        "datasets": {"brainq": {"size": "tiny"}},
        "plans": {"scoup": {"sampling": 2, "repetitions": 500}},
    }
    config.write_text(yaml.safe_dump(change))
    options = ["--workflow-profile", str(PROFILES / "slurm"), "--dry-run", MODEL]
    output = succeeded(snakemake(tmp_path / "run", *options, config=config))
    groups = Counter(re.findall(r"Group job (\w+)", output))
    assert groups == {"holdout": 1, "sample": 1, "fit": 20, "merge": 1}
    ungrouped = set(re.findall(r"^rule (\w+)", output, flags=re.M))
    assert ungrouped == {"download", "preprocess"}


@pytest.mark.parametrize("name", ["slurm", "gridengine", "kubernetes"])
def test_profiles_group_rules_that_exist(name):
    profile = yaml.safe_load((PROFILES / name / "config.yaml").read_text())
    source = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    rules = re.findall(r"^rule (\w+):", source, flags=re.M)
    assert set(profile["groups"]) <= set(rules)
    assert set(profile["groups"].values()) == set(profile["group-components"])
