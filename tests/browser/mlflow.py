"""MLflow in a browser; ``python -m tests.browser.mlflow results`` takes pictures for docs."""

import sys
from pathlib import Path

from scoup.track import ui
from scoup.track.views import VIEW_KEY, address
from tests import served

CARD = "[data-testid=experiment-view-compare-runs-card]:not([data-left])"
# Go to another page of MLflow without loading it again; cards that are still there do not count.
TURN = """
document.querySelectorAll(arguments[0]).forEach(card => { card.dataset.left = true })
location.hash = arguments[1]
"""
# MLflow opens its assistant, which covers a third of the page, at the first visit.
NO_ASSISTANT = "localStorage.setItem('mlflow.assistant.fab.autoOpenedOnFirstLoad_v1', 'true')"
# The buttons that Plotly shows under the pointer cover the charts of a headless browser.
HIDE_BUTTONS = """
document.head.appendChild(document.createElement('style')).textContent =
    '.modebar { display: none !important }'
"""
DRAWN = """
return [...document.querySelectorAll(arguments[0])].filter(card =>
    card.querySelector('.js-plotly-plot .trace, .js-plotly-plot .point')).length
"""


def open_page(browser, port, experiment_id, *, charts=False, bare=False):
    """Open the table or the charts of an experiment: as prepared, or ``bare``, as by a click."""
    browser.open(f"http://{ui.HOST}:{port}/health")
    browser.run(NO_ASSISTANT)
    page = address(str(experiment_id), charts=charts)
    page = page.replace(f"&viewStateShareKey={VIEW_KEY}", "") if bare else page
    browser.open(f"http://{ui.HOST}:{port}/{page}")


def turn_to_charts(browser, experiment_id, name):
    """Go from a page of MLflow to the charts of an experiment, as by a click on a link."""
    browser.run(TURN, CARD, address(str(experiment_id), charts=True))
    wait_for(browser, name)


def wait_for(browser, words):
    """Wait until the page shows these words."""
    return browser.until("return document.body.innerText.includes(arguments[0])", words)


def wait_for_charts(browser, count):
    """Wait until so many charts show data, and return how many do."""
    return browser.until(
        f"const n = (() => {{{DRAWN}}})(...arguments); return n >= {count} && n", CARD
    )


def take_picture(browser, port, experiment_id, path):
    """Save the charts of an experiment as a small picture; they stay open."""
    browser.driver.set_window_size(1280, 900)
    open_page(browser, port, experiment_id, charts=True)
    wait_for_charts(browser, 3)
    browser.run(HIDE_BUTTONS)
    browser.picture(path)


def main(folder):
    """Take the pictures of the pages from the store of a results folder."""
    from tests.browser.conftest import started

    ids = {name.rpartition("/")[2]: number for number, name in ui.experiments(Path(folder))}
    with started("/tmp/scoup-chromium") as browser, served.serving(Path(folder)) as port:
        for name in ("accuracy", "speedup"):
            take_picture(browser, port, ids[name], f"docs/pictures/mlflow_{name}.png")


if __name__ == "__main__":
    main(sys.argv[1])
