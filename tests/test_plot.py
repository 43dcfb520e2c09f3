"""Figures are the same bytes each time, and show every run."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoup import CMTF, SCOUP, ScoupError, plot
from scoup.evidence import Context
from scoup.experiments._controls import CostScale, costs
from scoup.experiments.accuracy.measure import MONOTONE
from scoup.plot import style
from tests.planted import planted


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


@given(low=st.floats(1e-6, 1e6), ratio=st.floats(1.05, 1e8))
@settings(max_examples=40, deadline=None)
def test_every_logarithmic_axis_has_ticks(low, ratio):
    axis = style.panels(1)[1][0, 0].yaxis
    axis.axes.set_ylim(low, low * ratio)
    style.plain_log(axis)
    start, end = axis.get_view_interval()
    ticks = [tick for tick in axis.get_majorticklocs() if start <= tick <= end]
    assert 2 <= len(ticks) <= 12
    labels = [axis.get_major_formatter()(tick) for tick in ticks]
    assert len(set(labels)) == len(labels)


def test_a_contender_looks_the_same_whatever_it_is_drawn_with():
    together = style.numbers(["none", "refit", "complete", "prune", "als"])
    for name, number in together.items():
        assert style.numbers(["another", name]) == {"another": int(number == 0), name: number}
    assert len(set(together.values())) == len(together)


def test_there_are_looks_for_any_number_of_curves():
    assert style.look(len(style.COLOURS))["color"] == style.COLOURS[0]


@pytest.fixture(scope="module")
def models():
    data, _ = planted((12, 40, 6), 2, seed=0, side=5, noise=0.1)
    labels = [None, None, list("MTWTFS"), None]
    data = data.with_labels(labels)
    return CMTF(2).fit(data), SCOUP(2, sampling=2, repetitions=3).fit(data)


def test_components_of_a_model_are_drawn_on_all_factors_or_some(models):
    full, sampled = models
    panels = plot.components(full).axes
    assert [axes.get_title() for axes in panels] == ["mode0", "mode1", "mode2", "side0"]
    assert all(len(axes.lines) == 2 for axes in panels)
    assert all(np.abs(line.get_ydata()).max() == 1 for axes in panels for line in axes.lines)
    days = plot.components(sampled, ["mode2", 1], caption="simulated data: planted").axes
    assert [axes.get_title() for axes in days] == ["mode2", "mode1"]
    gaps = np.isnan(np.asarray(days[1].lines[0].get_ydata(), dtype=float))
    assert np.array_equal(~gaps, sampled.factors_.coverage[1])
    with pytest.raises(ScoupError, match="modes: expected numbers below 4 or mode0"):
        plot.components(full, ["day"])


def test_losses_are_drawn_for_every_fit(models):
    full, sampled = models
    for model, reports in ((full, [full.report_]), (sampled, sampled.report_.fits)):
        lines = plot.losses(model).axes[0].lines
        assert [tuple(line.get_ydata()) for line in lines] == [r.losses for r in reports]
    with pytest.raises(ScoupError, match="CMTF is not fitted yet"):
        plot.losses(CMTF())
    with pytest.raises(ScoupError, match="model: expected a fitted CMTF or SCOUP, got str"):
        plot.losses("model")


def test_the_best_matches_are_on_the_diagonal(models):
    full, _ = models
    turned = full.factors_.replace_flat([factor[:, ::-1] for factor in full.factors_.flat])
    axes = plot.match(full, turned).axes[0]
    assert axes.get_title() == "factor match score 1.00"
    np.testing.assert_allclose(np.diag(axes.images[0].get_array()), 1.0)
    assert [text.get_text() for text in axes.get_xticklabels()] == ["2", "1"]
    with pytest.raises(ScoupError, match="other: expected factors of sizes"):
        plot.match(full, CMTF(2).fit(np.ones((2, 3, 4))))
