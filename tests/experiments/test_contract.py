"""Every experiment, found by listing, keeps the contract of :mod:`scoup.experiments`."""

import ast
import subprocess
import sys
from importlib import import_module
from inspect import signature
from pathlib import Path

import pytest

from scoup import experiments
from scoup.datasets import Traits
from scoup.evidence import Claim, Context, Measure
from scoup.experiments import _controls
from scoup.experiments._view import View
from scoup.specs import ExperimentSpec

NAMES = experiments.names()
CLAIMING = [name for name in NAMES if hasattr(experiments.measuring(name), "claims")]
FIGURES = [
    (name, figure) for name in NAMES for figure in experiments.declared(name).CAPTIONS
]  # each figure belongs to one experiment
DENSE = Traits(("noun", "voxel", "subject"), sparse=False, categories=True)
COUNTS = Traits(("wall", "poster", "day"), sparse=True, roles=("whom", "who", "when"))
SEVERAL = Traits(("a", "b", "c"), sparse=True, matrices=(0, 1, 2))
ON_DISK = Traits(("a", "b", "c"), sparse=True, on_disk=True)
KINDS = (DENSE, COUNTS, SEVERAL, ON_DISK)


# What both the method and its controls reach in a null, from poor to better than any bar.
NULL_VALUES = (0.0, 0.1, 0.5, 0.9, 1.0, 1.7, 3.0, 60.0, 1000.0)


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
    assert name not in CLAIMING or parameters(module.claims) == ["metrics"]
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
        assert f"{view.steps}=" in code or f'"{view.steps}"' in code


@pytest.mark.parametrize("name", CLAIMING)
def test_claims_about_nothing_are_none(name):
    other = Context(name, "planted", "whole", "plan", 0, "simulated")
    metric = other.metric(Measure("something_else", "s", "none"), 1.0)
    assert experiments.measuring(name).claims([]) == []
    assert experiments.measuring(name).claims([metric]) == []


def calls_of_claims(name):
    """Return file and line of every ``Claim.of(`` in the folder of an experiment."""
    folder = Path(experiments.declared(name).__file__).parent
    return {
        (str(path), node.lineno)
        for path in sorted(folder.glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Claim.of"
    }


@pytest.fixture
def called(monkeypatch):
    """File and line of every call of ``Claim.of`` during the test."""
    make, places = Claim.of, set()

    def record(*args, **facts):
        frame = sys._getframe(1)
        places.add((frame.f_code.co_filename, frame.f_lineno))
        return make(*args, **facts)

    monkeypatch.setattr(Claim, "of", record)
    return places


@pytest.mark.parametrize("name", CLAIMING)
def test_no_claim_holds_if_the_method_is_no_better_than_its_controls(name, called):
    """``null(value)`` in the tests of an experiment returns the metrics of all of its claims."""
    null = import_module(f"tests.experiments.test_{name}").null
    judged = [claim for value in NULL_VALUES for claim in experiments.claims_of(name, null(value))]
    assert not [claim for claim in judged if claim.verdict == "holds"]
    assert all(claim.setting for claim in judged)
    assert called == calls_of_claims(name)
    assert called


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
