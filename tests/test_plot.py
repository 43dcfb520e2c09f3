"""Figures are the same bytes each time, and show every run."""

import pytest

from scoup import plot
from scoup.experiments._controls import CostScale, costs
from scoup.experiments.accuracy.measure import MONOTONE
from scoup.plot import style
from scoup.records import Context


@pytest.fixture
def metrics():
    metrics = []
    for seed in range(3):
        context = Context("accuracy", "brainq", "whole", "scoup", seed, "simulated")
        for merge in ("joint", "paper"):
            at = {"merge": merge, "finish": "none"}
            metrics.append(context.metric(MONOTONE, seed % 2, **at))
            for count in (1, 2, 3):
                scale = CostScale(full=2.0, zero=10.0)
                metrics += costs(context, 2 + seed / count, scale, repetitions=count, **at)
    return metrics


@pytest.mark.parametrize("kind", ["svg", "pdf", "png"])
def test_the_same_metrics_are_the_same_bytes(tmp_path, metrics, kind):
    first, second = (tmp_path / f"{name}.{kind}" for name in ("first", "second"))
    for path in (first, second):
        plot.save(plot.draw("accuracy", metrics), path)
    assert first.read_bytes() == second.read_bytes()
    assert sorted(tmp_path.iterdir()) == [first, second]


def test_every_run_is_drawn(metrics):
    axes = plot.draw("accuracy", metrics).axes[0]
    thin = [line for line in axes.lines if line.get_linewidth() < 1 and len(line.get_xdata()) == 3]
    assert len(thin) == 2 * 3  # merges times seeds


def test_there_are_looks_for_any_number_of_curves():
    assert style.look(len(style.COLOURS))["color"] == style.COLOURS[0]
