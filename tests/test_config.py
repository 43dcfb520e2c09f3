"""Every refusal names the key and says what to write; the words are pinned here."""

import copy
import json
import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from scoup import config, datasets, experiments
from scoup.errors import ScoupError
from scoup.listing import members
from scoup.specs import FitSpec, MergeSpec, SampleSpec

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def given():
    return copy.deepcopy(yaml.safe_load((ROOT / "config.yaml").read_text()))


def change(given, path, value):
    *parents, last = path.split(".")
    for key in parents:
        given = given[key]
    given[last] = value


def test_the_committed_configuration_passes(given):
    config.check(given)


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
    (
        "plans.scoup.rank",
        "five",
        r"plans\.scoup\.rank: expected an integer of at least 1, got 'five'\.",
    ),
    ("plans.scoup.rank", 0, r"plans\.scoup\.rank: expected an integer of at least 1, got 0\."),
    ("plans.scoup.shared", 1.5, r"plans\.scoup\.shared: expected a number from 0 to 1, got 1\.5\."),
    ("plans.scoup.sampling", "3", r"plans\.scoup\.sampling: expected a number.*, got '3'\."),
    (
        "plans.scoup.sampling",
        [3, 0.5, 1],
        r"plans\.scoup\.sampling\.1: expected a number of at least 1, got 0\.5\.",
    ),
    (
        "plans.scoup.solver",
        "asl",
        r"plans\.scoup\.solver: expected one of als, .*; perhaps 'als' was meant\.",
    ),
    (
        "variants.missing10.fraction",
        2,
        r"variants\.missing10\.fraction: expected a number from 0 to 0\.99, got 2\.",
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
        config.check(given)


def test_an_experiment_set_to_null_is_left_out(given):
    given["experiments"]["speedup"] = None
    assert "speedup" not in config.check(given).experiments


def test_a_missing_key_is_named(given):
    del given["plans"]["scoup"]["rank"]
    words = r"plans\.scoup\.rank: expected a value, got nothing; write 'rank:'"
    with pytest.raises(ScoupError, match=words):
        config.check(given)


def test_rank_above_the_sample_size_is_refused(given):
    given["plans"]["scoup"]["rank"] = 25
    words = (
        r"plans\.scoup\.rank: expected at most 20, "
        r"since sampling .* keeps 20 x 905 x 9 of brainq, got 25; "
    )
    with pytest.raises(ScoupError, match=words):
        config.check(given)


def test_a_sampling_of_the_wrong_length_is_refused(given):
    given["plans"]["scoup"]["sampling"] = [3, 86, 1, 1]
    words = r"plans\.scoup\.sampling: expected one factor, or 3, one per mode of brainq"
    with pytest.raises(ScoupError, match=words):
        config.check(given)


def test_a_plan_is_split_among_the_stages_without_a_rest(given):
    plan = config.check(given).plans["scoup"]
    stages = [set(kind.model_fields) for kind in (SampleSpec, FitSpec, MergeSpec)]
    assert set.union(*stages, {"values", "weights"}) == set(type(plan).model_fields)
    merging = {"merge": "joint", "finish": "none", "rise": 0.01, "constraints": None}
    assert plan.part(MergeSpec).to_dict() == merging


def test_constraints_on_a_mode_that_the_data_lacks_are_refused(given):
    given["plans"]["scoup"]["constraints"] = {"0": "nonnegative", "matrix0": "nonnegative"}
    config.check(given)
    given["plans"]["scoup"]["constraints"] = {"3": "nonnegative"}
    words = r"plans\.scoup\.constraints: expected modes of brainq from 0 to 2 .*, got '3'"
    with pytest.raises(ScoupError, match=words):
        config.check(given)


def test_side_sampling_comes_by_mode_number(given):
    assert config.check(given).plans["groups"].side_sampling == {0: 3}


def test_the_shape_is_known_before_the_data_is_made(given):
    specs = config.check(given).datasets
    assert datasets.shape(specs["brainq"]) == (60, 77775, 9)
    assert datasets.shape(specs["random"])[0] == 500
    assert datasets.shape(specs["portion"]) is None


# One source per setting: everything that lists settings or names is compared with the Specs here.


def test_the_schema_is_what_the_specs_say():
    stored = json.loads((ROOT / "workflow" / "schemas" / "config.schema.json").read_text())
    assert stored == json.loads(json.dumps(config.schema())), "run `make settings`"


def test_the_page_of_settings_is_what_the_specs_say():
    assert (ROOT / "docs" / "settings.md").read_text() == config.settings_page(), (
        "run `make settings`"
    )


def test_the_committed_configuration_lists_every_setting(given):
    for section, kind in config.SECTIONS.items():
        listed = set.union(*(set(entry) for entry in given[section].values()))
        assert listed == set(kind.model_fields)
    assert set(given["experiments"]) == set(experiments.names())
    for name, entry in given["experiments"].items():
        assert set(entry) == set(experiments.declared(name).Spec.model_fields), name


def test_the_small_configurations_are_valid(given):
    for path in (ROOT / "workflow" / "configs").glob("*.yaml"):
        config.check(merged(given, yaml.safe_load(path.read_text())))


LISTED = {
    "kind": "scoup.datasets",
    "values": "scoup.values",
    "solver": "scoup.solvers",
    "merge": "scoup.merges",
    "finish": "scoup.finishes",
}


@pytest.mark.parametrize(("key", "package"), LISTED.items(), ids=LISTED)
def test_names_in_the_comments_of_the_configuration_are_those_found_by_listing(key, package):
    comments = " ".join(
        line.lstrip("# ")
        for line in (ROOT / "config.yaml").read_text().splitlines()
        if line.startswith("#")
    )
    (text,) = re.findall(rf"\b{key}: ((?:\w+(?: \([^)]*\))?(?:, | or )?)+)", comments)[:1]
    names = re.split(r", | or ", re.sub(r" \([^)]*\)", "", text))
    assert {name.strip() for name in names} == set(members(package))


@pytest.mark.parametrize("name", experiments.names())
def test_every_setting_is_described(name):
    for key, entry in experiments.declared(name).Spec.model_fields.items():
        assert entry.description, f"{name}.{key}"


def merged(one, other):
    if not isinstance(one, dict) or not isinstance(other, dict):
        return other
    return {**one, **{key: merged(one.get(key), value) for key, value in other.items()}}


@pytest.mark.parametrize("name", [None, 1, "a/b", "", "../x", "{{ x }}", "a b", True])
@pytest.mark.parametrize("section", ["datasets", "variants", "plans"])
def test_names_that_cannot_be_part_of_a_path_are_refused(given, section, name):
    given[section][name] = next(iter(given[section].values()))
    with pytest.raises(ScoupError, match=f"{section}: a name: expected letters, digits and _"):
        config.check(given)


@pytest.mark.parametrize("value", [0, [], "x", np.ones((2, 2)), ["accuracy"], True], ids=str)
@pytest.mark.parametrize("section", ["datasets", "variants", "plans", "experiments"])
def test_sections_of_the_wrong_kind_are_refused(given, section, value):
    with pytest.raises(ScoupError, match=f"{section}: expected a mapping"):
        config.check({**given, section: value})


@pytest.mark.parametrize("key", [None, 1, ("a",)], ids=str)
def test_keys_of_options_that_are_no_text_are_refused(given, key):
    given["datasets"]["brainq"]["options"] = {key: 1}
    with pytest.raises(ScoupError, match=r"datasets\.brainq\.options"):
        config.check(given)


def test_settings_that_nest_without_end_are_refused_in_a_sentence():
    settings: dict = {}
    settings["rank"] = settings
    with pytest.raises(ScoupError, match="at most 50 levels"):
        FitSpec(**settings)
