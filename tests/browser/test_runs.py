"""MLflow in a browser, as `make ui` shows it: the table of runs, its filter, charts."""

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
CARD = "[data-testid=experiment-view-compare-runs-card]"


@pytest.fixture(scope="module")
def port(browser, tmp_path_factory):
    """A server on a store that was moved after it was built."""
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


def wait_for(browser, words):
    """Wait until the page shows these words."""
    return browser.until("return document.body.innerText.includes(arguments[0])", words)


def test_the_table_shows_every_run(browser, port, tmp_path):
    browser.open(ui.page(port))
    wait_for(browser, "5 matching runs")
    # Prompts belong to the pages for language models.
    assert browser.run("return !document.body.innerText.includes('Prompts')")
    for name in ("accuracy scoup seed2 brainq", "missing scoup seed0 brainq", "scorecard"):
        wait_for(browser, name)
    browser.picture(tmp_path / "runs.png")
    server = f"http://{ui.HOST}:{port}/"
    assert [address for address in browser.requests() if not address.startswith(server)] == []


def test_a_filter_leaves_the_runs_of_one_experiment(browser, port):
    browser.open(f"{ui.page(port)}&searchFilter={FILTER}")
    wait_for(browser, "1 matching run")
    assert not browser.run("return document.body.innerText.includes('accuracy scoup')")


def test_the_chart_tab_draws_lines_and_bars(browser, port, tmp_path):
    browser.open(f"{ui.page(port)}&compareRunsMode=CHART")
    assert browser.until("return document.querySelectorAll(arguments[0]).length", CARD) >= 4
    browser.until("return document.querySelectorAll('.js-plotly-plot .scatterlayer .trace').length")
    wait_for(browser, "loss/rep0")
    browser.picture(tmp_path / "charts.png")


def test_the_artifacts_of_a_run_are_served_from_the_moved_folder(browser, port, tmp_path):
    query = {"experiment_ids": ["1"], "filter": "tags.experiment = 'scorecard'"}
    address = f"http://{ui.HOST}:{port}/api/2.0/mlflow/runs/search"
    header = {"Content-Type": "application/json"}
    request = urllib.request.Request(address, json.dumps(query).encode(), header)
    with urllib.request.urlopen(request) as response:
        [run] = json.load(response)["runs"]
    browser.open(f"http://{ui.HOST}:{port}/#/experiments/1/runs/{run['info']['run_id']}/artifacts")
    for name in ("figures", "scorecard.json"):
        wait_for(browser, name)
    browser.picture(tmp_path / "artifacts.png")
