"""The command line: what it says, what it writes, and how it ends."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml

from scoup import SparseTensor, __version__
from scoup.command import main
from scoup.datasets import Traits
from scoup.datasets.files import Options, paths
from scoup.datasets.files.couple import couple_files
from scoup.errors import ScoupError
from scoup.experiments import declared, names, plans_of
from scoup.formats import descriptions
from scoup.guess import guess
from scoup.seeds import generator
from scoup.specs import ExperimentSpec, PlanSpec
from tests.payloads import PAYLOADS


@pytest.fixture
def posts(tmp_path, monkeypatch):
    """A folder with posts and links as plain files, in which the command runs."""
    monkeypatch.chdir(tmp_path)
    rng = generator(0, "test", "command")
    rows = [f"w{a},p{b},2008-01-{c + 1:02d}" for a, b, c in rng.integers(0, (30, 25, 20), (400, 3))]
    Path("posts.csv").write_text("\n".join(["wall,poster,day", *rows]) + "\n")
    links = [f"w{a},u{b}" for a, b in rng.integers(0, (30, 40), (200, 2))]
    Path("wide.csv").write_text("".join(["user,a,b\n", *(f"w{n},{n}.5,1.25\n" for n in range(30))]))
    Path("links.csv").write_text("\n".join(["user,friend", *links]) + "\n")
    return tmp_path


def written(name):
    """The options, plans and experiments of the configuration that was written, all checked."""
    whole = yaml.safe_load(Path(f"{name}.yaml").read_text())
    options = Options(**whole["datasets"][name]["options"])
    plans = {plan: PlanSpec(**settings) for plan, settings in whole["plans"].items()}
    specs = {
        experiment: declared(experiment).Spec(**settings)
        for experiment, settings in whole["experiments"].items()
        if settings is not None
    }
    assert set(whole["experiments"]) == set(names())
    assert {plan for spec in specs.values() for plan in plans_of(spec)} == set(plans)
    return options, plans, specs


def test_inspect_says_what_there_is_and_what_to_try(posts, capsys):
    assert main(["inspect", "posts.csv", "links.csv"]) == 0
    said = capsys.readouterr().out
    for words in (
        "posts.csv  30 x 25 x 20",
        "poster",
        "heaviest: ",
        "on mode wall",
        "memory  data",
        "sampling [",
    ):
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
    assert "scoup run mine.yaml\n" in capsys.readouterr().out
    assert "scoup run mine.yaml\n" in Path("mine.yaml").read_text()
    options, plans, specs = written("mine")
    assert set(specs) == {"accuracy", "sparsity", "missing", "rank", "speedup", "anomaly"}
    assert all(spec.datasets == ["mine"] for spec in specs.values())
    assert paths(options) == ["posts.csv", "links.csv"]
    assert plans["bursts"].values == plans["bursts10"].values == "rare"
    assert (plans["bursts10"].weights, plans["bursts10"].shared) == ([1, 0], 0.1)


def test_new_for_dense_images_with_a_subject_mode(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("images.npy", generator(0, "test", "command").standard_normal((12, 40, 3)))
    Path("answers.csv").write_text(
        "thing,big,alive\n" + "".join(f"{n},{n % 3},{n % 2}\n" for n in range(12))
    )
    columns = ["--columns", "thing,voxel,subject"]
    assert main(["new", "brain", "images.npy", "answers.csv:0", *columns]) == 0
    _, _, specs = written("brain")
    assert "leave_two_out" in specs
    assert "anomaly" not in specs


ODD_NAMES = [
    "user: id",
    "{{ x }}",
    "no",
    "#1",
    "a, b",
    "- é",
    "it's",
    "[",
    "*a",
    "&b",
    "%c",
    "null",
]


def test_what_the_disk_refuses_is_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("a,b,c\nx,1,1\ny,2,2\n")
    assert main(["new", "x" * 300, "t.csv"]) == 2
    assert capsys.readouterr().err.startswith("scoup: [Errno 36] File name too long")


def test_a_label_does_not_steer_the_terminal(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("a,b,c\n\x1b[2J,1,1\n\x1b]0;PWNED\x07,2,2\n")
    assert main(["inspect", "t.csv"]) == 0
    assert main(["inspect", "t.csv", "--columns", "\x1b[2J,b,c"]) == 2
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert "\\x1b[2J" in said.out


@pytest.mark.parametrize("first", [*ODD_NAMES, *PAYLOADS])
def test_odd_names_survive_in_the_configuration(tmp_path, monkeypatch, first):
    monkeypatch.chdir(tmp_path)
    columns = [first, "true", "1.5", "~"]
    pd.DataFrame({name: [f"x{n}", "y"] for n, name in enumerate(columns)}).to_parquet(
        "a: b.parquet"
    )
    assert main(["new", "null", "a: b.parquet"]) == 0
    options, _, _ = written("null")
    assert (options.tensor.file, options.tensor.columns) == ("a: b.parquet", columns)


def test_a_line_break_in_a_name_does_not_break_the_comments(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = "stars\nplans: none"
    columns = {"a": range(60), "b": range(60), "c": range(60), name: [1, 2, 3] * 20}
    pd.DataFrame(columns).to_parquet("a.parquet")
    assert main(["new", "mine", "a.parquet"]) == 0
    assert "# Hint: " in Path("mine.yaml").read_text()
    assert name in written("mine")[0].tensor.columns


def test_a_new_experiment_needs_no_suggestions(posts, monkeypatch):
    declaration = SimpleNamespace(Spec=ExperimentSpec, suits=lambda traits: "", __doc__="New: it.")
    needy = SimpleNamespace(
        Spec=declared("sparsity").Spec, suits=lambda traits: "", __doc__="Needy: plans."
    )
    known = {"new": declaration, "needy": needy}
    monkeypatch.setattr("scoup.new.names", lambda: ("needy", "new"))
    monkeypatch.setattr("scoup.new.declared", known.get)
    assert main(["new", "mine", "posts.csv"]) == 0
    text = Path("mine.yaml").read_text()
    assert "  # New: it.\n  new: {datasets: [mine]}\n" in text
    assert "needy: null  # it cannot be set up for this data (plans: expected a value" in text


def test_nothing_is_overwritten(posts, capsys):
    Path("mine.yaml").write_text("precious")
    assert main(["new", "mine", "posts.csv"]) == 2
    assert (
        capsys.readouterr().err
        == "scoup: mine.yaml: it is there already; remove it or take another name.\n"
    )
    assert Path("mine.yaml").read_text() == "precious"


BAD = {
    "no such file": (
        ["inspect", "none.csv"],
        "scoup: none.csv: expected a text file, got no such file.",
    ),
    "a matrix first": (
        ["inspect", "links.csv"],
        "name the file of the tensor first; the others are matrices.",
    ),
    "a wide matrix first": (
        ["inspect", "wide.csv", "posts.csv"],
        "wide.csv: expected one cell per line: a column of labels for each mode, and one of "
        "values, got numbers with decimal points in a, b; if it is a matrix, name the "
        "tensor's file first; if it has several columns of values, write each on a line of its "
        "own; else say --columns and --value.",
    ),
    "a tensor behind another": (
        ["inspect", "posts.csv", "posts.csv"],
        "if it is the tensor, name it first",
    ),
    "a folder": (["inspect", "."], "a name that ends in one of .csv, "),
    "no file of labels": (
        ["inspect", "posts.csv", "--labels", "wall"],
        "--labels: expected MODE=FILE, got 'wall'.",
    ),
    "an unknown mode": (
        ["inspect", "posts.csv", "links.csv:who"],
        "a mode among wall, poster, day behind the colon",
    ),
    "a bad name": (
        ["new", "my data", "posts.csv"],
        "scoup: NAME: expected letters, digits and _, got 'my data'.",
    ),
    "an unknown column": (
        ["inspect", "posts.csv", "--value", "n"],
        "posts.csv, line 1: expected a column 'n'",
    ),
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
    said = capsys.readouterr().out
    assert "examples:" in said
    for endings, description in descriptions():
        assert f"{endings}: {description.split()[0]}".replace("`", "") in " ".join(said.split())


def test_python_m_scoup_is_the_same(posts):
    done = subprocess.run(
        [sys.executable, "-m", "scoup", "inspect", "x.csv"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "scoup: x.csv: expected a text file, got no such file.\n"


def test_a_column_of_decimal_numbers_is_the_value(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("user,item,week,stars\na,x,1,4.5\nb,y,2,3.0\n")
    assert guess([str(path)]).options["tensor"] == {
        "file": str(path),
        "columns": ["user", "item", "week"],
        "value": "stars",
    }


def test_a_matrix_is_turned_if_that_makes_it_fit(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((5, 4, 3)))
    np.save(tmp_path / "b.npy", np.ones((7, 4)))
    options = guess([str(tmp_path / "a.npy"), str(tmp_path / "b.npy")]).options
    assert options["matrices"] == [
        {"file": str(tmp_path / "b.npy"), "mode": "mode1", "transpose": True}
    ]


def test_a_four_way_list_of_cells_is_inspected(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = generator(1, "test", "command").integers(1, (60, 50, 40, 7), (3000, 4))
    Path("a.tns").write_text("".join(f"{' '.join(map(str, cell))} 1.5\n" for cell in cells))
    assert main(["inspect", "a.tns", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = SparseTensor(cells.T - 1, np.ones(3000), tuple(cells.max(axis=0)))
    assert (found["tensor"]["shape"], found["tensor"]["nonzeros"]) == (
        list(expected.shape),
        expected.nnz,
    )
    assert found["skipped"]["anomaly"].startswith(
        "it looks for bursts in sparse counts of three modes"
    )


def test_images_without_subjects_or_categories_are_not_told_apart():
    images = Traits(("thing", "place", "time"), sparse=False)
    assert "subject" in declared("leave_two_out").suits(images)
    assert "category" in declared("clusters").suits(images)
    assert "sparse" in declared("clusters").suits(Traits(("a", "b", "c"), sparse=True))


def images(folder, subject_at=2):
    """A dense tensor as an array and as a table of all of its cells, a matrix about things, and
    their categories.
    """
    rng = generator(0, "test", "images")
    values = rng.standard_normal((12, 5, 3))
    names = [
        [f"thing{n}" for n in range(10, 22)],
        [f"s{n}" for n in range(5)],
        ["ann", "bob", "cem"],
    ]
    cells = [
        f"{names[0][i]},{names[1][j]},{names[2][k]},{values[i, j, k]}"
        for i, j, k in np.ndindex(values.shape)
    ]
    (folder / "cells.csv").write_text("\n".join(["thing,sensor,subject,reading", *cells]) + "\n")
    np.save(folder / "cells.npy", np.moveaxis(values, 2, subject_at))
    rows = [
        f"{name},{a},{b}"
        for name, (a, b) in zip(names[0], rng.standard_normal((12, 2)), strict=True)
    ]
    (folder / "answers.csv").write_text("\n".join(["thing,is it red,is it big", *rows]) + "\n")
    kinds = [f"{name},kind{n % 3}" for n, name in enumerate(names[0])]
    (folder / "things.csv").write_text("\n".join(["thing,category", *kinds]) + "\n")
    return values


@pytest.mark.parametrize("subject_at", [0, 2])
def test_images_in_any_form_and_order_are_told_apart_and_clustered(
    tmp_path, monkeypatch, subject_at
):
    monkeypatch.chdir(tmp_path)
    images(tmp_path, subject_at)
    names = "thing,sensor,subject" if subject_at == 2 else "subject,thing,sensor"
    labels = ["--labels", "thing=things.csv"]
    assert main(["new", "array", "cells.npy", "answers.csv", "--columns", names, *labels]) == 0
    assert main(["new", "table", "cells.csv", "answers.csv", *labels]) == 0
    for name in ("array", "table"):
        options, plans, specs = written(name)
        assert specs["clusters"].datasets == [name]
        assert specs["leave_two_out"].groups == 4
        assert options.labels == {"thing": "things.csv"}
        assert plans["groups"].values == "standardised"
        assert plans["groups"].weights == {"balanced": [1, 10]}
    assert options.tensor.dense is True


def test_a_table_of_all_cells_is_the_array(tmp_path):
    values = images(tmp_path)
    options = guess([str(tmp_path / "cells.csv")]).options
    assert options["tensor"]["value"] == "reading"
    found = couple_files(Options(**options))
    np.testing.assert_allclose(found.data.blocks[0].values, values)


def test_cells_that_are_not_listed_are_zero_or_missing_as_told(tmp_path):
    path = tmp_path / "most.csv"
    cells = [f"{i},{j},{k},{1 + i}" for i, j, k in np.ndindex(4, 3, 2) if (i, j, k) != (3, 2, 1)]
    path.write_text("\n".join(["a,b,c,value", *cells]) + "\n")
    guessed = guess([str(path)])
    assert "observed: listed" in guessed.hints[0]
    zero = couple_files(Options(**guessed.options)).data.blocks[0]
    told = {"tensor": {**guessed.options["tensor"], "observed": "listed"}}
    known = couple_files(Options(**told)).data.blocks[0]
    assert (zero.observed, known.observed) == (24, 23)
    assert zero.values[3, 2, 1] == 0
    assert not known.mask[3, 2, 1]


def test_a_table_of_records_asks_for_columns(tmp_path, capsys):
    path = tmp_path / "records.csv"
    path.write_text(",".join("abcdefghi") + "\n" + ",".join("123456789") + "\n")
    assert main(["inspect", str(path)]) == 2
    assert "say which are modes by --columns A,B,C" in capsys.readouterr().err
    lines = ["a,b,c,d,e,f,g,h,i", *(f"{cell},0,0,0,0,0,0" for cell in ("x,1,p", "x,2,q", "y,3,p"))]
    path.write_text("\n".join(lines))
    assert guess([str(path)], ["a", "b", "c"]).content.values.shape == (2, 3, 2)


def test_missing_labels_and_uneven_units_are_named_in_hints(tmp_path):
    path = tmp_path / "cells.csv"
    rows = [
        f"{place},{year},{what},{size}"
        for place in ("here", "NA")
        for year in (1, 2)
        for what, size in (("people", 1e6), ("age", 30), ("wealth", 900))
    ]
    path.write_text("\n".join(["place,year,what,value", *rows]))
    gap, units = guess([str(path)]).hints
    assert "'place' has the label 'NA'" in gap
    assert "what people has nearly all of the squares" in units
    path.write_text("\n".join(["place,year,what,value", *rows]).replace("NA", "there"))
    assert len(guess([str(path)]).hints) == 1
    matrix = tmp_path / "facts.csv"
    matrix.write_text("place,people,tall\nhere,9e6,1.8\nthere,5e6,NA\n")
    hints = guess([str(path), str(matrix)]).hints
    assert any("facts.csv: column people has nearly all of the squares" in hint for hint in hints)


def test_a_matrix_with_columns_of_text_names_them(tmp_path):
    tensor, matrix = tmp_path / "flights.csv", tmp_path / "airports.csv"
    tensor.write_text("carrier,dest,month\nUA,IAH,1\nUA,MIA,2\nAA,IAH,2\n")
    matrix.write_text("dest,name,lat,zone\nIAH,Houston,30.0,C\nMIA,Miami,25.8,E\n")
    with pytest.raises(ScoupError, match=r"leave out what is no number \(name, zone\)"):
        guess([str(tensor), str(matrix)])
    matrix.write_text("dest,lat,alt\nIAH,30.0,NA\nMIA,25.8,8\n")
    assert guess([str(tensor), str(matrix)]).options["matrices"][0]["layout"] == "wide"


@pytest.mark.parametrize(
    ("heading", "hinted"),
    [
        ("user,item,day,stars", 1),
        ("user,item,day,grade", 1),
        ("num,item,day,user", 1),
        ("user,item,day", 0),
    ],
)
def test_a_column_that_looks_like_values_is_named_in_a_hint(
    tmp_path, capsys, monkeypatch, heading, hinted
):
    monkeypatch.chdir(tmp_path)
    names = heading.split(",")
    rng = generator(0, "test", "hint")
    rows = [
        ",".join(str(n) for n in row)
        for row in rng.integers(1, (60, 50, 40, 6)[: len(names)], (300, len(names)))
    ]
    Path("ratings.csv").write_text("\n".join([heading, *rows]) + "\n")
    assert main(["inspect", "ratings.csv", "--json"]) == 0
    hints = json.loads(capsys.readouterr().out)["hints"]
    assert len(hints) == hinted
    if hinted:
        value = "num" if "num" in names else names[-1]
        assert hints[0].endswith(f"if it holds the values, say --value {value}")
        assert main(["new", "first", "ratings.csv"]) == 0
        assert hints[0] in capsys.readouterr().out
        assert hints[0] in Path("first.yaml").read_text()
        assert main(["inspect", "ratings.csv", "--value", value]) == 0
        assert f"values: column {value}" in capsys.readouterr().out


def test_a_telling_name_over_texts_is_no_value(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c\nx,y,1\n")
    (tmp_path / "m.csv").write_text("a,rating,n\nx,good,2\nx,bad,3\n")
    found = guess([str(tmp_path / "t.csv"), str(tmp_path / "m.csv")])
    assert found.options["matrices"][0]["value"] == "n"


def test_a_matrix_that_fits_two_modes_is_put_on_the_first_and_says_so(tmp_path):
    np.save(tmp_path / "t.npy", np.ones((4, 5, 4)))
    np.save(tmp_path / "m.npy", np.ones((4, 7)))
    files = [str(tmp_path / "t.npy"), str(tmp_path / "m.npy")]
    found = guess(files, columns=["a", "b", "c"])
    assert found.options["matrices"][0]["mode"] == "a"
    assert found.hints[0].endswith(
        f"it fits the modes a and c and is put on the first; {files[1]}:c says otherwise"
    )
    told = guess([files[0], f"{files[1]}:c"], columns=["a", "b", "c"])
    assert (told.options["matrices"][0]["mode"], told.hints) == ("c", [])


def test_without_a_verb_there_is_help(capsys):
    assert main([]) == 2
    assert "scoup inspect posts.csv" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"scoup {__version__}\n"


def test_things_too_few_or_too_many_to_be_told_apart(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for things, words in (
        (6, "it needs 8 things"),
        (400, "all pairs of 400 things would take hours"),
    ):
        np.save("t.npy", generator(0, "test", "things").standard_normal((things, 3, 2)))
        np.save("m.npy", np.ones((things, 2)))
        assert main(["inspect", "t.npy", "m.npy", "--columns", "thing,sensor,subject"]) == 0
        assert f"experiment leave_two_out would be skipped: {words}" in capsys.readouterr().out


def test_cells_that_are_missing_as_nan_leave_out_what_cannot_do_without_them(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    values = generator(0, "test", "holes").standard_normal((12, 5, 3))
    values[0, 0, 0] = np.nan
    np.save("t.npy", values)
    np.save("m.npy", np.ones((12, 2)))
    assert main(["inspect", "t.npy", "m.npy", "--columns", "thing,sensor,subject", "--json"]) == 0
    skipped = json.loads(capsys.readouterr().out)["skipped"]
    assert {"speedup", "leave_two_out", "clusters"} <= set(skipped)
    assert {"accuracy", "sparsity", "missing", "rank"}.isdisjoint(skipped)
    assert (
        skipped["speedup"]
        == "the printed algorithm, with which it compares, knows no missing cells"
    )
