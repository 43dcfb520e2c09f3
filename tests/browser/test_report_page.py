"""The report of a whole tiny run, opened from its file: no network requests, no errors."""

import pytest

from scoup import experiments, report
from scoup.records import Provenance
from tests.payloads import PAYLOADS, words
from tests.test_report import CLAIM

pytestmark = pytest.mark.browser
TEXT = "return document.body.innerText"
ROWS = "[...document.querySelector('table.sortable').tBodies[0].rows]"
COLUMN = f"return {ROWS}.map(row => row.cells[arguments[0]].innerText)"
# Only the cells that hold a number: words are sorted after them.
VALUES = (
    f"return {ROWS}.map(row => row.cells[arguments[0]].dataset.value)"
    ".filter(value => value !== undefined).map(Number)"
)
VISIBLE = f"return {ROWS}.filter(row => !row.hidden).length"
HEADS = "return [...document.querySelector('table.sortable').tHead.rows[0].cells]"
LINKS = "return [...document.querySelectorAll('nav a')]"
DETAILS = "return [...document.querySelectorAll(`[id='${arguments[0]}'] details`)]"
# A chapter, and what to click on in it: a framed page.
FRAMED = [("accuracy", "every number", "median"), ("provenance", "every raw file", "bytes")]
# Markup that none of our templates writes.
INJECTED = "base, meta[http-equiv], h1 h1, td h1, [onload], [onerror], [onfocus], [onmouseover]"
BACKSPACE = "\ue003"  # as WebDriver writes it
PIXEL = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'


@pytest.fixture
def opened(browser, finished):
    """The report in a browser; afterwards, no network request and no error."""
    browser.open((finished / "results" / "report.html").as_uri())
    yield browser
    assert browser.errors() == []
    assert browser.requests() == []


def click(browser, script, *arguments):
    """Click on the element that a script returns."""
    element = browser.run(script, *arguments)
    browser.run("arguments[0].scrollIntoView({block: 'center'})", element)
    element.click()


def unfold(browser, chapter, title):
    """Open the details of a chapter that have this title; return their frame."""
    click(
        browser,
        f"{DETAILS}.find(item => item.innerText === arguments[1]).querySelector('summary')",
        chapter,
        title,
    )
    opened = f"{DETAILS}.find(item => item.open)"
    return browser.until(f"{opened}.querySelector('iframe')", chapter)


def head(browser, name):
    """Return the position of a column in the first table."""
    names = browser.run(f"{HEADS}.map(cell => cell.innerText.trim())")
    return names.index(name)


def sort(browser, position):
    """Click on the head of a column in the first table."""
    click(browser, f"{HEADS}[arguments[0]].querySelector('button')", position)


def check_sorting(browser, column):
    """Sort the first table by a column of numbers both ways, then by its first column."""
    position = head(browser, column)
    assert browser.run(VALUES, position)
    sort(browser, position)
    assert browser.run(VALUES, position) == sorted(browser.run(VALUES, position))
    sort(browser, position)
    assert browser.run(VALUES, position) == sorted(browser.run(VALUES, position), reverse=True)
    sort(browser, 0)
    assert browser.run(COLUMN, 0) == sorted(browser.run(COLUMN, 0))


def check_filter(browser):
    """Filter by the first cell, which leaves its row, and by words that no row has."""
    count = browser.run(VISIBLE)
    box = browser.run("return document.querySelector('input.filter')")
    cell, words_of_no_row = browser.run(COLUMN, 0)[0], " and words that no row has"
    box.send_keys(cell)
    assert 0 < browser.run(VISIBLE) <= count
    box.send_keys(words_of_no_row)
    assert browser.run(VISIBLE) == 0
    box.send_keys(BACKSPACE * len(cell + words_of_no_row))
    assert browser.run(VISIBLE) == count


def test_the_report_begins_with_the_banner_and_the_scorecard(opened, tmp_path):
    text = opened.run("return document.querySelector('main').innerText")
    order = ["All data is simulated", "claims on this data", "Provenance", "Methods"]
    positions = [text.index(part) for part in order]
    assert positions == sorted(positions)
    top = opened.run("return document.querySelector('.banner').getBoundingClientRect().top")
    assert 0 <= top < 200
    opened.picture(tmp_path / "front.png")


def test_the_scorecard_sorts_by_a_click(opened, tmp_path):
    check_sorting(opened, "here (median)")
    assert opened.run(f"{HEADS}[0].getAttribute('aria-sort')") == "ascending"
    opened.picture(tmp_path / "scorecard.png")


def test_links_lead_to_one_chapter_per_experiment(opened):
    names = [name.replace("_", " ") for name in experiments.names()]
    titles = opened.run(f"{LINKS}.map(link => link.innerText)")
    assert titles[0] == "scorecard"
    assert titles[-3:] == ["files", "provenance", "methods"]
    assert sorted(titles[1:-3]) == sorted(names)
    for position, title in enumerate(titles):
        click(opened, f"{LINKS}[arguments[0]]", position)
        chapter = "document.querySelector(location.hash)"
        assert opened.run(f"return {chapter}.querySelector('h1').innerText").lower() == title
        visible = "box.top > -5 && box.top < innerHeight"
        opened.until(f"const box = {chapter}.getBoundingClientRect(); return {visible}")


