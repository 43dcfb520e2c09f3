"""Pages of the report: whole in one file, honest about the data, safe whatever a text says."""

import html
import json
import re
from dataclasses import replace
from types import SimpleNamespace

import jinja2
import pytest
from docutils.core import publish_parts
from hypothesis import given
from hypothesis import strategies as st

from scoup import experiments, report
from scoup.records import Provenance, SourceFile
from scoup.report.gather import links_of
from tests import tracked
from tests.payloads import PAYLOADS, Shown, words
from tests.workflow.conftest import ROOT

CLAIM = {
    "experiment": "accuracy", "claim": "it falls", "paper": "1", "unit": "share", "ours": 0.25,
    "low": 0.2, "high": 0.3, "runs": 4, "provenance": "simulated",
    "setting": "joint merge", "bar": 1.0, "higher": True, "controls": {"zero": 0.1}, "note": "",
    "verdict": "does not hold",
}  # fmt: skip
ORIGIN = Provenance(
    "brainq", "simulate", "no host could be reached", (tracked.RAW,), size="tiny", seed=0
)


def claims(text):
    return [
        CLAIM | dict.fromkeys(("experiment", "claim", "setting", "paper", "unit", "note"), text)
    ]


def origins(text):
    source = SourceFile(text, text, text, 1)
    files = Provenance("files", "local", text, (source,), licence=text)
    return {text: files, f"{text} 2": Provenance(text, "cache", text, size=text)}


def numbers(text):
    fields = dict.fromkeys(("name", "unit", "text", "dataset", "variant", "plan"), text)
    metric = replace(tracked.metrics_of(0)[0], experiment="e", at={text: text}, **fields)
    return report.numbers("e", [metric])


def experiment(text):
    metric = replace(tracked.metrics_of(0)[0], experiment=text)
    return report.numbers(text, [metric])


def whole(text):
    """The report with ``text`` wherever something from outside may stand."""
    framed = report.page("plain", [], [])
    chapter = report.Chapter(text, text, [report.Figure(text, b"<svg/>")])
    documents = [report.Document(text, framed)]
    return report.whole(
        claims(text),
        [replace(chapter, documents=documents)],
        origins(text),
        "Our methods.",
        text,
        [report.harmless(text)],
    )


def as_snakemake(text):
    """Render a text as Snakemake does: as Jinja2, and as reStructuredText."""
    snakemake = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    ready = snakemake.from_string(text).render(categories={}, files=[])
    settings = {"halt_level": 2, "report_level": 2}
    return publish_parts(ready, writer="html", settings_overrides=settings)["html_body"]


