"""Roles: guessed from names and values, asked for where weak, and stars in the right words."""

from pathlib import Path

import numpy as np
import pytest
import yaml

import scoup
from scoup import ScoupError
from scoup.command import main
from scoup.evidence import Context
from scoup.experiments._records import Inputs
from scoup.experiments.anomaly import Spec
from scoup.experiments.anomaly.kinds import MIN_STAR_PARTNERS
from scoup.experiments.anomaly.measure import measure
from scoup.experiments.anomaly.order import arranged, order_of
from scoup.guess import guess
from scoup.reading import couple_guess
from scoup.records import ROLES, Labels
from scoup.roles import SURENESS, guess_roles
from scoup.seeds import generator
from tests.experiments.models import model

USERS, DAYS, PARTNERS = 60, 12, 15
USER_IDS = np.arange(100, 100 + USERS)
DATES = (np.datetime64("2007-01-01") + np.arange(DAYS)).astype(str)
CONTEXT = Context("anomaly", "x", "whole", "all", 0, "simulated")


def events(seed):
    """Noise, a star-out and a star-in of 15 partners or more: who, whom, when; and the stars."""
    rng = generator(seed, "test", "roles")
    noise = np.array([rng.integers(size, size=250) for size in (USERS, USERS, DAYS)])
    stars, cells = [], [noise]
    for kind, mode in (("out", 0), ("in", 1)):
        centre, day = int(rng.integers(USERS)), int(rng.integers(DAYS))
        partners = rng.choice(USERS, int(rng.integers(PARTNERS, 30)), replace=False)
        star = np.full((3, partners.size), day)
        star[mode], star[1 - mode] = centre, partners
        cells.append(star)
        stars.append((kind, mode, centre, day))
    who, whom, when = np.concatenate(cells, axis=1)
    return {"who": USER_IDS[who], "whom": USER_IDS[whom], "when": DATES[when]}, stars


def write(path, columns):
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    Path(path).write_text("\n".join(lines) + "\n")


def rows_of(path, **roles):
    """The table of anomalies of a file, and the names of whom, who and when."""
    dataset = couple_guess(guess([str(path)], roles=roles))
    bursts = model(dataset, "bursts", {"rank": 1, "max_iter": 2, "init": "random"})
    spec = Spec(datasets=["x"], plans=["bursts"], group_rank=1)
    facts = measure(Inputs(dataset, [bursts]), spec, CONTEXT).facts
    return facts["rows"], facts["names"]


def star_members(rows, names, words):
    """Centre, partners and day of every star by its word."""
    whom, who, when = names
    return {
        (words[row["kind"]], frozenset(row[who].split()), frozenset(row[whom].split()), row[when])
        for row in rows
        if row["kind"] in words and row["size"] >= MIN_STAR_PARTNERS
    }


ORDERS = {
    "poster,wall,day": ("who", "whom", "when"),
    "wall,poster,day": ("whom", "who", "when"),
    "day,sender,receiver": ("when", "who", "whom"),
    "a,b,t": ("who", "whom", "when"),
    "to,when,from": ("whom", "when", "who"),
}


def test_columns_in_any_order_give_the_same_stars_in_the_right_words(tmp_path):
    columns, _ = events(0)
    found = []
    for heading, order in ORDERS.items():
        names = heading.split(",")
        path = tmp_path / "events.csv"
        write(path, {name: columns[role] for name, role in zip(names, order, strict=True)})
        rows, (whom, who, when) = rows_of(path)
        words = {"star-out": "out", "star-in": "in"}
        if heading == "a,b,t":
            words = {"one a, many b": "out", "one b, many a": "in"}
        if heading == "to,when,from":
            who = "from (mode)"  # the table has another column of that name
        found.append(star_members(rows, (whom, who, when), words))
    assert found[0]
    assert all(stars == found[0] for stars in found)


