"""Pages of experiments: everything in the page, names as typed, tables also as files."""

import csv
import gzip
import io
import json
from functools import cache
from importlib import import_module

import numpy as np
import pytest

from scoup import experiments, report
from scoup.evidence import Context
from scoup.experiments.clusters.measure import ALONE_PURITY, MEAN_PURITY, NULL_PURITY, P_VALUE
from scoup.experiments.leave_two_out.measure import ACCURACY, CHANCE_HIGH, CHANCE_LOW
from tests.payloads import PAYLOADS, Shown, words

CLUSTER_MEASURES = (ALONE_PURITY, MEAN_PURITY, NULL_PURITY, P_VALUE)


def facts_of(experiment, text="plain words"):
    """What an experiment leaves for its page, with ``text`` wherever a name may stand."""
    names = [text, f"{text} 2", f"{text} 3"]
    common = {"dataset": text, "seed": 0, "provenance": "simulated", "names": names}
    if experiment == "clusters":
        member = {"name": text, "category": text, "score": 0.5}
        end = {name: [member] for name in names[:2]}
        component = {"loadings": {text: 0.25}, "ends": {"+": end, "-": end}}
        parts = {"plan": text, "components": [{"component": n, **component} for n in (1, 2)]}
        return common | parts | {"nonnegative": parts}
    if experiment == "anomaly":
        row = {"place": 1, "kind": text, "found by": "both", "size": 2.5}
        row |= dict.fromkeys(names, text)
        groups = {"groups": [row], "group_columns": list(row), "slice_days": 28}
        kinds = {"words": {"star-out": text}, "usual": {"star-out": 1, "star-in": 2}}
        return common | {"columns": list(row), "rows": [row], "chance": {text: 0}} | groups | kinds
    row = {"component": 1, "weight": 2.0, "mode": text, "place": 1, "label": text, "loading": -0.5}
    advice = {"rank": None, "shown": 1, "words": text, "reasons": [text], "warnings": [text]}
    return common | advice | {"components": [row]}


def page(experiment, facts, arrays=None):
    """The files of a page; facts pass through JSON as they do in a run."""
    module = import_module(f"scoup.experiments.{experiment}.page")
    return module.page(json.loads(json.dumps(facts, sort_keys=True)), arrays or {})


@pytest.fixture(scope="module")
def brain():
    """The page of components that have images."""
    maps = np.random.default_rng(0).standard_normal((2, 4, 5, 6))
    facts = facts_of("clusters") | {"voxel_mm": [3.0, 3.0, 6.0]}
    return page("clusters", facts, {"maps": maps})


EXPERIMENTS = [name for name in experiments.names() if experiments.has_page(name)]


def test_the_experiments_with_a_page():
    assert {"anomaly", "clusters", "rank"} <= set(EXPERIMENTS)


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_names_are_shown_as_typed(name, payload):
    files = page(name, facts_of(name, payload))
    whole = report.inline(files.pop("index.html").decode(), files)
    shown = Shown(whole)
    plain = page(name, facts_of(name))
    plain = report.inline(plain.pop("index.html").decode(), plain)
    assert shown.shape == Shown(plain).shape
    assert words(payload) in map(words, shown.cells)


@cache
def found(name, text="plain words"):
    """The top of a report, with ``text`` wherever a name may stand."""
    metric = Context(name, text, "whole", text, 0, "real").metric
    shares = [
        metric(measure, 0.5, subject=text, contender=contender, decision="cosine", model=text)
        for measure in (ACCURACY, CHANCE_LOW, CHANCE_HIGH, *CLUSTER_MEASURES)
        for contender in ("chosen", "ridge")
    ]
    facts = json.loads(json.dumps(facts_of(name, text), sort_keys=True))
    found = experiments.findings_of(name, text, facts, shares)
    return report.whole([], [report.Chapter(name, text)], {}, "", "", found=[found])


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
@pytest.mark.parametrize("name", [n for n in experiments.names() if experiments.has_findings(n)])
def test_findings_show_names_as_typed(name, payload):
    shown = Shown(found(name, payload))
    assert shown.shape == Shown(found(name)).shape
    assert any(words(payload) in words(cell) for cell in shown.cells) or name == "leave_two_out"
    assert words(payload) in words(shown.text)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_page_says_whether_its_data_is_simulated(name):
    facts = facts_of(name)
    assert "All data is simulated" in page(name, facts)["index.html"].decode()
    real = page(name, facts | {"provenance": "real"})["index.html"].decode()
    assert "simulated:" not in Shown(real).text
    assert "(real data), seed 0" in real


@pytest.mark.parametrize("name", ["anomaly", "rank"])
def test_tables_are_files_too(name):
    facts = facts_of(name, "=1+1")
    files = page(name, facts)
    rows = json.loads(files["table.json"])
    table = list(csv.reader(io.StringIO(files["table.csv"].decode())))
    assert len(rows) == len(table) - 1 == 1
    assert "=1+1" in rows[0].values()
    assert "'=1+1" in table[1]
    assert not any(cell.startswith("=") for line in table for cell in line)


def test_an_empty_table_says_so():
    facts = facts_of("anomaly") | {"rows": [], "columns": []}
    assert "No rows." in page("anomaly", facts)["index.html"].decode()


def test_components_have_a_picture_and_a_file(brain):
    assert sorted(brain) == ["component1.nii.gz", "component2.nii.gz", "index.html"]
    assert gzip.decompress(brain["component1.nii.gz"])
    text = brain["index.html"].decode()
    assert text.count('src="data:image/png;base64,') == 2
    files = {name: content for name, content in brain.items() if name != "index.html"}
    assert report.inline(text, files).count('href="data:application/') == 2
    assert "http" not in text
    assert "no registration to any atlas" in text


def test_without_images_there_is_the_page_alone():
    assert sorted(page("clusters", facts_of("clusters"))) == ["index.html"]


def test_of_many_loadings_the_strongest_are_listed():
    facts = facts_of("clusters")
    loadings = {f"subject {n}": float(n - 20) for n in range(60)}
    facts["components"][0]["loadings"] = loadings
    shown = Shown(page("clusters", facts)["index.html"].decode())
    assert "strongest 30 of 60" in shown.text
    assert "subject 59" in shown.cells
    assert "subject 20" not in shown.cells
