"""Every experiment, found by listing, keeps the contract of :mod:`scoup.experiments`."""

import subprocess
import sys
from inspect import signature
from pathlib import Path

import pytest

from scoup import experiments
from scoup.datasets import Traits
from scoup.experiments import _controls
from scoup.experiments._view import View
from scoup.records import Context, Measure
from scoup.specs import ExperimentSpec
from tests.experiments.nulls import NULLS

NAMES = experiments.names()
FIGURES = [
    (name, figure) for name in NAMES for figure in experiments.declared(name).CAPTIONS
]  # each figure belongs to one experiment
DENSE = Traits(("noun", "voxel", "subject"), sparse=False, categories=True)
COUNTS = Traits(("wall", "poster", "day"), sparse=True)
# Their nulls need data, and are made in their tests; rank claims nothing.
JUDGED_IN_THEIR_OWN_TESTS = (
    "accuracy", "anomaly", "leave_two_out", "rank", "shared", "sparsity"
)  # fmt: skip
SEVERAL = Traits(("a", "b", "c"), sparse=True, matrices=(0, 1, 2))
ON_DISK = Traits(("a", "b", "c"), sparse=True, on_disk=True)
KINDS = (DENSE, COUNTS, SEVERAL, ON_DISK)


def parameters(function):
    return list(signature(function).parameters)


def test_experiments_are_found():
    assert {"accuracy", "clusters", "missing", "sparsity", "speedup"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_settings_are_declared_and_described(name):
    spec = experiments.declared(name).Spec
    assert issubclass(spec, ExperimentSpec)
    for setting, schema in spec.model_json_schema()["properties"].items():
        assert schema.get("description"), f"{name}.{setting} has no description"


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_suits_some_data_and_says_why_it_does_not_suit_other(name):
    reasons = [experiments.declared(name).suits(traits) for traits in KINDS]
    assert "" in reasons
    assert all(isinstance(reason, str) for reason in reasons)


@pytest.mark.parametrize("name", NAMES)
def test_measure_and_claims_take_what_the_contract_says(name):
    module = experiments.measuring(name)
    assert parameters(module.measure) == ["inputs", "spec", "context"]
    assert len(parameters(module.claims)) == 1
    if hasattr(experiments.declared(name), "parts"):
        assert parameters(module.measure_part) == ["inputs", "spec", "part", "seed"]


@pytest.mark.parametrize("name", NAMES)
def test_a_view_names_measures_of_the_experiment(name):
    view = getattr(experiments.declared(name), "VIEW", View())
    folder = Path(experiments.measuring(name).__file__).parent
    code = "".join(path.read_text() for path in sorted(folder.glob("*.py")))
    shared_code = Path(_controls.__file__).read_text()
    for measure in filter(None, [*view.shared, view.sort, *(view.scatter or ())]):
        assert f'"{measure}"' in code + shared_code or f"{measure}=" in code
    if view.steps:
        assert f"{view.steps}=" in code


@pytest.mark.parametrize("name", NAMES)
def test_claims_about_nothing_are_none(name):
    other = Context(name, "planted", "whole", "plan", 0, "simulated")
    metric = other.metric(Measure("something_else", "s", "none"), 1.0)
    assert experiments.measuring(name).claims([]) == []
    assert experiments.measuring(name).claims([metric]) == []


def test_nulls_are_those_of_experiments():
    assert {*NULLS, *JUDGED_IN_THEIR_OWN_TESTS} <= set(NAMES)


@pytest.mark.parametrize("value", [0.1, 0.5, 1.0, 1.7, 3.0, 60.0, 1000.0])
@pytest.mark.parametrize("name", NULLS)
def test_a_null_never_holds_and_every_row_names_its_control(name, value):
    judged = experiments.measuring(name).claims(NULLS[name](value))
    assert judged
    for claim in judged:
        assert claim.verdict != "holds"
        assert claim.controls
        assert claim.setting


@pytest.mark.parametrize(("name", "figure"), FIGURES)
def test_every_caption_has_a_function_that_draws_it(name, figure):
    assert experiments.experiment_of(figure) == name
    assert experiments.declared(name).CAPTIONS[figure].endswith(".")
    assert parameters(getattr(experiments.drawing(figure), figure)) == ["metrics", "material"]


def test_no_two_experiments_declare_the_same_figure():
    figures = [figure for _, figure in FIGURES]
    assert len(figures) == len(set(figures))


def test_declarations_import_nothing_heavy():
    code = (
        "import sys; from scoup import experiments as e; [e.declared(n) for n in e.names()]; "
        "print(sorted({'matplotlib', 'numba', 'scipy', 'pandas'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
