"""Comparison of two results folders: each number once, judged by the direction it should take."""

from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoup import compare, results
from tests import tracked


def verdicts(first, second, tolerance=1e-9):
    tables = (compare.table([asdict(metric) for metric in metrics]) for metrics in (first, second))
    return compare.compare(*tables, tolerance)


def test_a_folder_is_the_same_as_itself():
    metrics = tracked.metrics_of(0) + tracked.metrics_of(1, 2.0)
    both = verdicts(metrics, metrics)
    assert set(both.verdict) == {"same"}
    assert len(both) == len(metrics)
    assert (both.difference == 0).all()


def test_lower_is_better_where_the_measure_says_so():
    high, low = tracked.metrics_of(0, 2.0), tracked.metrics_of(0, 1.0)
    for first, second, verdict in ((high, low, "better"), (low, high, "worse")):
        both = verdicts(first, second)
        assert set(both[both.name == "relative_cost"].verdict) == {verdict}
        assert set(both[both.name == "monotone"].verdict) == {"same"}


@given(st.floats(-10, 10), st.floats(-10, 10), st.sampled_from(["higher", "lower", "none"]))
def test_what_is_better_one_way_is_worse_the_other_way(a, b, direction):
    metric = tracked.metrics_of(0)[0]
    one, two = (replace(metric, value=v, direction=direction, range=(None, None)) for v in (a, b))
    mirror = {"better": "worse", "worse": "better", "same": "same", "other": "other"}
    [forward], [backward] = verdicts([one], [two]).verdict, verdicts([two], [one]).verdict
    assert backward == mirror[forward]


@pytest.mark.parametrize(("tolerance", "verdict"), [(1e-3, "same"), (1e-5, "worse")])
def test_differences_are_relative_to_the_larger_value(tolerance, verdict):
    metric = tracked.metrics_of(0)[0]
    both = verdicts([replace(metric, value=1e6)], [replace(metric, value=1e6 + 100)], tolerance)
    assert both.difference.item() == pytest.approx(1e-4, rel=1e-3)
    assert both.verdict.item() == verdict


def test_coordinates_that_are_equal_as_numbers_match():
    metric = tracked.metrics_of(0)[0]
    both = verdicts([replace(metric, at={"share": 3})], [replace(metric, at={"share": 3.0})])
    assert both.verdict.tolist() == ["same"]


def test_numbers_in_one_folder_only_are_counted():
    metrics = tracked.metrics_of(0)
    both = verdicts(metrics[:-1], metrics[1:])
    counts = both.verdict.value_counts()
    assert counts["only first"] == counts["only second"] == 1
    assert "Numbers in one folder only" in compare.describe(both)


@pytest.fixture
def folders(tmp_path):
    """Return two folders, one with the plan in the paths of its metrics files and one without."""
    places = {"old": (2.0, "accuracy/brainq/scoup"), "new": (1.0, "accuracy/brainq")}
    for name, (value, place) in places.items():
        for seed in range(2):
            path = tmp_path / name / "experiments" / place / f"seed{seed}.json"
            results.write_metrics(path, tracked.metrics_of(seed, value), {})
    return [str(tmp_path / name) for name in places]


def test_the_command_prints_differences_and_a_summary(folders, capsys):
    assert compare.main(folders) == 0
    text = capsys.readouterr().out
    assert "Numbers that differ" in text
    assert "better" in text
    assert text.endswith("4 of 16 numbers are the same to 1e-09.\n")


def test_with_a_tolerance_the_exit_code_says_whether_all_numbers_are_the_same(folders, capsys):
    assert compare.main([*folders, "--tolerance", "1e-9"]) == 1
    assert compare.main([folders[0], folders[0], "--tolerance", "1e-9"]) == 0
    assert compare.main([*folders, "--tolerance", "0.9"]) == 0
    assert "16 of 16 numbers are the same to 0.9." in capsys.readouterr().out


def test_a_folder_without_results_is_a_hint(tmp_path, capsys):
    assert compare.main([str(tmp_path), str(tmp_path)]) == 1
    assert "expected a results folder, got one without metrics files" in capsys.readouterr().err
