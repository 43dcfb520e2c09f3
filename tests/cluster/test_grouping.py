"""Small jobs share submissions: seen in a dry run, which needs no cluster."""

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
    said = succeeded(snakemake(tmp_path / "run", *options, config=config))
    groups = Counter(re.findall(r"Group job (\w+)", said))
    assert groups == {"holdout": 1, "sample": 1, "fit": 20, "merge": 1}
    alone = set(re.findall(r"^rule (\w+)", said, flags=re.M))
    assert alone == {"download", "preprocess"}


@pytest.mark.parametrize("name", ["slurm", "kubernetes"])
def test_profiles_group_rules_that_exist(name):
    profile = yaml.safe_load((PROFILES / name / "config.yaml").read_text())
    rules = re.findall(
        r"^rule (\w+):",
        "".join(p.read_text() for p in (ROOT / "workflow/rules").glob("*.smk")),
        re.M,
    )
    assert set(profile["groups"]) <= set(rules)
    assert set(profile["groups"].values()) == set(profile["group-components"])
