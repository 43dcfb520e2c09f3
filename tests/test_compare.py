"""Two results folders are the same, or the numbers that differ are named."""

from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoup import compare
from scoup.evidence.files import write_metrics
from tests import tracked


def differences(first, second, tolerance=1e-9):
    tables = (compare.table([asdict(metric) for metric in metrics]) for metrics in (first, second))
    return compare.differences(*tables, tolerance)


def test_a_folder_is_the_same_as_itself():
    metrics = tracked.metrics_of(0) + tracked.metrics_of(1, 2.0)
    assert len(differences(metrics, metrics)) == 0


def test_every_number_that_differs_is_named():
    different = differences(tracked.metrics_of(0, 2.0), tracked.metrics_of(0, 1.0))
    assert set(different.name) == {"relative_cost"}
    assert len(different) == 2 * tracked.REPETITIONS


@given(st.floats(-10, 10), st.floats(-10, 10))
def test_the_order_of_the_folders_does_not_matter(a, b):
    metric = tracked.metrics_of(0)[0]
    one, two = (replace(metric, value=value, range=(None, None)) for value in (a, b))
    assert len(differences([one], [two])) == len(differences([two], [one]))


@pytest.mark.parametrize(("tolerance", "count"), [(1e-3, 0), (1e-5, 1)])
def test_differences_are_relative_to_the_larger_value(tolerance, count):
    metric = tracked.metrics_of(0)[0]
    pair = [replace(metric, value=1e6)], [replace(metric, value=1e6 + 100)]
    assert len(differences(*pair, tolerance)) == count


def test_coordinates_that_are_equal_as_numbers_match():
    metric = tracked.metrics_of(0)[0]
    assert not len(differences([replace(metric, at={"k": 3})], [replace(metric, at={"k": 3.0})]))


def test_numbers_in_one_folder_only_differ_at_any_tolerance():
    metrics = tracked.metrics_of(0)
    assert len(differences(metrics[:-1], metrics[1:], tolerance=10.0)) == 2


@pytest.fixture
def folders(tmp_path):
    """Return two folders, one with the plan in the paths of its metrics files and one without."""
    places = {"old": (2.0, "accuracy/brainq/scoup"), "new": (1.0, "accuracy/brainq")}
    for name, (value, place) in places.items():
        for seed in range(2):
            path = tmp_path / name / "experiments" / place / f"seed{seed}.json"
            write_metrics(path, tracked.metrics_of(seed, value), {})
    return [str(tmp_path / name) for name in places]


def test_the_exit_code_says_whether_all_numbers_are_the_same(folders, capsys):
    assert compare.main(folders) == 1
    assert "12 numbers differ by more than 1e-09." in capsys.readouterr().out
    assert compare.main([folders[0], folders[0]]) == 0
    assert compare.main([*folders, "--tolerance", "0.9"]) == 0


def test_a_folder_without_results_is_a_hint(tmp_path, capsys):
    assert compare.main([str(tmp_path), str(tmp_path)]) == 1
    assert "expected a results folder, got one without metrics files" in capsys.readouterr().err
