"""The scorecard says what does not hold, and finds its place in the README."""

import pytest

from scoup import scorecard
from scoup.errors import ScoupError
from scoup.evidence import Context
from scoup.evidence.files import write_claims
from scoup.experiments import declared
from scoup.experiments._controls import CONTROL_COST, CONTROL_SHARE, EXPLAINED, RELATIVE_COST
from scoup.experiments.accuracy.measure import MONOTONE, NULL_MONOTONE


def runs(monotone, merge="joint"):
    found = []
    for seed, value in enumerate(monotone):
        context = Context("accuracy", "brainq", "whole", "scoup", seed, "simulated")
        found.append(context.metric(MONOTONE, value, merge=merge, finish="none"))
        found.append(context.metric(NULL_MONOTONE, 0, merge=merge, finish="none"))
        found.append(context.metric(CONTROL_COST, 3, control="zero", finish="none"))
        found.append(context.metric(CONTROL_COST, 2, control="random", finish="none"))
        found.append(context.metric(CONTROL_SHARE, 1, control="covered"))
        found.append(context.metric(RELATIVE_COST, 1.05, merge=merge, finish="none", repetitions=2))
        found.append(context.metric(EXPLAINED, 0.9, merge=merge, finish="none", repetitions=2))
    return found


def test_a_claim_that_does_not_hold_says_so():
    rows = scorecard.judge(runs([1, 0, 1, 1]))
    assert (rows[0]["ours"], rows[0]["verdict"]) == (0.75, "does not hold")
    assert "| simulated | **does not hold** |" in scorecard.table(rows)


def test_every_run_counts():
    rows = scorecard.judge(runs([1] * 20))
    assert [row["runs"] for row in rows] == [20, 20]
    assert all(row["verdict"] == "holds" for row in rows)


def test_the_overview_shows_the_papers_own_setting_and_counts_all_verdicts():
    claims = scorecard.judge([*runs([1, 1]), *runs([0, 1], merge="paper")])
    assert [row["verdict"] for row in claims] == ["does not hold", *["holds"] * 3]
    *_, row = scorecard.overview(claims).splitlines()
    assert "paper merge" in claims[0]["setting"]
    assert "| 0.5 share | repetitions with shuffled rows: 0 | **does not hold** |" in row
    assert row.endswith("| 3 / 1 / 0 |")


def test_the_overview_shows_the_control_that_comes_nearest():
    claims = scorecard.judge(runs([1]))
    cost = next(row for row in claims if row["claim"].startswith("cost"))
    assert not cost["higher"]
    assert "random factors, same rows and finish: 2 |" in scorecard.overview([cost])


def test_the_table_replaces_what_stood_between_its_markers(tmp_path):
    readme = tmp_path / "README.md"
    markers = "<!-- figures --><!-- /figures --><!-- rulegraph --><!-- /rulegraph -->"
    markers += "<!-- overview --><!-- /overview -->"
    readme.write_text(f"before\n<!-- scorecard -->\nstale\n<!-- /scorecard -->\nafter\n{markers}")
    (tmp_path / "plot").mkdir()
    (tmp_path / "plot" / "accuracy.png").touch()
    (tmp_path / "graph").write_text("flowchart TB\n\tid0[all]\n\tid1[plot]\n\tid1 --> id0\n")
    write_claims(tmp_path / "scorecard.json", scorecard.judge(runs([1])))
    scorecard.main(str(tmp_path), str(tmp_path / "graph"), str(readme))
    text = readme.read_text()
    assert text.startswith("before\n<!-- scorecard -->\n| experiment |")
    assert "<!-- /scorecard -->\nafter\n" in text
    assert f"**accuracy.** {declared('accuracy').CAPTIONS['accuracy']}" in text
    assert "![accuracy](" in text
    assert "```mermaid\nflowchart LR\n    plot --> all\n```" in text
    assert scorecard.overview(scorecard.judge(runs([1]))) in text
    assert "stale" not in text


def test_a_readme_without_markers_is_refused():
    with pytest.raises(ScoupError, match="README: expected the markers"):
        scorecard.insert("no markers", "scorecard", "table")


def test_the_paper_claims_nothing_about_user_supplied_data():
    assert scorecard.judge(runs([1, 1]), own=["brainq"]) == []
    assert scorecard.judge(runs([1, 1]), own=["mine"])
