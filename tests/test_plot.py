"""Figures say what they show, are the same bytes each time, and name simulated data."""

import pytest

from scoup import plot
from scoup.experiments import _controls as measures
from scoup.experiments.accuracy import measure as accuracy
from scoup.experiments.missing import measure as missing
from scoup.experiments.sparsity import measure as sparsity
from scoup.experiments.speedup import measure as speedup
from scoup.measures import Context


def context(experiment, seed, provenance="simulated"):
    return Context(experiment, "brainq", "whole", "scoup", seed, provenance)


def some(experiment, provenance="simulated"):
    found = []
    for seed in range(3):
        here = context(experiment, seed, provenance)
        if experiment == "accuracy":
            for merge in ("joint", "paper"):
                at = {"merge": merge, "finish": "none"}
                found.append(here.metric(accuracy.MONOTONE, seed % 2, **at))
                for r in (1, 2, 3):
                    found += measures.costs(here, 2 + seed / r, 2.0, 10.0, repetitions=r, **at)
        if experiment == "sparsity":
            for plan in ("sparse2", "sparse5"):
                found.append(
                    here.on(plan=plan).metric(sparsity.RELATIVE_SIZE, 2 + seed, finish="none")
                )
                found += measures.costs(here.on(plan=plan), 2 + seed, 2.0, 10.0, finish="none")
        if experiment == "missing":
            for share in (0.1, 0.5):
                for measure in (missing.SNR, missing.ERROR, missing.MEAN_ERROR, missing.SECONDS):
                    found.append(here.metric(measure, 1 + seed + share, fraction=share))
        if experiment == "speedup":
            for name in ("reference", "als", "compressed als", "SCOUP"):
                at = {"contender": name, "workers": 2, "sampling": "2x2x1", "finish": "none"}
                found.append(here.metric(speedup.SPEEDUP, 1 + seed, **at))
                found += measures.costs(here, 2.0, 2.0, 10.0, **at)
    return found


FIGURES = ["accuracy", "sparsity", "missing", "speedup"]


def texts(figure):
    return [text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))]


@pytest.mark.parametrize("name", FIGURES)
def test_every_panel_has_labelled_axes(name):
    for axes in plot.draw(name, some(name)).axes:
        assert axes.has_data()
    assert any(axes.get_xlabel() and axes.get_ylabel() for axes in plot.draw(name, some(name)).axes)


@pytest.mark.parametrize("name", FIGURES)
def test_simulated_data_is_named_as_such_and_real_data_is_not(name):
    assert any("simulated data: brainq" in text for text in texts(plot.draw(name, some(name))))
    real = texts(plot.draw(name, some(name, "real")))
    assert any("real data: brainq" in text for text in real)
    assert not any("simulated" in text for text in real)


@pytest.mark.parametrize("kind", ["svg", "pdf", "png"])
def test_the_same_metrics_are_the_same_bytes(tmp_path, kind):
    for name in ("one", "two"):
        plot.save(plot.draw("accuracy", some("accuracy")), tmp_path / f"{name}.{kind}")
    assert (tmp_path / f"one.{kind}").read_bytes() == (tmp_path / f"two.{kind}").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"one.{kind}", f"two.{kind}"]


def test_every_run_is_drawn():
    axes = plot.draw("accuracy", some("accuracy")).axes[0]
    thin = [line for line in axes.lines if line.get_linewidth() < 1 and len(line.get_xdata()) == 3]
    assert len(thin) == 2 * 3  # merges times seeds
