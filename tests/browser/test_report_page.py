"""The report of a whole tiny run, opened from its file: no network is used, no error printed."""

import pytest

from scoup import report as pages
from tests.payloads import PAYLOADS, words
from tests.workflow.conftest import ROOT, snakemake, succeeded

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("workflow")]
CHAPTERS = ["scorecard", "accuracy", "speedup", "provenance"]
SEEN = "return document.body.innerText"
ROWS = "[...document.querySelector('table.sortable').tBodies[0].rows]"
COLUMN = f"return {ROWS}.map(row => row.cells[arguments[0]].innerText)"
SHOWN = f"return {ROWS}.filter(row => !row.hidden).length"
PICTURES = (
    "return [...document.images].every(image => image.complete && image.naturalWidth > 0)"
    " && document.images.length"
)


@pytest.fixture(scope="module")
def report(browser, finished, tmp_path_factory):
    """The address of the report."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    style = str(ROOT / "scoup/report/templates/style.css")
    succeeded(snakemake(finished, "--report", str(path), "--report-stylesheet", style))
    return path.as_uri()


@pytest.fixture
def opened(browser, report):
    """The report, opened; at the end no network may have been used and no error printed."""
    browser.open(report)
    browser.until(
        "return typeof app !== 'undefined' && document.querySelector('.prose h2') !== null"
    )
    yield browser
    assert browser.errors() == []
    assert browser.requests() == []


def show(browser, path):
    """Show one result in the report, as a click on its eye does."""
    browser.run(
        "const [path, content] = arguments;"
        "app.setView({content, contentPath: results[path].data_uri, resultPath: path})",
        path,
        "html" if path.endswith("html") else "img",
    )


def test_the_front_page_begins_with_the_banner_and_the_scorecard(opened, tmp_path):
    text = opened.run(SEEN)
    order = ["All data is simulated", "claims that give a number", "Provenance", "Methods"]
    assert [text.index(part) for part in order] == sorted(text.index(part) for part in order)
    top = opened.run("return document.querySelector('.banner').getBoundingClientRect().top")
    assert 0 <= top < 200
    opened.picture(tmp_path / "front.png")


def test_chapters_come_in_order_the_scorecard_first(opened):
    text = opened.run(SEEN)
    positions = [text.index(f" {chapter}\n") for chapter in CHAPTERS]
    assert positions == sorted(positions)


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
            "return [...document.querySelectorAll('th')].map(head => head.innerText.trim())"
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
        "return Object.keys(results).filter(path => /(clusters|anomaly)_.*html$/.test(path))"
    )
    assert len(pages) == 2
    for path in pages:
        show(opened, path)
        with opened.frame():
            opened.until("return document.querySelector('table.sortable') !== null")
            before = opened.run(COLUMN, 2)
            opened.run("document.querySelectorAll('table.sortable th button')[2].click()")
            opened.run("document.querySelectorAll('table.sortable th button')[2].click()")
            after = opened.run(COLUMN, 2)
            assert after != before or len(set(before)) == 1
            assert sorted(before) == sorted(after)
            assert opened.run("return [...document.images].every(image => image.naturalWidth > 0)")
            assert "simulated" in opened.run(SEEN)
        opened.picture(tmp_path / f"{path.split('/')[-1]}.png")


@pytest.fixture
def attacked(tmp_path):
    """The report of a workflow whose every text is an attack, and its folder."""
    page = pages.page("Labels", [pages.Section(points=PAYLOADS)], ["real"])
    (tmp_path / "labels.html").write_text(page)
    params = list(map(pages.harmless, PAYLOADS))
    (tmp_path / "front.rst").write_text(pages.front("Methods.", [], {}, "x", params))
    (tmp_path / "Snakefile").write_text(
        "report: 'front.rst'\n"
        "rule labels:\n"
        "    output: report('results/labels.html', category='0 labels')\n"
        f"    params: left_out={params!r}\n"
        "    shell: 'cp labels.html {output}'\n"
    )
    succeeded(snakemake(tmp_path, root=tmp_path))
    succeeded(snakemake(tmp_path, "--report", str(tmp_path / "report.html"), root=tmp_path))
    return tmp_path


def test_attacks_are_shown_as_typed_in_the_report(browser, attacked):
    browser.open((attacked / "report.html").as_uri())
    browser.until("return typeof app !== 'undefined' && document.querySelector('.prose h2')")
    seen = words(browser.run(SEEN))
    assert [payload for payload in PAYLOADS if words(payload) not in seen] == []
    show(browser, "results/labels.html")
    with browser.frame():
        browser.until("return document.querySelector('li') !== null")
        seen = words(browser.run(SEEN))
        assert [payload for payload in PAYLOADS if words(payload) not in seen] == []
    assert browser.run("return document.title") == "Snakemake Report"
    assert not (attacked / "PWNED").exists()
    assert browser.errors() == []
    assert browser.requests() == []
