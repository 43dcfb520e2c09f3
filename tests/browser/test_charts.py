"""The prepared view of every experiment of a whole tiny run draws three charts by itself."""

import shutil

import pytest

from scoup import experiments
from scoup.track import ui
from scoup.track.local import DATABASE
from tests import served
from tests.browser.mlflow import open_page, wait_for_charts

pytestmark = pytest.mark.browser
MIN_CHARTS = 3


@pytest.fixture(scope="module")
def served_run(finished, tmp_path_factory):
    """A server on the store of the tiny run: its port, and the experiments' numbers by name."""
    folder = tmp_path_factory.mktemp("served")
    shutil.copy(finished / "results" / DATABASE, folder)
    numbers = {name.rpartition("/")[2]: number for number, name in ui.experiments(folder)}
    with served.serving(folder) as port:
        yield port, numbers


@pytest.mark.parametrize("name", ["scorecard", *experiments.names(), "fit", "merge"])
def test_the_chart_tab_draws_by_itself_and_no_section_is_empty(browser, served_run, name, tmp_path):
    port, numbers = served_run
    open_page(browser, port, numbers[name], charts=True)
    assert wait_for_charts(browser, MIN_CHARTS) >= MIN_CHARTS
    assert not browser.run("return document.body.innerText.includes('No charts in this section')")
    browser.picture(tmp_path / f"{name}.png")