@pytest.mark.parametrize("seed", range(20))
def test_planted_stars_are_in_the_table_with_all_members(tmp_path, seed):
    columns, stars = events(seed)
    write(tmp_path / "e.csv", {"day": columns["when"], "to": columns["whom"], "by": columns["who"]})
    rows, names = rows_of(tmp_path / "e.csv", by="who")
    listed = star_members(rows, names, {"star-out": "out", "star-in": "in"})
    who, whom, when = columns["who"], columns["whom"], columns["when"]
    for kind, mode, centre, day in stars:
        here = ((who, whom)[mode] == USER_IDS[centre]) & (when == DATES[day])
        sides = (frozenset(map(str, who[here])), frozenset(map(str, whom[here])))
        assert (kind, *sides, DATES[day]) in listed


NUMBERS, WORDS = np.arange(40), np.array([f"u{n}" for n in range(40)])
GUESSES = {
    "names": (["caller_id", "callee_id", "createdAt"], [NUMBERS] * 3, ["who", "whom", "when"]),
    "dates": (["a", "b", "c"], [DATES, WORDS, WORDS], ["when", "", ""]),
    "unix": (["a", "b", "c"], [NUMBERS, 1_200_000_000 + NUMBERS * 50, WORDS], ["", "when", ""]),
    "apart": (["a", "b", "c"], [WORDS, WORDS, NUMBERS[:9]], ["", "", "when"]),
    "weak": (["a", "b", "c"], [NUMBERS, WORDS, NUMBERS[:9]], ["", "", "when"]),
    "two users": (["user1", "user2", "day"], [WORDS, WORDS, NUMBERS], ["", "", "when"]),
    "two times": (["station", "hour", "day"], [WORDS, NUMBERS, WORDS], ["place", "when", "when"]),
    "images": (["noun", "voxel", "participant"], [WORDS] * 3, ["thing", "feature", "subject"]),
    "texts": (["a", "b", "c"], [WORDS] * 3, ["", "", ""]),
}


@pytest.mark.parametrize("case", GUESSES)
def test_guesses_by_names_and_values(case):
    names, ids, expected = GUESSES[case]
    guesses = guess_roles(names, ids)
    assert [one.role for one in guesses] == expected
    assert all(one.sureness in SURENESS and one.because for one in guesses if one.role)
    assert any(not one.is_settled for one in guesses if one.role) == (case == "weak")


def test_positions_are_no_times():
    guesses = guess_roles(["a", "b", "c"], [NUMBERS] * 3, keyed=False)
    assert not any(one.role for one in guesses)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    columns, _ = events(0)
    codes = np.unique(columns["when"], return_inverse=True)[1]
    texts = [f"u{user}" for user in columns["whom"]]
    write("weak.csv", {"a": columns["who"], "b": texts, "c": codes})
    write("sure.csv", {"day": columns["when"], "sender": columns["who"], "receiver": texts})
    return tmp_path


def test_new_asks_before_it_writes_and_an_answer_is_taken(folder, capsys):
    assert main(["new", "x", "weak.csv"]) == 2
    said = capsys.readouterr().err
    assert "c: is this mode 'when'" in said
    assert "--roles c=when if so, or --roles c=thing if not" in said
    assert not Path("x.yaml").exists()
    for answer, runs in (("c=when,a=who", True), ("2=thing", False)):
        Path("x.yaml").unlink(missing_ok=True)
        assert main(["new", "x", "weak.csv", "--roles", answer]) == 0
        written = yaml.safe_load(Path("x.yaml").read_text())
        assert (written["experiments"]["anomaly"] is not None) == runs
        assert "c: when, sure (as stated)" in capsys.readouterr().out or not runs


def test_inspect_and_new_say_how_sure_roles_are(folder, capsys):
    assert main(["inspect", "sure.csv"]) == 0
    assert "  day: when, sure (by its name and its dates)" in capsys.readouterr().out
    assert main(["inspect", "weak.csv"]) == 0
    assert "  question: c: is this mode 'when'" in capsys.readouterr().out
    assert main(["new", "x", "sure.csv"]) == 0
    assert "sender: who, sure (by its name)\n" in capsys.readouterr().out
    written = yaml.safe_load(Path("x.yaml").read_text())
    expected = {"day": "when", "sender": "who", "receiver": "whom"}
    assert written["datasets"]["x"]["options"]["roles"] == expected
    assert written["plans"]["bursts"]["sampling"] == [4, 1, 1]


