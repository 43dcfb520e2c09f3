"""Code on the pages runs and prints what they say, and their data is what its script writes."""

import shutil
from pathlib import Path

import pytest

from docs import bikes
from docs.run import run, steps

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.mark.parametrize("page", ["sampling", "rank", "noise", "files", "shards", "interop"])
def test_code_on_a_page_runs(page, tmp_path):
    run(DOCS / f"{page}.md", tmp_path)


def test_the_tutorial_runs_from_file_to_figure(tmp_path):
    for file in (DOCS / "bikes").iterdir():
        shutil.copy(file, tmp_path)
    names = run(DOCS / "tutorial.md", tmp_path)
    assert names["advice"].rank == 3
    assert "<svg" in (tmp_path / "bikes.svg").read_text()
    assert (tmp_path / "results" / "plot" / "rank.svg").stat().st_size > 0


def test_the_data_of_the_tutorial_is_what_its_script_writes(tmp_path):
    bikes.main(tmp_path)
    for file in tmp_path.iterdir():
        assert file.read_bytes() == (DOCS / "bikes" / file.name).read_bytes()


def test_a_page_with_wrong_output_fails(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n")
    assert [step[0] for step in steps(page.read_text())] == ["python"]
    with pytest.raises(AssertionError, match="expected\n3"):
        run(page, tmp_path)
    page.write_text("```console\n$ scoup inspect nothing.csv\n```\n")
    with pytest.raises(AssertionError, match="exit code 2"):
        run(page, tmp_path)
