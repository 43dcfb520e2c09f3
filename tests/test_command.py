"""The command line: what it says, what it writes, and how it ends."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from scoup import ScoupError, SparseTensor, config
from scoup.command import main
from scoup.experiments import suited
from scoup.guess import guess
from scoup.seeds import generator

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "workflow" / "schemas" / "config.schema.json"


@pytest.fixture
def posts(tmp_path, monkeypatch):
    """A folder with posts and links as plain files, in which the command runs."""
    monkeypatch.chdir(tmp_path)
    rng = generator(0, "test", "command")
    rows = [f"w{a},p{b},2008-01-{c + 1:02d}" for a, b, c in rng.integers(0, (30, 25, 20), (400, 3))]
    Path("posts.csv").write_text("\n".join(["wall,poster,day", *rows]) + "\n")
    links = [f"w{a},u{b}" for a, b in rng.integers(0, (30, 40), (200, 2))]
    Path("links.csv").write_text("\n".join(["user,friend", *links]) + "\n")
    return tmp_path


def merged(one, other):
    """What Snakemake makes of two configurations."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return other
    return {**one, **{key: merged(one.get(key), value) for key, value in other.items()}}


def configured(name):
    return merged(yaml.safe_load((ROOT / "config.yaml").read_text()), yaml.safe_load(Path(f"{name}.yaml").read_text()))


def test_inspect_says_what_there_is_and_what_to_try(posts, capsys):
    assert main(["inspect", "posts.csv", "links.csv"]) == 0
    said = capsys.readouterr().out
    for words in ("posts.csv  30 x 25 x 20", "poster", "heaviest: ", "on mode wall", "memory  data", "sampling ["):
        assert words in said
    assert "experiment leave_two_out would be skipped" in said


def test_inspect_as_json(posts, capsys):
    assert main(["inspect", "posts.csv", "links.csv:wall", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["tensor"]["shape"] == [30, 25, 20]
    assert found["tensor"]["nonzeros"] <= 400
    assert found["matrices"][0]["mode"] == "wall"
    assert found["options"]["tensor"] == {"file": "posts.csv", "columns": ["wall", "poster", "day"]}
    heavy = found["tensor"]["modes"][0]["heaviest"]
    assert heavy[0]["share"] == max(one["share"] for one in heavy)
    assert found["memory"]["fit"] > found["memory"]["data"]
    assert len(found["advice"]["sampling"]) == 3


def test_new_writes_a_configuration_that_passes_all_checks(posts, capsys):
    assert main(["new", "mine", "posts.csv", "links.csv"]) == 0
    assert "--configfile mine.yaml" in capsys.readouterr().out
    whole = configured("mine")
    config.check(whole, SCHEMA)
    kept, left_out = config.leave_out(whole)
    assert set(kept) == {"accuracy", "sparsity", "missing", "rank", "speedup", "anomaly"}
    assert left_out == []
    assert all(settings["datasets"] == ["mine"] for settings in kept.values())
    assert config.own_files(whole["datasets"]["mine"]) == ["posts.csv", "links.csv"]


def test_sampling_factors_for_another_number_of_modes_are_refused(posts):
    main(["new", "mine", "posts.csv"])
    whole = configured("mine")
    kept, _ = config.leave_out(whole)
    config.check_modes(whole, kept)
    whole["plans"]["scoup"]["sampling"] = [2, 2, 2, 2]
    with pytest.raises(
        ScoupError, match=r"plans.scoup.sampling: expected one factor, or 3, one a mode of mine \(wall, "
    ):
        config.check_modes(whole, kept)


def test_new_for_dense_images_with_a_subject_mode(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("images.npy", generator(0, "test", "command").standard_normal((12, 40, 3)))
    Path("answers.csv").write_text("thing,big,alive\n" + "".join(f"{n},{n % 3},{n % 2}\n" for n in range(12)))
    assert main(["new", "brain", "images.npy", "answers.csv:0", "--columns", "thing,voxel,subject"]) == 0
    whole = configured("brain")
    config.check(whole, SCHEMA)
    kept, _ = config.leave_out(whole)
    assert "leave_two_out" in kept
    assert "anomaly" not in kept


def test_nothing_is_overwritten(posts, capsys):
    Path("mine.yaml").write_text("precious")
    assert main(["new", "mine", "posts.csv"]) == 2
    assert capsys.readouterr().err == "scoup: mine.yaml: it is there already; remove it or take another name.\n"
    assert Path("mine.yaml").read_text() == "precious"


BAD = {
    "no such file": (["inspect", "none.csv"], "scoup: none.csv: expected a text file, got no such file."),
    "a matrix first": (["inspect", "links.csv"], "name the file of the tensor first; the others are matrices."),
    "an unknown mode": (["inspect", "posts.csv", "links.csv:who"], "a mode among wall, poster, day behind the colon"),
    "a bad name": (["new", "my data", "posts.csv"], "scoup: NAME: expected letters, digits and _, got 'my data'."),
    "an unknown column": (["inspect", "posts.csv", "--value", "n"], "posts.csv, line 1: expected a column 'n'"),
}


@pytest.mark.parametrize(("arguments", "words"), BAD.values(), ids=BAD)
def test_bad_input_gives_one_sentence_and_code_2(posts, capsys, arguments, words):
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_bad_usage_gives_code_2_and_help_gives_examples(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["inspect"])
    assert stopped.value.code == 2
    with pytest.raises(SystemExit) as stopped:
        main(["new", "--help"])
    assert stopped.value.code == 0
    assert "examples:" in capsys.readouterr().out


def test_python_m_scoup_is_the_same(posts):
    done = subprocess.run(
        [sys.executable, "-m", "scoup", "inspect", "x.csv"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "scoup: x.csv: expected a text file, got no such file.\n"


def test_a_column_of_decimal_numbers_is_the_value(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("user,item,week,stars\na,x,1,4.5\nb,y,2,3.0\n")
    assert guess([str(path)])[0]["tensor"] == {"file": str(path), "columns": ["user", "item", "week"], "value": "stars"}


def test_a_matrix_is_turned_if_that_makes_it_fit(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((5, 4, 3)))
    np.save(tmp_path / "b.npy", np.ones((7, 4)))
    options, _ = guess([str(tmp_path / "a.npy"), str(tmp_path / "b.npy")])
    assert options["matrices"] == [{"file": str(tmp_path / "b.npy"), "mode": "mode1", "transpose": True}]


def test_a_four_way_list_of_cells_is_inspected(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = generator(1, "test", "command").integers(1, (60, 50, 40, 7), (3000, 4))
    Path("a.tns").write_text("".join(f"{' '.join(map(str, cell))} 1.5\n" for cell in cells))
    assert main(["inspect", "a.tns", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = SparseTensor(cells.T - 1, np.ones(3000), tuple(cells.max(axis=0)))
    assert (found["tensor"]["shape"], found["tensor"]["nonzeros"]) == (list(expected.shape), expected.nnz)
    assert found["skipped"]["anomaly"].startswith("it looks for bursts in sparse counts of three modes")


def test_each_kind_of_data_has_the_experiments_of_the_paper():
    assert not suited.why_not("leave_two_out", suited.BRAINQ)
    assert not suited.why_not("clusters", suited.BRAINQ)
    assert not suited.why_not("anomaly", suited.FACEBOOK)
    assert "sparse" in suited.why_not("clusters", suited.FACEBOOK)
    images = suited.Traits(("thing", "place", "time"), sparse=False)
    assert "subject" in suited.why_not("leave_two_out", images)
    assert "category" in suited.why_not("clusters", images)