@pytest.mark.parametrize("answer", ["c", "c=", "d=when", "c=time"])
def test_a_wrong_answer_is_one_sentence(folder, capsys, answer):
    assert main(["new", "x", "weak.csv", "--roles", answer]) == 2
    assert capsys.readouterr().err.startswith("scoup: ")


def test_a_role_must_be_known_and_a_mode_called_so_has_it():
    assert [Labels(role, np.arange(2)).role for role in ROLES] == list(ROLES)
    with pytest.raises(ScoupError, match="expected one of whom, who"):
        Labels("a", np.arange(2), role="time")
    with pytest.raises(ScoupError, match="of which one is 'when'"):
        order_of([Labels(name, np.arange(2)) for name in ("when", "who", "a")[1:]])


def test_matrices_follow_their_modes_into_the_order_of_events(tmp_path):
    write(tmp_path / "e.csv", {"day": [1, 2, 2], "sender": [5, 6, 5], "receiver": [7, 7, 8]})
    for name, rows in {"sender": 2, "receiver": 2, "day": 2}.items():
        np.save(tmp_path / f"{name}.npy", np.full((rows, 3), float(len(name))))
    files = [f"{tmp_path / name}.npy:{name}" for name in ("day", "receiver", "sender")]
    dataset = couple_guess(guess([str(tmp_path / "e.csv"), *files]))
    moved = arranged(dataset, order_of(dataset.labels[:3]))
    assert [label.name for label in moved.labels[:3]] == ["receiver", "sender", "day"]
    for block, name in zip(moved.data.blocks[1:], ("receiver", "sender", "day"), strict=True):
        assert float(block.values[0, 0]) == len(name)
    dense = dataset.data.blocks[0].values.to_dense().transpose(2, 1, 0)
    np.testing.assert_array_equal(moved.data.blocks[0].values.to_dense(), dense)


def test_read_gives_data_with_labels_and_roles(folder):
    write("links.csv", {"sender": [100, 101], "friend": [101, 102]})
    data = scoup.read("sure.csv", "links.csv", roles={"sender": "whom", 2: "who"})
    assert [label.role for label in data.labels[:3]] == ["when", "whom", "who"]
    assert data.labels[3].name == "friend"
    model = scoup.CMTF(2, init="random", max_iter=2).fit(data)
    assert len(model.factors_.modes[1]) == len(data.labels[1])


def test_row_i_of_a_factor_is_index_i_of_a_tns_file(tmp_path):
    (tmp_path / "x.tns").write_text("1 1 3 2\n5 2 9 1\n")
    (tmp_path / "names.csv").write_text("polar bear\nb\nc\nd\ne\n")
    data = scoup.read(tmp_path / "x.tns", labels={0: tmp_path / "names.csv"})
    assert data.shape == (5, 2, 9)
    assert data.labels[2].ids.tolist() == list(range(1, 10))
    assert data.labels[0].ids.tolist() == ["polar bear", "b", "c", "d", "e"]
    assert data.blocks[0].values.to_dense()[4, 1, 8] == 1
    (tmp_path / "names.csv").write_text("name\npolar bear\nb\nc\nd\ne\n")
    again = scoup.read(tmp_path / "x.tns", labels={"mode0": tmp_path / "names.csv"})
    assert again.labels[0].ids.tolist() == data.labels[0].ids.tolist()


@pytest.mark.parametrize("heading", ["", "wall\n"])
def test_one_column_of_labels_with_or_without_a_heading(tmp_path, heading):
    write(tmp_path / "e.csv", {"wall": ["ann", "bob"], "poster": ["x", "y"], "day": [1, 2]})
    (tmp_path / "walls.csv").write_text(f"{heading}bob\nann\ncem\n")
    data = scoup.read(tmp_path / "e.csv", labels={"wall": tmp_path / "walls.csv"})
    assert data.labels[0].ids.tolist() == ["bob", "ann", "cem"]