PAGES = {
    "origins": lambda text: report.provenance(origins(text)),
    "numbers": numbers,
    "experiment": experiment,
    "report": whole,
}


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
@pytest.mark.parametrize("name", PAGES)
def test_text_from_outside_is_shown_as_typed(name, payload, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = Shown(PAGES[name](payload))
    assert page.shape == Shown(PAGES[name]("plain words")).shape
    typed = payload.replace("_", " ") if name == "experiment" else payload
    assert words(typed) in words(page.text)
    assert not list(tmp_path.iterdir())


@given(st.text(max_size=30))
def test_a_cell_never_becomes_markup(text):
    page = report.page("t", [report.Section(tables=[report.Table(["name"], [[text]])])], [])
    assert [words(cell) for cell in Shown(page).cells] == [words(text)]


def test_bytes_that_are_no_text_are_shown_and_can_be_written():
    name = b"caf\xe9.csv".decode(errors="surrogateescape")
    assert r"caf\udce9.csv" in Shown(PAGES["origins"](name)).cells
    assert whole(name).encode()
    assert all(report.downloads([{name: name}]).values())


@given(st.text() | st.sampled_from(PAYLOADS))
def test_harmless_text_is_inert_in_scripts_and_formats_and_comes_back(text):
    inert = report.harmless(text)
    assert not set("<>{}\"'") & set(inert)
    assert html.unescape(inert) == text
    assert inert.format() == inert
    page = f"<script>var results = {json.dumps(inert)};</script>"
    assert Shown(page).shape == [("script", ()), "script"]


@pytest.mark.parametrize("marks", [["simulated"], ["simulated", "real"], ["real"], []])
def test_a_page_says_on_top_what_its_data_is(marks):
    top = Shown(report.page("title", [], marks)).text.split("title", 2)[1]
    assert ("All data is simulated" in top) == (marks == ["simulated"])
    assert ("Some of the data is simulated" in top) == (len(marks) == 2)
    assert ("Real data" in top) == (marks == ["real"])


@pytest.mark.parametrize(
    "page",
    [
        whole("plain"),
        report.numbers("accuracy", tracked.metrics_of(0)),
        report.provenance({"brainq": ORIGIN}),
    ],
    ids=["report", "numbers", "provenance"],
)
def test_a_page_asks_nothing_of_the_network(page):
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    assert "@import" not in page
    assert "url(" not in page
    assert "banner " in page


def test_a_claim_that_does_not_hold_says_so():
    for verdict, style in (("holds", "yes"), ("does not hold", "no"), ("cannot tell", "open")):
        text = report.whole([CLAIM | {"verdict": verdict}], [], {}, "", "")
        assert f'<td class="{style}">{verdict}</td>' in text


def test_every_number_is_a_median_over_all_seeds():
    metrics = [
        metric for seed in range(3) for metric in tracked.metrics_of(seed, value=float(seed))
    ]
    cells = Shown(report.numbers("accuracy", metrics)).cells
    row = cells[: cells.index("cost over that of full ALS") + 1]
    assert row[:7] == ["relative_cost", "brainq", "whole", "scoup", "1", "joint", "none"]
    assert row[7:11] == ["2", "1.5", "2.5", "3"]


def test_numbers_are_short_and_sorted_by_their_full_value():
    page = report.page("t", [report.Section(tables=[report.Table(["n"], [[1 / 3], [12345]])])], [])
    assert f'data-value="{1 / 3!r}">0.3333<' in page
    assert ">12345<" in page


def test_other_experiments_stay_on_their_own_pages():
    metrics = tracked.metrics_of(0) + tracked.metrics_of(0, experiment="missing", mark="real")
    assert "Real data." in report.numbers("missing", metrics)


def test_the_report_has_banner_scorecard_chapters_provenance_and_methods():
    text = report.whole(
        [CLAIM, CLAIM | {"verdict": "cannot tell"}],
        [report.Chapter("leave_two_out", "what it asks")],
        {"brainq": ORIGIN},
        "A tensor.",
        "scoup 1",
        ["e is skipped."],
    )
    shown = Shown(text).text
    order = [
        "All data is simulated", "2 claims on this data; holds: 0, does not hold: 1", "it falls",
        "e is skipped.", "leave two out",
        "what it asks", "Code: scoup 1.", "no host could be reached", "A tensor.",
    ]  # fmt: skip
    start = shown.index("All data is simulated")
    positions = [shown.index(part, start) for part in order]
    assert positions == sorted(positions)


def test_a_page_in_a_frame_can_do_nothing_to_the_report():
    document = report.Document("t", '<script>parent.document.title = "x"</script>')
    text = report.whole([], [report.Chapter("e", "", (), [document])], {}, "", "")
    assert 'sandbox="allow-scripts allow-downloads"' in text
    assert "<script>parent" not in text


def test_files_of_a_page_move_into_it():
    page = '<a href="t.csv" download>t</a><a href="https://x.org">x</a>'
    html_page = report.inline(page, {"t.csv": b"1"})
    assert '<a href="data:text/csv;base64,MQ==" download="t.csv">' in html_page
    assert 'href="https://x.org"' in html_page


def test_user_supplied_files_are_named():
    files = [SourceFile(name, "", "0" * 64, 1) for name in ("posts.csv", "links.csv")]
    origin = Provenance("files", "local", "named in the configuration", files, "full")
    page = report.whole([], [], {"walls": origin}, "", "")
    assert "your files, named in the configuration: posts.csv, links.csv" in page


def test_texts_of_the_report_are_valid():
    assert "SCOUP" in as_snakemake((ROOT / "workflow/report/methods.rst").read_text())
    caption = (ROOT / "workflow/report/figure.rst").read_text()
    for name in experiments.names():
        for text in experiments.declared(name).CAPTIONS.values():
            shown = as_snakemake(caption.replace("{{ snakemake.params.caption }}", text))
            assert words(text) in words(Shown(shown).text)


def test_findings_come_first_and_without_claims_there_is_no_scorecard():
    section = report.Section("3 bursts", points=["The largest."])
    found = [report.Findings("anomaly", "mine", section)]
    figures = [report.Figure("first caption", b"<svg/>"), report.Figure("second caption", b"<g/>")]
    chapter = report.Chapter("anomaly", "what it asks", figures)
    links = {"pages": ["pages/anomaly/mine/seed0/index.html"]}
    page = report.whole([], [chapter], {}, "", "", ["e is skipped."], found=found, links=links)
    shown = Shown(page).text
    start = shown.index("What was found in your data")
    order = ["3 bursts", "The largest.", "first caption", "e is skipped.", "what it asks"]
    positions = [shown.index(part, start) for part in [*order, "second caption", "Files"]]
    assert positions == sorted(positions)
    assert "claims on this data" not in shown
    assert page.count("<figcaption>") == 2
    assert 'href="pages/anomaly/mine/seed0/index.html"' in page
    assert "claims on this data" in report.whole([CLAIM], [chapter], {}, "", "", found=found)


def test_every_page_and_file_is_linked_from_the_folder_of_the_report(tmp_path):
    folder = tmp_path / "results/pages/rank/mine/seed0"
    folder.mkdir(parents=True)
    for name in ("index.html", "table.csv", ".snakemake_timestamp"):
        (folder / name).write_text("")
    results = tmp_path / "results"
    files = SimpleNamespace(
        pages=[str(folder)],
        figures=[str(results / "plot/rank.svg")],
        metrics=[str(results / "experiments/rank/mine/seed0.json")],
        data=[],
        scorecard=str(results / "scorecard.json"),
    )
    links = links_of(files, [str(results / "merge/mine/whole/full/seed0.npz")])
    assert links["pages"] == ["pages/rank/mine/seed0/index.html"]
    assert links["tables and images of pages"] == ["pages/rank/mine/seed0/table.csv"]
    assert links["figures"] == ["plot/rank.svg", "plot/rank.pdf", "plot/rank.png"]
    assert links["models"] == ["merge/mine/whole/full/seed0.npz"]
    assert "data" not in links
