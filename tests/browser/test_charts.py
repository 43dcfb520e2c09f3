"""The prepared view of every experiment of a whole tiny run draws three charts by itself."""

import shutil

import pytest

from scoup import experiments
from scoup.track import ui
from scoup.track.local import DATABASE
from tests import served
from tests.browser.mlflow import open_page, turn_to_charts, wait_for_charts

pytestmark = pytest.mark.browser
MIN_CHARTS = 3


@pytest.fixture(scope="module")
def numbers(browser, finished, tmp_path_factory):
    """The experiments' numbers by name, in MLflow on the store of the tiny run, which is open."""
    folder = tmp_path_factory.mktemp("served")
    shutil.copy(finished / "results" / DATABASE, folder)
    numbers = {name.rpartition("/")[2]: number for number, name in ui.experiments(folder)}
    with served.serving(folder) as port:
        open_page(browser, port, numbers["scorecard"])
        yield numbers


@pytest.mark.parametrize("name", ["scorecard", *experiments.names(), "fit", "merge"])
def test_the_chart_tab_draws_by_itself_and_no_section_is_empty(browser, numbers, name, tmp_path):
    turn_to_charts(browser, numbers[name], f"scoup/{name}")
    assert wait_for_charts(browser, MIN_CHARTS) >= MIN_CHARTS
    assert not browser.run("return document.body.innerText.includes('No charts in this section')")
    browser.picture(tmp_path / f"{name}.png")
