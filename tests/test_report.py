"""Pages of the report: whole in one file, honest about the data, safe whatever a label says."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoup import report
from scoup.records import Provenance, SourceFile
from tests import tracked

CLAIM = {
    "experiment": "accuracy", "claim": "it falls", "paper": "1", "unit": "share", "ours": 0.25, "low": 0.2,
    "high": 0.3, "runs": 4, "provenance": "simulated", "holds": False,
}  # fmt: skip
ORIGIN = Provenance(
    "brainq", "simulate", "no host could be reached", (tracked.RAW,), size="tiny", seed=0
)


class Cells(HTMLParser):
    """Reads the cells of all tables of a page."""

    def __init__(self, html):
        super().__init__()
        self.cells, self.inside = [], False
        self.feed(html)

    def handle_starttag(self, tag, _):
        if tag == "td":
            self.inside = True
            self.cells.append("")

    def handle_endtag(self, tag):
        self.inside = self.inside and tag != "td"

    def handle_data(self, data):
        if self.inside:
            self.cells[-1] += data


def test_simulated_data_is_called_so_on_top():
    assert "All data is simulated" in report.page("t", "", ["simulated"])
    assert "Some of the data is simulated" in report.page("t", "", ["simulated", "real"])
    assert "simulated:" not in report.page("t", "", ["real"]).split("<h1>")[0].split("</style>")[1]


@pytest.mark.parametrize(
    "page",
    [
        report.scorecard([CLAIM]),
        report.numbers("accuracy", tracked.metrics_of(0)),
        report.provenance({"brainq": ORIGIN}),
    ],
    ids=["scorecard", "numbers", "provenance"],
)
def test_a_page_asks_nothing_of_the_network(page):
    assert not re.search(r'(src|href)="(?!data:)', page)
    assert "@import" not in page
    assert "url(" not in page
    assert "banner simulated" in page


def test_a_claim_that_does_not_hold_says_so():
    assert '<td class="no">no</td>' in report.scorecard([CLAIM])
    assert '<td class="yes">yes</td>' in report.scorecard([CLAIM | {"holds": True}])


def test_every_number_is_a_median_over_all_seeds():
    metrics = [
        metric for seed in range(3) for metric in tracked.metrics_of(seed, value=float(seed))
    ]
    cells = Cells(report.numbers("accuracy", metrics)).cells
    row = cells[: cells.index("cost over that of full ALS") + 1]
    assert row[:7] == ["relative_cost", "brainq", "whole", "scoup", "1", "joint", "none"]
    assert row[7:11] == ["2", "1.5", "2.5", "3"]


def test_other_experiments_stay_on_their_own_pages():
    metrics = tracked.metrics_of(0) + tracked.metrics_of(0, experiment="missing", mark="real")
    assert "Real data." in report.numbers("missing", metrics)


@given(st.text(max_size=30))
def test_a_label_never_becomes_markup(text):
    cells = Cells(report.table(["name"], [[text]])).cells
    assert [re.sub(r"[\r\n\x00]+", "", cell) for cell in cells] == [
        re.sub(r"[\r\n\x00]+", "", text)
    ]


def test_the_front_page_has_banner_scorecard_methods_and_provenance():
    from docutils.core import publish_parts

    text = report.front(
        "A tensor and ``matrices``.",
        [CLAIM, CLAIM | {"holds": None}],
        {"brainq": ORIGIN},
        "scoup 1",
    )
    html = publish_parts(text, writer="html", settings_overrides={"halt_level": 2})["html_body"]
    places = [
        html.index(word)
        for word in ("All data is simulated", "it falls", "A tensor", "no host could be reached")
    ]
    assert places == sorted(places)
    assert "0 of 1 claims" in html
    assert "scoup 1" in html


def test_files_of_a_page_move_into_it():
    given = """<img src="a.png"><a href='t.csv'>t</a><a href="https://x.org">x</a>"""
    html = report.inline(given, {"a.png": b"x", "t.csv": b"1"})
    assert 'src="data:image/png;base64,eA=="' in html
    assert "href='data:text/csv;base64,MQ==' download='t.csv'" in html
    assert 'href="https://x.org"' in html


def test_files_of_a_users_own_are_named():
    files = [SourceFile(name, "", "0" * 64, 1) for name in ("posts.csv", "links.csv")]
    mine = Provenance("files", "local", "named in the configuration", files, "full")
    page = report.front("", [], {"walls": mine}, "x")
    assert "files of your own, named in the configuration: posts.csv, links.csv" in page
