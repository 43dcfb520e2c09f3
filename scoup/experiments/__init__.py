"""Experiments: one folder each, found by listing this one.

- ``__init__.py`` declares the experiment: ``Spec`` (its settings), ``CAPTIONS`` (one per figure)
  and ``suits(traits)``, which says why the experiment makes no sense for some data, or nothing.
  Snakemake reads all declarations when it starts, so they import nothing heavy. ``EXCLUSIVE =
  True`` gives its jobs every core; ``VIEW`` says how a tracker shows its runs.
- ``measure.py`` computes: ``measure(inputs, spec, context) -> Outcome`` and, if the experiment
  claims something, ``claims(metrics) -> list[Claim]``, the paper's own setting first, each with a
  null or control that it was measured with. An experiment whose work splits into independent
  jobs also declares ``parts(spec) -> list[str]`` and has ``measure_part(inputs, spec, part,
  seed)`` in ``measure.py``, which returns a dict of arrays; ``inputs.parts`` then holds them by
  name.
- ``figure.py`` draws: a function ``name(metrics, material) -> Figure`` for each name in
  ``CAPTIONS``. ``material`` is a list of ``(facts, arrays)``, one per data set, of the first seed.
- ``findings.py``, if there is one, says what was found in user-supplied data, for the top of the
  report: ``findings(facts, metrics) -> Section``, of one data set and the first seed.
- ``page.py``, if there is one, writes a page: ``page(facts, arrays) -> {file name: bytes}``, with
  ``index.html`` in it.
"""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from scoup.evidence import Claim, Metric
from scoup.listing import load, members
from scoup.report import Findings
from scoup.specs import ExperimentSpec

# Settings of experiments that name one plan.
PLAN_SETTINGS = ("plan", "baseline", "nonnegative")


def names() -> tuple[str, ...]:
    """Return the names of all experiments."""
    return members(__name__)


def declared(name: str) -> ModuleType:
    """Return the declaration of an experiment: ``Spec``, ``CAPTIONS``, ``suits``."""
    return load(__name__, name)


def spec_of(name: str, dataset: str, settings: Mapping[str, Any]) -> Any:
    """Return the settings of an experiment on one data set, checked."""
    return declared(name).Spec(datasets=[dataset], **settings)


def summary(name: str) -> str:
    """Return what an experiment asks, the first line of its declaration."""
    text = (declared(name).__doc__ or "").splitlines()[0].partition(": ")[2]
    return text[:1].upper() + text[1:]


def measuring(name: str) -> ModuleType:
    """Return the code of an experiment: ``measure`` and, if it claims something, ``claims``."""
    return load(declared(name).__name__, "measure")


def claims_of(name: str, metrics: Sequence[Metric]) -> list[Claim]:
    """Let an experiment judge its claims by its metrics."""
    judge = getattr(measuring(name), "claims", None)
    return judge(metrics) if judge else []


def drawing(figure: str) -> ModuleType:
    """Return the module with the function that draws ``figure``."""
    return load(declared(experiment_of(figure)).__name__, "figure")


def experiment_of(figure: str) -> str:
    """Return the experiment that declares ``figure``."""
    return next(name for name in names() if figure in declared(name).CAPTIONS)


def has_page(name: str) -> bool:
    """Whether an experiment writes a page."""
    return find_spec(f"{__name__}.{name}.page") is not None


def has_findings(name: str) -> bool:
    """Whether an experiment says what was found in user-supplied data."""
    return find_spec(f"{__name__}.{name}.findings") is not None


def findings_of(
    name: str, dataset: str, facts: Mapping[str, Any], metrics: Sequence[Metric]
) -> Findings:
    """Return what an experiment found in one data set, with the first seed."""
    here = [
        metric
        for metric in metrics
        if (metric.experiment, metric.dataset, metric.seed) == (name, dataset, 0)
    ]
    section = load(declared(name).__name__, "findings").findings(facts, here)
    return Findings(name, dataset, section)


def parts_of(name: str, spec: ExperimentSpec) -> list[str]:
    """Return the names of the independent jobs of an experiment, if it has any."""
    split = getattr(declared(name), "parts", None)
    return split(spec) if split else []


def plans_of(spec: Any) -> list[str]:
    """Return the plans that an experiment names as plans, plan and so on, each once."""
    single = [getattr(spec, key, None) for key in PLAN_SETTINGS]
    return list(dict.fromkeys([*getattr(spec, "plans", []), *filter(None, single)]))


def variants_of(spec: Any) -> list[str]:
    """Return the variants that an experiment names; ``whole`` if it names none."""
    return list(getattr(spec, "variants", ["whole"]))
