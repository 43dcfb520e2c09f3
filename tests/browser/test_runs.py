"""MLflow in a browser, as `make ui` shows it: few metrics, prepared tables, charts with data."""

import sqlite3
from dataclasses import replace

import pytest

from scoup.evidence.files import write_metrics
from scoup.track import track, ui
from tests import served, whole
from tests.browser.mlflow import CARD, open_page, take_picture, wait_for, wait_for_charts

pytestmark = pytest.mark.browser
MIN_CHARTS = 3
MAX_PICTURE_BYTES = 260_000  # of all contenders, for the pages
POINTS = """
const card = [...document.querySelectorAll(arguments[0])]
    .find(card => card.innerText.includes('seconds vs. relative_cost'));
return card ? card.querySelectorAll('.js-plotly-plot .scatterlayer .point').length : 0
"""

RUN_LINK = """
const link = document.querySelector('a[href*="/runs/"]');
return link && link.getAttribute('href').split('/runs/')[1]
"""
# What MLflow's page sends when a person saves a note or a tag.
SET_TAG = """
return fetch('ajax-api/2.0/mlflow/runs/set-tag', {method: 'POST',
    headers: {'Content-Type': 'application/json'}, body: JSON.stringify(arguments[0])})
    .then(answer => answer.status)
"""


@pytest.fixture(scope="module")
def served_store(browser, tmp_path_factory):
    """A server on the store of a whole run, which was moved after it was built."""
    folder = tmp_path_factory.mktemp("built") / "results"
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        sources = whole.make(folder)
        track(sources, folder)
    moved = folder.rename(tmp_path_factory.mktemp("moved") / "results")
    folder.symlink_to(moved)  # a later track finds the results where they were
    with served.serving(moved) as port:
        yield moved, port, sources


@pytest.fixture(scope="module")
def port(served_store):
    return served_store[1]


@pytest.fixture(scope="module")
def ids(served_store):
    return {name.rpartition("/")[2]: number for number, name in ui.experiments(served_store[0])}


@pytest.mark.parametrize("name", ["scorecard", "speedup"])
def test_no_section_of_the_bare_chart_tab_is_empty(browser, port, ids, name, tmp_path):
    open_page(browser, port, ids[name], charts=True, bare=True)
    wait_for_charts(browser, MIN_CHARTS)
    wait_for(browser, "System metrics")
    assert not browser.run("return document.body.innerText.includes('No charts in this section')")
    browser.picture(tmp_path / f"{name}.png")


def test_the_prepared_table_has_the_columns_that_matter_and_is_sorted(browser, port, ids, tmp_path):
    open_page(browser, port, ids["leave_two_out"])
    wait_for(browser, "20 matching runs")  # the chosen model, two decisions, ten subjects
    for column in ("accuracy", "accuracy_low", "chance_high", "subject", "decision"):
        wait_for(browser, column)
    wait_for(browser, "Sort: accuracy")
    wait_for(browser, "Which of two unseen images")  # what was asked
    assert browser.run("return !document.body.innerText.includes('Prompts')")
    browser.picture(tmp_path / "table.png")
    server = f"http://{ui.HOST}:{port}/"
    assert [address for address in browser.requests() if not address.startswith(server)] == []


def test_the_prepared_scatter_shows_every_contender(browser, port, ids, tmp_path):
    take_picture(browser, port, ids["speedup"], tmp_path / "speedup.png")
    contenders = 2 * (len(whole.FULL) + len(whole.SAMPLED))  # two seeds
    wait_for(browser, f"{contenders} matching runs")
    browser.until(f"const n = (() => {{{POINTS}}})(...arguments); return n == {contenders}", CARD)
    assert 0 < (tmp_path / "speedup.png").stat().st_size < MAX_PICTURE_BYTES


def test_repetitions_are_averaged_per_merge(browser, port, ids, tmp_path):
    take_picture(browser, port, ids["accuracy"], tmp_path / "accuracy.png")
    wait_for(browser, "joint (relative_cost)")
    wait_for(browser, "paper (relative_cost)")
    assert 0 < (tmp_path / "accuracy.png").stat().st_size < MAX_PICTURE_BYTES


def test_a_note_and_a_tag_added_in_the_browser_survive_a_rebuild(browser, served_store, ids):
    folder, port, sources = served_store
    open_page(browser, port, ids["speedup"])
    wait_for(browser, "matching runs")
    run_id = browser.until(RUN_LINK)
    for key, value in {"mlflow.note.content": "look at this one", "checked": "yes"}.items():
        browser.run(SET_TAG, {"run_id": run_id, "key": key, "value": value})
    wait_for_run(browser, port, ids["speedup"], run_id)
    for job in sources.jobs:  # all results of the experiment change, and with them the ids of runs
        if job.experiment == "speedup":
            metrics = whole.metrics_of("speedup", job.dataset, job.seed + 1)
            changed = [replace(metric, seed=job.seed) for metric in metrics]
            write_metrics(job.metrics, changed)
    track(sources, folder)
    with sqlite3.connect(f"file:{folder}/mlflow.db?mode=ro", uri=True) as base:
        query = "SELECT run_uuid FROM tags WHERE key = 'checked' AND value = 'yes'"
        [(new_id,)] = base.execute(query).fetchall()
    assert new_id != run_id
    wait_for_run(browser, port, ids["speedup"], new_id)


def wait_for_run(browser, port, experiment_id, run_id):
    """Wait until the page of a run shows the note and the tag."""
    browser.open(f"http://{ui.HOST}:{port}/#/experiments/{experiment_id}/runs/{run_id}")
    for words in ("look at this one", "checked"):
        wait_for(browser, words)