def test_every_figure_loads_and_has_a_caption(opened):
    opened.until("return [...document.images].every(image => image.complete)")
    widths = opened.run("return [...document.images].map(image => image.naturalWidth)")
    captions = opened.run(
        "return [...document.querySelectorAll('figure')]"
        ".map(figure => figure.querySelector('figcaption').innerText)"
    )
    assert len(captions) == len(widths) >= len(experiments.names())
    assert min(widths) > 0
    assert min(map(len, captions)) > 40


@pytest.mark.parametrize(("chapter", "title", "column"), FRAMED)
def test_a_framed_table_sorts_and_filters(opened, tmp_path, chapter, title, column):
    assert not opened.run(f"{DETAILS}.some(item => item.open)", chapter)
    with opened.frame(unfold(opened, chapter, title)):
        opened.until("return document.querySelector('table.sortable') !== null")
        check_sorting(opened, column)
        check_filter(opened)
        assert "All data is simulated" in opened.run(TEXT)
    opened.picture(tmp_path / f"{chapter}.png")


@pytest.mark.parametrize("chapter", [*filter(experiments.has_page, experiments.names())])
def test_the_page_of_an_experiment_opens_in_its_chapter(opened, tmp_path, chapter):
    titles = opened.run(f"{DETAILS}.map(item => item.innerText)", chapter)
    assert len(titles) >= 2
    with opened.frame(unfold(opened, chapter, titles[0])):
        opened.until("return document.querySelector('table.sortable') !== null")
        rows = opened.run(COLUMN, 0)
        for _ in range(2):
            sort(opened, 0)
        assert sorted(opened.run(COLUMN, 0)) == sorted(rows)
        check_filter(opened)
        assert opened.run("return [...document.images].every(image => image.naturalWidth > 0)")
        assert opened.run(
            "return [...document.querySelectorAll('a[download]')]"
            ".every(link => link.href.startsWith('data:'))"
        )
        assert "simulated" in opened.run(TEXT)
    opened.picture(tmp_path / f"{chapter}.png")


@pytest.fixture
def attacked(browser, tmp_path, monkeypatch):
    """The report whose every text is a payload, in a browser."""
    monkeypatch.chdir(tmp_path)
    labels = report.Table(["label"], [[payload] for payload in PAYLOADS])
    page = report.page("Labels", [report.Section(points=PAYLOADS, tables=[labels])], ["real"])
    chapters = [
        report.Chapter(payload, payload, [report.Figure(payload, PIXEL)]) for payload in PAYLOADS
    ]
    framed = report.Chapter("labels", "", (), [report.Document("every label", page)])
    path = tmp_path / "report.html"
    path.write_text(
        report.whole(
            [CLAIM | {"claim": payload, "paper": payload} for payload in PAYLOADS],
            [*chapters, framed],
            {payload: Provenance(payload, "cache", payload, size="full") for payload in PAYLOADS},
            " ".join(PAYLOADS),
            " ".join(PAYLOADS),
            list(map(report.harmless, PAYLOADS)),
        )
    )
    browser.open(path.as_uri())
    yield browser
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]
    assert browser.errors() == []
    assert browser.requests() == []


def check_typed(browser, selector, texts=PAYLOADS):
    """Check that elements show these texts as typed, each in its own element."""
    shown = browser.run(
        "return [...document.querySelectorAll(arguments[0])].map(node => node.innerText)", selector
    )
    assert [words(text) for text in shown] == [words(text) for text in texts]


def test_payloads_are_shown_as_typed_and_nothing_runs(attacked):
    titles = [payload.replace("_", " ") for payload in PAYLOADS]
    chapters = "section:not(#scorecard, #labels, #provenance, #methods)"
    check_typed(attacked, "#scorecard td:nth-child(2)")
    check_typed(attacked, "#scorecard li")
    check_typed(attacked, "nav a", ["scorecard", *titles, "labels", "provenance", "methods"])
    check_typed(attacked, f"{chapters} h1", titles)
    check_typed(attacked, f"{chapters} > p")
    check_typed(attacked, "figcaption")
    check_typed(attacked, "#provenance li b")
    check_typed(attacked, "#methods p", [" ".join(PAYLOADS)])
    attacked.run(f"{LINKS}.forEach(link => link.click())")
    with attacked.frame(unfold(attacked, "labels", "every label")):
        attacked.until("return document.querySelector('table.sortable') !== null")
        check_typed(attacked, "li")
        check_typed(attacked, "td")
        assert attacked.run("return document.title") == "Labels"
        assert attacked.run("return document.querySelectorAll(arguments[0]).length", INJECTED) == 0
    assert attacked.run("return document.title") == "scoup report"
    assert attacked.run("return document.querySelectorAll(arguments[0]).length", INJECTED) == 0
