"""The report of a whole tiny run, opened from its file: nothing asked of a network, nothing printed as an error."""

import pytest

from tests.workflow.conftest import ROOT, snakemake, succeeded

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("workflow")]
SEEN = "return document.body.innerText"
ROWS = "[...document.querySelector('table.sortable').tBodies[0].rows]"
COLUMN = f"return {ROWS}.map(row => row.cells[arguments[0]].innerText)"
SHOWN = f"return {ROWS}.filter(row => !row.hidden).length"
PICTURES = "return [...document.images].every(one => one.complete && one.naturalWidth > 0) && document.images.length"


@pytest.fixture(scope="module")
def report(browser, finished, tmp_path_factory):
    """The address of the report."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    style = str(ROOT / "workflow" / "report" / "style.css")
    succeeded(snakemake(finished, "--report", str(path), "--report-stylesheet", style))
    return path.as_uri()


@pytest.fixture
def opened(browser, report):
    """The report, opened; at the end nothing may have been asked of a network or printed as an error."""
    browser.open(report)
    browser.until(
        "return typeof app !== 'undefined' && document.querySelector('.prose h1, .prose h2') !== null"
    )
    yield browser
    assert browser.errors() == []
    assert browser.requests() == []


def show(browser, path):
    """Show one result in the report, as a click on its eye does."""
    browser.run(
        "const entry = results[arguments[0]];"
        "app.setView({content: arguments[1], contentPath: entry.data_uri, resultPath: arguments[0]})",
        path,
        "html" if path.endswith("html") else "img",
    )


def test_the_front_page_begins_with_the_banner_and_the_scorecard(opened, tmp_path):
    words = opened.run(SEEN)
    assert (
        words.index("All data is simulated")
        < words.index("claims that give a number")
        < words.index("Methods")
    )
    top = opened.run("return document.querySelector('.banner').getBoundingClientRect().top")
    assert 0 <= top < 200
    opened.picture(tmp_path / "front.png")


def test_chapters_come_in_order_the_scorecard_first(opened):
    words = opened.run(SEEN)
    chapters = ["0 scorecard", "1 accuracy", "2 speedup", "9 provenance"]
    assert [words.index(chapter) for chapter in chapters] == sorted(
        words.index(chapter) for chapter in chapters
    )


def test_every_figure_loads(opened, tmp_path):
    figures = opened.run("return Object.keys(results).filter(path => path.endsWith('.svg'))")
    assert len(figures) >= 4
    for path in figures:
        show(opened, path)
        opened.until(PICTURES)
        assert opened.run("return results[arguments[0]].caption.length > 60", path)
        opened.picture(tmp_path / f"{path.split('/')[-1]}.png")


@pytest.mark.parametrize(
    ("name", "head"),
    [("scorecard", "here (median)"), ("accuracy", "median"), ("provenance", "bytes")],
)
def test_a_table_sorts_both_ways_and_filters(opened, tmp_path, name, head):
    show(opened, f"results/report/{name}.html")
    with opened.frame():
        opened.until("return document.querySelector('table.sortable') !== null")
        heads = opened.run(
            "return [...document.querySelectorAll('th')].map(one => one.innerText.trim())"
        )
        number = heads.index(head)
        click = "document.querySelectorAll('table.sortable th button')[arguments[0]].click()"
        values = f"return {ROWS}.map(row => +row.cells[arguments[0]].dataset.value)"
        opened.run(click, number)
        assert opened.run(values, number) == sorted(opened.run(values, number))
        opened.run(click, number)
        assert opened.run(values, number) == sorted(opened.run(values, number), reverse=True)
        opened.run(click, 0)
        assert opened.run(COLUMN, 0) == sorted(opened.run(COLUMN, 0))
        every = opened.run(SHOWN)
        word = "const box = document.querySelector('input.filter'); box.value = 'no row says this';"
        opened.run(word + "box.dispatchEvent(new Event('input'))")
        assert (every > 0, opened.run(SHOWN)) == (True, 0)
        assert "simulated" in opened.run(SEEN)
    opened.picture(tmp_path / f"{name}.png")


def test_components_and_anomalies_can_be_looked_through(opened, tmp_path):
    pages = opened.run(
        "return Object.keys(results).filter(path => /(clusters|anomaly)_/.test(path) && path.endsWith('html'))"
    )
    assert len(pages) == 2
    for path in pages:
        show(opened, path)
        with opened.frame():
            opened.until("return document.querySelector('table.sortable') !== null")
            before = opened.run(COLUMN, 2)
            opened.run("document.querySelectorAll('table.sortable th')[2].click()")
            opened.run("document.querySelectorAll('table.sortable th')[2].click()")
            after = opened.run(COLUMN, 2)
            assert after != before or len(set(before)) == 1
            assert sorted(before) == sorted(after)
            assert opened.run("return [...document.images].every(one => one.naturalWidth > 0)")
            assert "simulated" in opened.run(SEEN)
        opened.picture(tmp_path / f"{path.split('/')[-1]}.png")
