"""A bad configuration stops before any job, with a sentence a user can act on."""

import pytest
import yaml

from tests.workflow.conftest import TINY, snakemake

REFUSED = {
    "misspelt key": (
        {"plans": {"scoup": {"rnak": 3}}},
        "plans.scoup.rnak: expected one of the keys rank",
    ),
    "wrong type": (
        {"plans": {"scoup": {"rank": "five"}}},
        "plans.scoup.rank: expected an integer of at least 1, got 'five'.",
    ),
    "rank above the sample": (
        {"plans": {"scoup": {"rank": 45}}},
        "plans.scoup.rank: expected at most 30",
    ),
    "unknown data set": (
        {"experiments": {"accuracy": {"datasets": ["brianq"]}}},
        "experiments.accuracy.datasets: expected one of blocks, brainq, ",
    ),
}


def merged(one, other):
    if not isinstance(one, dict) or not isinstance(other, dict):
        return other
    return {**one, **{key: merged(one.get(key), value) for key, value in other.items()}}


@pytest.mark.parametrize(("change", "words"), REFUSED.values(), ids=REFUSED)
def test_stops_before_any_job(tmp_path, change, words):
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump(merged(yaml.safe_load(TINY.read_text()), change)))
    done = snakemake(tmp_path / "run", config=config)
    assert done.returncode != 0
    assert words in done.stderr + done.stdout
    assert not (tmp_path / "run" / "results").exists()
