"""Metrics, claims and what figures are made from: judged fairly, and read as they were written."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from scoup.errors import ScoupError
from scoup.evidence import Claim, Context, Measure, pick
from scoup.evidence.files import (
    read_claims,
    read_material,
    read_metrics,
    read_notes,
    read_part,
    write_claims,
    write_material,
    write_metrics,
    write_part,
)

SCHEMA = json.loads(
    (Path(__file__).resolve().parent.parent / "workflow/schemas/metrics.schema.json").read_text()
)
CONTEXT = Context("accuracy", "brainq", "whole", "scoup", 0, "simulated")
COST = Measure("cost", "ratio", "lower", 0.0, None, "a cost")


def test_parts_and_material_come_back(tmp_path):
    arrays, facts = {"table": np.eye(3), "names": np.array(["a", "b"])}, {"chosen": 2, "top": [1]}
    write_part(tmp_path / "p.npz", arrays)
    write_material(tmp_path / "m.npz", facts, arrays)
    part, (read_facts, material) = (
        read_part(tmp_path / "p.npz"),
        read_material(tmp_path / "m.npz"),
    )
    assert read_facts == facts
    for name, array in arrays.items():
        np.testing.assert_array_equal(part[name], array)
        np.testing.assert_array_equal(material[name], array)


def test_claims_come_back(tmp_path):
    rows = [{"claim": "it is faster", "ours": 2.0, "controls": {"zero": 1.0}}]
    write_claims(tmp_path / "c.json", rows)
    assert read_claims(tmp_path / "c.json") == rows


def test_metrics_files_follow_their_schema(tmp_path):
    metrics = [
        CONTEXT.metric(COST, 1.5, repetitions=2, merge="joint"),
        CONTEXT.on(plan="full").metric(COST, 1.0),
    ]
    write_metrics(tmp_path / "m.json", metrics, {"seeds": 2})
    jsonschema.validate(json.loads((tmp_path / "m.json").read_text()), SCHEMA)
    assert read_metrics(tmp_path / "m.json") == metrics
    assert read_notes(tmp_path / "m.json") == {"seeds": 2}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.1])
def test_a_value_outside_its_range_is_no_metric(value):
    with pytest.raises(ScoupError, match="metric cost: expected"):
        CONTEXT.metric(COST, value)


def test_a_file_without_metrics_is_refused(tmp_path):
    with pytest.raises(ScoupError, match="metrics: expected at least one, got none"):
        write_metrics(tmp_path / "m.json", [])
    assert not (tmp_path / "m.json").exists()


def test_pick_matches_fields_and_coordinates():
    metrics = [CONTEXT.on(seed=seed).metric(COST, seed, r=r) for seed in range(2) for r in (1, 2)]
    assert [metric.value for metric in pick(metrics, "cost", r=2)] == [0, 1]
    assert [metric.at["r"] for metric in pick(metrics, "cost", seed=1)] == [1, 2]
    assert pick(metrics, "cost", r=3) == pick(metrics, "cost", nosuch=1) == []


@pytest.mark.parametrize(
    ("bar", "higher", "control", "verdict"),
    [
        (1.0, True, 0.5, "holds"),
        (1.0, True, 1.0, "cannot tell"),
        (3.0, True, 0.5, "does not hold"),
        (3.0, False, 4.0, "holds"),
        (3.0, False, 3.0, "cannot tell"),
        (1.0, False, 0.5, "does not hold"),
    ],
)
def test_a_claim_is_judged_by_the_medians_of_runs_and_controls(bar, higher, control, verdict):
    runs = [CONTEXT.metric(COST, value) for value in (0.0, 2.0, 50.0)]
    facts = {"setting": "s", "paper": "2", "unit": "ratio", "bar": bar, "higher": higher}
    metrics = [CONTEXT.metric(COST, value) for value in (0.0, control, 90.0)]
    for controls in (control, metrics):
        claim = Claim.of("text", runs, controls={"null": controls, "unmeasured": []}, **facts)
        assert (claim.ours, claim.runs, claim.verdict) == (2.0, 3, verdict)
        assert claim.controls == {"null": control}


@pytest.mark.parametrize("controls", [{}, {"null": []}])
def test_a_claim_without_a_control_is_refused(controls):
    facts = {"setting": "s", "paper": "2", "unit": "ratio", "bar": 1.0}
    with pytest.raises(ScoupError, match=r"controls of 'text': expected .* make no claim"):
        Claim.of("text", [CONTEXT.metric(COST, 2.0)], controls=controls, **facts)


def test_a_control_that_is_no_number_is_refused():
    facts = {"setting": "s", "paper": "2", "unit": "ratio", "bar": 1.0}
    with pytest.raises(ScoupError, match="claim 'text': expected finite numbers"):
        Claim.of("text", [CONTEXT.metric(COST, 2.0)], controls={"null": float("nan")}, **facts)
