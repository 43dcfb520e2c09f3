"""The table of the real excerpts is made from the metrics of a run, and from real data only."""

import pytest

from scoup import excerpts, store
from scoup.errors import ScoupError
from scoup.evidence import Context
from scoup.evidence.files import write_metrics
from scoup.experiments.leave_two_out.measure import ACCURACY, LOW

PAGE = "above\n<!-- real decoding -->\nold\n<!-- /real decoding -->\nbelow\n"


def run(folder, mark="real"):
    for subject, value in (("P1", 0.9), ("P3", 0.8)):
        context = Context("leave_two_out", subject, "whole", "pairs", 0, mark)
        at = {"subject": subject, "decision": "cosine"}
        metrics = [
            context.metric(ACCURACY, value, contender="chosen", **at),
            context.metric(LOW, value - 0.05, contender="chosen", **at),
            context.metric(ACCURACY, 0.1, contender="chosen", subject=subject, decision="distance"),
            *(context.metric(ACCURACY, v, contender="shuffled", **at) for v in (0.4, 0.6)),
        ]
        path = folder / "experiments" / "leave_two_out" / subject / "seed0.json"
        path.parent.mkdir(parents=True)
        write_metrics(path, metrics, {})


def test_a_run_fills_the_pages_and_so_does_the_file_it_leaves(tmp_path):
    run(tmp_path / "results")
    file, page = tmp_path / "numbers.json", tmp_path / "page.md"
    for folder in (tmp_path / "results", tmp_path / "nowhere"):
        page.write_text(PAGE)
        excerpts.main(str(folder), str(file), str(page))
        text = page.read_text()
        assert "| **coupled model, noise-normalised** | .900 | .800 | .850 |" in text
        assert "answers shuffled | .500 | .500 | .500 |" in text
        assert "old" not in text
        assert text.startswith("above\n")
    assert store.read_json(file)["chosen"]["P3"] == {"value": 0.8, "low": 0.75}


def test_a_page_without_the_marker_stays_as_it_is(tmp_path):
    run(tmp_path / "results")
    page = tmp_path / "page.md"
    page.write_text("text\n")
    excerpts.main(str(tmp_path / "results"), str(tmp_path / "numbers.json"), str(page))
    assert page.read_text() == "text\n"


def test_simulated_numbers_never_enter_the_table(tmp_path):
    run(tmp_path / "results", mark="simulated")
    with pytest.raises(ScoupError, match="expected a run on real data, got simulated"):
        excerpts.main(str(tmp_path / "results"), str(tmp_path / "numbers.json"))
    assert not (tmp_path / "numbers.json").exists()
