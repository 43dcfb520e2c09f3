"""Every refusal names the key and says what to write; the words are pinned here."""

import copy
from pathlib import Path

import pytest
import yaml

from scoup import config
from scoup.errors import ScoupError

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "workflow" / "schemas" / "config.schema.json"


@pytest.fixture
def given():
    return copy.deepcopy(yaml.safe_load((ROOT / "config.yaml").read_text()))


def change(given, path, value):
    *parents, last = path.split(".")
    for key in parents:
        given = given[key]
    given[last] = value


def test_the_committed_configuration_passes(given):
    config.check(given, SCHEMA)


REFUSED = [
    (
        "plans.scoup.rnak",
        3,
        r"plans\.scoup\.rnak: expected one of the keys rank, .*; perhaps 'rank' was meant\.",
    ),
    (
        "experimnts",
        {},
        r"config\.experimnts: expected one of the keys .*; perhaps 'experiments' was meant\.",
    ),
    ("plans.scoup.rank", "five", r"plans\.scoup\.rank: expected a whole number, got 'five'\."),
    ("plans.scoup.rank", 0, r"plans\.scoup\.rank: expected at least 1, got 0\."),
    ("plans.scoup.shared", 1.5, r"plans\.scoup\.shared: expected at most 1, got 1\.5\."),
    ("plans.scoup.sampling", "3", r"plans\.scoup\.sampling: expected a number.*, got '3'\."),
    (
        "plans.scoup.sampling",
        [3, 0.5, 1],
        r"plans\.scoup\.sampling\.1: expected at least 1, got 0\.5\.",
    ),
    (
        "plans.scoup.solver",
        "asl",
        r"plans\.scoup\.solver: expected one of als, .*; perhaps 'als' was meant\.",
    ),
    (
        "variants.missing10.fraction",
        2,
        r"variants\.missing10\.fraction: expected at most 0\.99, got 2\.",
    ),
    (
        "experiments.accuracy.datasets",
        ["brainQ"],
        r"experiments\.accuracy\.datasets: expected one of .*'brainq' was meant\.",
    ),
    (
        "experiments.accuracy.baseline",
        "fulll",
        r"experiments\.accuracy\.baseline: .*; perhaps 'full' was meant\.",
    ),
    (
        "experiments.missing.variants",
        ["whole", "missing15"],
        r"experiments\.missing\.variants: expected one of whole",
    ),
    (
        "datasets.brainq.kind",
        "brain",
        r"datasets\.brainq\.kind: expected one of .*; perhaps 'brainq' was meant\.",
    ),
]


@pytest.mark.parametrize(
    ("path", "value", "words"), REFUSED, ids=[f"{path}={value}" for path, value, _ in REFUSED]
)
def test_refusals_name_the_key_and_the_remedy(given, path, value, words):
    change(given, path, value)
    with pytest.raises(ScoupError, match=words):
        config.check(given, SCHEMA)


def test_an_experiment_set_to_null_is_left_out(given):
    given["experiments"]["speedup"] = None
    config.check(given, SCHEMA)
    assert "speedup" not in config.experiments(given)


def test_a_missing_key_is_named(given):
    del given["plans"]["scoup"]["rank"]
    with pytest.raises(
        ScoupError,
        match=r"plans\.scoup\.rank: expected a value, got nothing; write 'rank:' under plans",
    ):
        config.check(given, SCHEMA)


def test_rank_above_the_sample_size_is_refused(given):
    given["plans"]["scoup"]["rank"] = 25
    words = r"plans\.scoup\.rank: expected at most 20, since sampling .* keeps 20 x 905 x 9 of brainq, got 25; "
    with pytest.raises(ScoupError, match=words):
        config.check_ranks(given, {"brainq": (60, 77775, 9)})


def test_the_papers_own_settings_are_not_refused():
    plan = {"rank": 25, "sampling": [1000, 1000, 100]}
    asked = {
        "plans": {"anomaly": plan},
        "experiments": {"anomaly": {"datasets": ["facebook"], "plans": ["anomaly"]}},
    }
    config.check_ranks(asked, {"facebook": (63891, 63891, 1847)})


def test_a_sampling_of_the_wrong_length_is_refused(given):
    given["plans"]["scoup"]["sampling"] = [3, 86, 1, 1]
    with pytest.raises(
        ScoupError, match=r"plans\.scoup\.sampling: expected one factor, or 3, one a mode of brainq"
    ):
        config.check_ranks(given, {"brainq": (60, 77775, 9)})


def test_specs_hold_only_what_their_stage_reads(given):
    plan = given["plans"]["scoup"]
    assert "finish" not in config.fit_spec(plan) | config.sample_spec(plan)
    assert set(config.merge_spec(plan)) == {"merge", "finish"}


def test_side_sampling_comes_by_mode_number(given):
    plan = given["plans"]["scoup"] | {"side_sampling": {"0": 3}}
    assert config.sample_spec(plan)["side_sampling"] == {0: 3}


def test_shapes_are_known_before_the_data_is_made(given):
    found = config.shapes(given["datasets"])
    assert found["brainq"] == (60, 77775, 9)
    assert found["random"][0] == 500


def test_a_shape_that_only_the_data_knows_is_left_open(given):
    given["datasets"]["brainq"]["options"] = {"grid": "compact"}
    assert "brainq" not in config.shapes(given["datasets"])
