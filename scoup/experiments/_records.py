"""What an experiment is given and what it returns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scoup.coupled import CoupledData, Dataset
from scoup.errors import ScoupError
from scoup.evidence import Metric
from scoup.records import Array, Fit, Merged, Sample
from scoup.specs import PlanSpec
from scoup.values import view


@dataclass(frozen=True, eq=False)
class Model:
    """What sample, fit and merge made of one plan on one variant of the data.

    ``fraction`` is the share of cells that the variant hides, ``coords`` (N, n) are these cells and
    ``truth`` (n,) their values. ``seconds`` (of processor time) and ``sweeps`` are sums over the
    fits of all repetitions.
    """

    plan: str
    variant: str
    spec: PlanSpec
    samples: Sequence[Sample]
    fits: Sequence[Fit]
    merged: Merged
    fraction: float = 0.0
    seconds: float = 0.0
    sweeps: int = 0
    coords: Array = field(default_factory=lambda: np.empty((0, 0), dtype=np.int32))
    truth: Array = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True, eq=False)
class Inputs:
    """What the stages before the experiments made of one data set, for one seed.

    ``models`` are those of all plans and variants that the experiment's Spec names. ``planted`` is
    what simulated data was made of, for judging only. ``parts`` are the arrays of the experiment's
    parts, by name. ``threads`` is the number of threads that the job may use.
    """

    dataset: Dataset
    models: Sequence[Model] = ()
    planted: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, Mapping[str, Array]] = field(default_factory=dict)
    threads: int = 1

    def model(self, plan: str, variant: str = "whole") -> Model:
        """Return the model of one plan on one variant."""
        for model in self.models:
            if (model.plan, model.variant) == (plan, variant):
                return model
        got = [f"{model.plan} on {model.variant}" for model in self.models]
        raise ScoupError.expected("models", f"one of plan {plan} on {variant}", got)

    def view(self, plan: str) -> CoupledData:
        """Return the whole data as ``plan`` factorizes it."""
        spec = self.model(plan).spec
        return view(self.dataset.data, spec.values, spec.weights)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What an experiment returns: metrics, and ``facts`` and ``arrays`` for its figure and page.

    ``notes`` are settings and other plain facts that are written next to the metrics.
    """

    metrics: Sequence[Metric]
    facts: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, Array] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)
