"""MLflow in a browser, as `make ui` shows it: every run in the table, a filter that works, charts that draw."""

import json
import urllib.request
from pathlib import Path
from urllib.parse import quote

import pytest

from scoup.track import track, ui
from tests import served, tracked
from tests.tracked import sources

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
FILTER = quote('tags.experiment = "missing"')
CARDS = "return [...document.querySelectorAll('[data-testid=experiment-view-compare-runs-card]')].length"


@pytest.fixture(scope="module")
def port(browser, tmp_path_factory):
    """A server on the store of a folder that has been moved since it was built."""
    folder = tmp_path_factory.mktemp("built")
    tracked.make(folder, 3)
    tracked.write_run(folder, 0, experiment="missing")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        track(sources(), "results")
    moved = Path(folder, "results").rename(tmp_path_factory.mktemp("moved") / "results")
    with served.serving(moved) as port:
        yield port


def text(browser, words):
    """Wait until the page says these words."""
    return browser.until("return document.body.innerText.includes(arguments[0])", words)


def test_the_table_shows_every_run(browser, port, tmp_path):
    browser.open(ui.page(port))
    text(browser, "5 matching runs")
    assert browser.run(
        "return !document.body.innerText.includes('Prompts')"
    )  # that is the mode for language models
    for name in ("accuracy scoup seed2 brainq", "missing scoup seed0 brainq", "scorecard"):
        text(browser, name)
    browser.picture(tmp_path / "runs.png")
    assert not [
        address
        for address in browser.requests()
        if not address.startswith(f"http://{ui.HOST}:{port}/")
    ]


def test_a_filter_leaves_the_runs_of_one_experiment(browser, port):
    browser.open(f"{ui.page(port)}&searchFilter={FILTER}")
    text(browser, "1 matching run")
    assert not browser.run("return document.body.innerText.includes('accuracy scoup')")


def test_the_chart_tab_draws_lines_and_bars(browser, port, tmp_path):
    browser.open(f"{ui.page(port)}&compareRunsMode=CHART")
    assert browser.until(CARDS) >= 4
    browser.until("return document.querySelectorAll('.js-plotly-plot .scatterlayer .trace').length")
    text(browser, "loss/rep0")
    browser.picture(tmp_path / "charts.png")


def test_the_artifacts_of_a_run_are_served_from_where_the_folder_lies_now(browser, port, tmp_path):
    query = json.dumps(
        {"experiment_ids": ["1"], "filter": "tags.experiment = 'scorecard'"}
    ).encode()
    address = f"http://{ui.HOST}:{port}/api/2.0/mlflow/runs/search"
    asked = urllib.request.Request(address, query, {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked) as answer:
        [run] = json.load(answer)["runs"]
    browser.open(f"http://{ui.HOST}:{port}/#/experiments/1/runs/{run['info']['run_id']}/artifacts")
    for name in ("figures", "scorecard.json"):
        text(browser, name)
    browser.picture(tmp_path / "artifacts.png")
