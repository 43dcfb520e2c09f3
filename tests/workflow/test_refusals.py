"""A bad configuration stops before any job, with a sentence a user can act on."""

import pytest
import yaml

from scoup import config
from scoup.errors import ScoupError
from tests.workflow.conftest import ROOT, TINY, snakemake

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
        "got 'brianq'; perhaps 'brainq' was meant.",
    ),
}


def merged(one, other):
    if not isinstance(one, dict) or not isinstance(other, dict):
        return other
    return {**one, **{key: merged(one.get(key), value) for key, value in other.items()}}


def tiny_with(change):
    """Return the whole tiny configuration with a change, as Snakemake hands it to the check."""
    files = [yaml.safe_load(path.read_text()) for path in (ROOT / "config.yaml", TINY)]
    return merged(merged(*files), change)


@pytest.mark.parametrize(("change", "words"), REFUSED.values(), ids=REFUSED)
def test_the_sentence_names_the_key_and_what_was_expected(change, words):
    with pytest.raises(ScoupError) as refused:
        config.check(tiny_with(change))
    assert words in str(refused.value)


def test_snakemake_stops_before_any_job_and_shows_the_sentence(tmp_path):
    change, words = REFUSED["rank above the sample"]
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(tiny_with(change)))
    done = snakemake(tmp_path / "run", config=path)
    assert done.returncode != 0
    assert words in done.stderr + done.stdout
    assert not (tmp_path / "run" / "results").exists()
