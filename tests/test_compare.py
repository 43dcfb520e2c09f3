"""Comparison of two result folders: each number once, judged by the direction it should go."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoup import compare
from tests import tracked


def found(first, second):
    return {(d.measure, d.where): d for d in compare.compare(first, second)}


def test_a_folder_is_the_same_as_itself():
    metrics = tracked.metrics_of(0) + tracked.metrics_of(1, 2.0)
    assert {d.verdict for d in compare.compare(metrics, metrics)} == {"same"}


def test_seeds_are_put_together_and_places_are_not():
    metrics = tracked.metrics_of(0) + tracked.metrics_of(1, 2.0)
    differences = compare.compare(metrics, metrics)
    assert len(differences) == len(metrics) / 2
    assert {d.seeds for d in differences} == {(2, 2)}


def test_lower_is_better_where_the_measure_says_so():
    there = found(tracked.metrics_of(0, 2.0), tracked.metrics_of(0, 1.0))
    assert {d.verdict for (name, _), d in there.items() if name == "relative_cost"} == {"better"}
    back = found(tracked.metrics_of(0, 1.0), tracked.metrics_of(0, 2.0))
    assert {d.verdict for (name, _), d in back.items() if name == "relative_cost"} == {"worse"}


@given(st.floats(-10, 10), st.floats(-10, 10), st.sampled_from(["higher", "lower", "none"]))
def test_what_is_better_one_way_is_worse_the_other_way(a, b, direction):
    [metric] = tracked.metrics_of(0)[:1]
    one, two = (replace(metric, value=v, direction=direction, range=(None, None)) for v in (a, b))
    mirror = {"better": "worse", "worse": "better", "same": "same", "other": "other"}
    [there], [back] = compare.compare([one], [two]), compare.compare([two], [one])
    assert back.verdict == mirror[there.verdict]
    assert not there.clear  # one seed says nothing about the spread


def test_seeds_that_lie_apart_are_clear():
    first = tracked.metrics_of(0, 1.0) + tracked.metrics_of(1, 1.5)
    second = tracked.metrics_of(0, 2.0) + tracked.metrics_of(1, 2.5)
    for pair in ((first, second), (second, first)):
        assert all(d.clear for d in compare.compare(*pair) if d.measure == "relative_cost")


def test_overlapping_seeds_are_not_clear():
    first = tracked.metrics_of(0, 1.0) + tracked.metrics_of(1, 3.0)
    second = tracked.metrics_of(0, 2.0) + tracked.metrics_of(1, 2.5)
    assert not any(d.clear for d in compare.compare(first, second) if d.measure == "relative_cost")


def test_what_only_one_folder_has_is_said():
    metrics = tracked.metrics_of(0)
    assert {d.verdict for d in compare.compare(metrics, [])} == {"only first"}
    assert {d.verdict for d in compare.compare([], metrics)} == {"only second"}


@pytest.fixture
def folders(tmp_path):
    return tracked.make(tmp_path / "a", value=2.0), tracked.make(
        tmp_path / "b", value=1.0, mark="real"
    )


def test_the_command_prints_every_number_with_its_direction(folders, capsys):
    assert compare.main([str(folder / "results") for folder in folders]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["experiment", "measure", "where"]
    cost = next(line for line in lines if "relative_cost" in line and "joint" in line)
    assert "  lower      better     clear" in cost
    assert lines[-1].startswith("8 numbers: 6 better, 2 same; of those better or worse 6 are clear")


def test_the_page_says_that_one_folder_is_simulated(folders, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert (
        compare.main(
            [*(str(folder / "results") for folder in folders), "--html", str(page), "--changed"]
        )
        == 0
    )
    text = page.read_text()
    assert "Some of the data is simulated" in text
    assert "simulated against real" in text
    assert "monotone" not in text
    assert "8 numbers" in capsys.readouterr().out


def test_a_folder_without_results_is_a_hint(tmp_path, capsys):
    assert compare.main([str(tmp_path), str(tmp_path)]) == 1
    assert "expected a results folder, got one without metrics files" in capsys.readouterr().err
