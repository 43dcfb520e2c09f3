"""User-supplied files: each format gives the data that was written, and bad ones one sentence."""

import gzip
import re
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import io as scipy_io
from scipy import sparse

from scoup import CMTF, CoupledData, HeldOut, Observed, ScoupError, SparseTensor
from scoup.datasets.files import Options, paths, traits
from scoup.datasets.files.couple import couple_files, positions_among
from scoup.formats import Source, peek, read
from scoup.seeds import generator

NAMES = ("item", "place", "week")
SHAPE = (9, 7, 6)


def counts(seed=0, shape=SHAPE):
    """Sparse counts of which every index has some."""
    dense = generator(seed, "test", "files").poisson(0.6, shape).astype(float)
    for mode in range(len(shape)):
        dense[tuple(slice(None) if n == mode else 0 for n in range(len(shape)))] += 1
    return dense


def features(rows=SHAPE[0]):
    return generator(1, "test", "files").integers(0, 3, (rows, 4)).astype(float) + np.eye(rows, 4)


def cells(array):
    """Coordinates and values of the non-zeros, in an order of their own."""
    coords = np.argwhere(array)
    order = generator(2, "test", "files").permutation(len(coords))
    return coords[order], array[tuple(coords[order].T)]


def long_table(array, names):
    coords, values = cells(array)
    return pd.DataFrame({name: coords[:, n] for n, name in enumerate(names)} | {"value": values})


def write_tns(path, array):
    coords, values = cells(array)
    lines = "".join(
        f"{' '.join(map(str, at + 1))} {value:g}\n"
        for at, value in zip(coords, values, strict=True)
    )
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt") as file:
        file.write("# a comment\n" + lines)


def write_mtx(path, array):
    scipy_io.mmwrite(path, sparse.coo_array(array))


def write_sparse_npz(path, array):
    coords, values = cells(array)
    np.savez(path, coords=coords.T, values=values, shape=array.shape)


def write_subs(path, array):
    coords, values = cells(array)
    scipy_io.savemat(
        path, {"subs": coords + 1.0, "vals": values[:, None], "size": np.array(array.shape)}
    )


TENSORS = {
    "a.npy": np.save,
    "dense.npz": lambda path, array: np.savez(path, X=array),
    "sparse.npz": write_sparse_npz,
    "a.tns": write_tns,
    "a.tns.gz": write_tns,
    "a.csv": lambda path, array: long_table(array, NAMES).to_csv(path, index=False),
    "a.csv.gz": lambda path, array: long_table(array, NAMES).to_csv(path, index=False),
    "a.tsv": lambda path, array: long_table(array, NAMES).to_csv(path, index=False, sep="\t"),
    "a.txt": lambda path, array: long_table(array, NAMES).to_csv(path, index=False, sep=";"),
    "a.parquet": lambda path, array: long_table(array, NAMES).to_parquet(path),
    "dense.mat": lambda path, array: scipy_io.savemat(path, {"X": array}, do_compression=True),
    "subs.mat": write_subs,
}
SIDES = ("item", "feature")
MATRICES = {
    "b.npy": np.save,
    "b.npz": np.savez,
    "scipy.npz": lambda path, array: sparse.save_npz(path, sparse.csr_array(array)),
    "coo.npz": lambda path, array: sparse.save_npz(path, sparse.coo_array(array)),
    "b.tns": write_tns,
    "b.csv": lambda path, array: long_table(array, SIDES).to_csv(path, index=False),
    "b.parquet": lambda path, array: long_table(array, SIDES).to_parquet(path),
    "wide.csv": lambda path, array: pd.DataFrame(array, columns=list("pqrs")).to_csv(
        path, index_label="item"
    ),
    "wide.parquet": lambda path, array: (
        pd.DataFrame(array, columns=list("pqrs")).reset_index().to_parquet(path)
    ),
    "b.mat": lambda path, array: scipy_io.savemat(path, {"Y": array}),
    "sparse.mat": lambda path, array: scipy_io.savemat(path, {"Y": sparse.csc_array(array)}),
    "b.mtx": write_mtx,
}


def same_factors(dataset, tensor, matrix):
    """Whether a fit to what was read is a fit to the same data in memory, to the last bit."""
    as_read = [isinstance(block.values, SparseTensor) for block in dataset.data.blocks]
    given = [
        SparseTensor.from_dense(a) if kept else a
        for a, kept in zip((tensor, matrix), as_read, strict=True)
    ]
    ours, theirs = (
        CMTF(2, max_iter=5, init="random").fit(data).factors_
        for data in (dataset.data, CoupledData(given[0], {0: given[1]}))
    )
    assert all(
        np.array_equal(one, other) for one, other in zip(ours.flat, theirs.flat, strict=True)
    )


@pytest.mark.parametrize("name", TENSORS)
def test_a_tensor_in_each_format_gives_the_same_factors_as_in_memory(tmp_path, name):
    TENSORS[name](tmp_path / name, counts())
    np.save(tmp_path / "b.npy", features())
    options = {
        "tensor": str(tmp_path / name),
        "matrices": [{"file": str(tmp_path / "b.npy"), "mode": 0}],
    }
    dataset = couple_files(Options(**options))
    assert dataset.data.shape == SHAPE
    same_factors(dataset, counts(), features())


@pytest.mark.parametrize("name", MATRICES)
def test_a_matrix_in_each_format_gives_the_same_factors_as_in_memory(tmp_path, name):
    MATRICES[name](tmp_path / name, features())
    TENSORS["a.csv"](tmp_path / "a.csv", counts())
    layout = {"layout": "wide"} if name.startswith("wide") else {}
    options = {
        "tensor": str(tmp_path / "a.csv"),
        "matrices": [{"file": str(tmp_path / name), "mode": "item"} | layout],
    }
    same_factors(couple_files(Options(**options)), counts(), features())


@pytest.mark.parametrize("shape", [(5, 4, 3, 6), (4, 3, 5, 2, 6)])
@pytest.mark.parametrize("name", ["a.tns", "sparse.npz", "a.npy", "a.csv"])
def test_any_number_of_modes(tmp_path, name, shape):
    array = counts(3, shape)
    if name == "a.csv":
        long_table(array, [f"m{n}" for n in range(len(shape))]).to_csv(tmp_path / name, index=False)
    else:
        TENSORS[name](tmp_path / name, array)
    values = couple_files(Options(tensor=str(tmp_path / name))).data.blocks[0].values
    assert np.array_equal(values.to_dense() if isinstance(values, SparseTensor) else values, array)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize(
    ("form", "field"),
    [("dense", "real"), ("dense", "integer"), ("sparse", "real"), ("sparse", "pattern")],
)
def test_matrix_market_as_scipy_writes_it(tmp_path, form, symmetric, field):
    matrix = features(4) + features(4).T if symmetric else features(4)
    matrix = (matrix > 1).astype(float) if field == "pattern" else matrix
    given_ = sparse.coo_array(matrix) if form == "sparse" else matrix
    scipy_io.mmwrite(
        tmp_path / "a.mtx", given_, field=field, symmetry="symmetric" if symmetric else "general"
    )
    values = read(Source(file=str(tmp_path / "a.mtx"))).values
    assert np.array_equal(values.to_dense() if isinstance(values, SparseTensor) else values, matrix)


def write(folder, name, text):
    path = folder / name
    path.write_text(text)
    return str(path)


def test_labels_of_any_type_are_kept_in_their_order(tmp_path):
    text = "who, n ,day,count\nzoë,10,2008-02-01,1\n Ann ,9,2008-01-01,2\n\nzoë,10,2008-02-01,3\n"
    dataset = couple_files(Options(tensor=write(tmp_path, "a.csv", text)))
    assert [label.name for label in dataset.labels] == ["who", "n", "day"]
    assert [label.ids.tolist() for label in dataset.labels] == [
        ["Ann", "zoë"],
        [9, 10],
        ["2008-01-01", "2008-02-01"],
    ]
    assert dataset.data.blocks[0].values.to_dense()[1, 1, 1] == 4


def test_parquet_keeps_dates_and_numbers(tmp_path):
    days = pd.to_datetime(["2008-02-01", "2008-01-01"]).date
    frame = pd.DataFrame({"a": [2.5, 1.5], "b": [True, False], "c": days})
    frame.to_parquet(tmp_path / "a.parquet")
    content = read(Source(file=str(tmp_path / "a.parquet")))
    assert [ids.tolist() for ids in content.ids] == [
        [1.5, 2.5],
        ["False", "True"],
        ["2008-01-01", "2008-02-01"],
    ]


def test_a_table_without_a_heading_counts_its_lines(tmp_path):
    content = read(Source(file=write(tmp_path, "a.txt", "7\t1\t5\n7\t1\t5\n8\t1\t6\n")))
    assert content.names == ("column1", "column2", "column3")
    assert content.values.values.tolist() == [2.0, 1.0]


def test_rows_of_a_matrix_find_their_mode_by_label(tmp_path):
    tensor = write(tmp_path, "a.csv", "who,b,c\nx,1,1\ny,2,2\nz,1,2\n")
    links = write(tmp_path, "links.csv", "user,friend\nz,p\nnobody,q\nx,q\n")
    wide = write(tmp_path, "wide.csv", "user,age,height\nz,30,\nx,20,1.5\n")
    matrices = [{"file": links, "mode": "who"}, {"file": wide, "mode": 0, "layout": "wide"}]
    dataset = couple_files(Options(tensor=tensor, matrices=matrices))
    friends, facts = dataset.data.blocks[1:]
    assert friends.values.to_dense().tolist() == [[0, 1], [0, 0], [1, 0]]
    assert facts.values.tolist() == [[20, 1.5], [0, 0], [30, 0]]
    assert facts.mask.tolist() == [[True, True], [False, False], [True, False]]
    assert dataset.facts["left_out"] == [1, 0]
    assert [label.ids.tolist() for label in dataset.labels[3:]] == [["p", "q"], ["age", "height"]]


def test_a_table_with_a_row_for_each_position_names_the_mode(tmp_path):
    np.save(tmp_path / "a.npy", counts())
    wide = write(
        tmp_path,
        "wide.csv",
        "thing,p,q\n" + "".join(f"{name},{n},1\n" for n, name in enumerate("zyxwvutsr")),
    )
    matrices = [{"file": wide, "mode": 0, "layout": "wide"}]
    dataset = couple_files(Options(tensor=str(tmp_path / "a.npy"), matrices=matrices))
    assert "".join(dataset.labels[0].ids) == "zyxwvutsr"
    assert dataset.data.blocks[1].values[:, 0].tolist() == list(range(9))
    assert dataset.facts["left_out"] == [0]


def test_a_file_of_labels_fixes_order_and_size_and_brings_facts(tmp_path):
    tensor = write(tmp_path, "a.csv", "who,b,c\nx,1,1\ny,2,2\n")
    people = write(tmp_path, "people.csv", "name,category\ny,old\nq,old\nx,new\n")
    dataset = couple_files(Options(tensor=tensor, labels={"who": people}))
    assert dataset.data.shape == (3, 2, 2)
    assert dataset.labels[0].ids.tolist() == ["y", "q", "x"]
    assert dataset.labels[0].columns["category"].tolist() == ["old", "old", "new"]
    assert dataset.data.blocks[0].values.coords[0].tolist() == [0, 2]


def test_missing_cells_of_dense_data(tmp_path):
    holes = counts()
    holes[0, 1, 2] = np.nan
    known = np.ones(SHAPE)
    known[3, 3, 3] = 0
    np.save(tmp_path / "a.npy", holes)
    np.save(tmp_path / "known.npy", known)
    source = {"file": str(tmp_path / "a.npy"), "observed": str(tmp_path / "known.npy")}
    block = couple_files(Options(tensor=source)).data.blocks[0]
    assert np.argwhere(~block.mask).tolist() == [[0, 1, 2], [3, 3, 3]]


def test_missing_cells_of_sparse_data(tmp_path):
    tensor = write(tmp_path, "a.csv", "a,b,c,value\n1,1,1,2\n1,2,2,0\n2,2,2,5\n")
    hidden = write(tmp_path, "hidden.csv", "a,b,c\n2,1,1\n")
    block = couple_files(Options(tensor={"file": tensor, "missing": hidden})).data.blocks[0]
    assert isinstance(block.mask, HeldOut)
    assert block.mask.cells.coords.T.tolist() == [[1, 0, 0]]
    block = couple_files(Options(tensor={"file": tensor, "observed": "listed"})).data.blocks[0]
    assert isinstance(block.mask, Observed)
    assert block.observed == 3  # a listed zero is known to be zero


MARKET = "%%MatrixMarket matrix coordinate real general\n"
BAD = {
    "a.csv": [
        (
            "a,b,c,value\n1,2,3,4\n1,2,3,x\n",
            "a.csv, line 3, column 'value': expected a finite number, got 'x'.",
        ),
        (
            "a,b,c,value\n1,2,3,4\n1,2,3\n",
            "a.csv, line 3: expected 4 columns (a, b, c, value), got 3.",
        ),
        ("a,b,c\n1,2,3\n1,,3\n", "a.csv, line 3, column 'b': expected a label, got nothing."),
        ("a,b,c\n", "a.csv: expected lines below the heading, got none."),
        (
            "a,a,c\n1,2,3\n",
            "a.csv, line 1: expected a different name for each column, got 'a', 'a', 'c'.",
        ),
        ("a,b\n1,2\n", "a.csv: expected three modes or more, got 2; perhaps it is a matrix."),
        (
            "a,b,c,value\n" + "1,2,3,4\n" * 300_000 + "\n1,2,3,inf\n",
            "a.csv, line 300003, column 'value': expected a finite number, got 'inf'.",
        ),
        ('a,b,c\n1,2,"3\n', "a.csv, line 2: expected whole cells between quotation marks"),
        ('a,b,c\n1,2,"3\n4,5,6\n', "a.csv, line 2: expected whole cells"),
    ],
    "a.tns": [
        ("1 2 3 4\n1 2 x 4\n", "a.tns, line 2: expected indices from 1 and a value"),
        ("1 2 3 4\n0 2 1 4\n", "as many on each line, got '0 2 1 4'."),
        ("# few\n1 2 3 4\n" * 300_000 + "1 2 3\n", "a.tns, line 600001: expected indices from 1"),
    ],
    "a.npy": [("junk", "a.npy: expected a whole .npy file of numbers, got another one (")],
    "a.npz": [("junk", "a.npz: expected a whole .npz file of numbers, got another one (")],
    "a.mat": [
        (
            "junk",
            "a.mat: expected a whole MATLAB 5 file, got another one (4 bytes are too few for",
        )
    ],
    "a.mtx": [
        (
            "junk",
            "a.mtx, line 1: expected %%MatrixMarket matrix coordinate|array real|integer|",
        ),
        (f"{MARKET}2 2 1\n3 1 1\n", "a.mtx: expected cells within 2 x 2"),
        (f"{MARKET}2 2 2\n1 1 1\n", "a.mtx: expected 2 numbers, as stated"),
        (f"{MARKET}%\n2 2 1\n1 1 x\n", "a.mtx, line 4: expected row and column"),
    ],
    "a.parquet": [("junk", "a.parquet: expected a whole Parquet file, got another one (")],
    "a.xls": [("junk", "a.xls: expected a name that ends in one of .csv, ")],
}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [(n, *case) for n, cases in BAD.items() for case in cases],
    ids=lambda text: text[:20],
)
def test_a_bad_file_gives_one_sentence_with_file_line_and_column(tmp_path, name, text, words):
    with pytest.raises(ScoupError) as error:
        couple_files(Options(tensor=write(tmp_path, name, text)))
    assert words in str(error.value).replace(f"{tmp_path}/", "")


BAD_OPTIONS = {
    "no tensor": ({}, "tensor: expected a value, got nothing; write 'tensor:'."),
    "unknown key": (
        {"tensor": "a.csv", "matrix": []},
        "matrix: expected one of the keys tensor, matrices, labels, roles, got 'matrix'",
    ),
    "unknown setting": (
        {"tensor": {"file": "a.csv", "sep": ","}},
        "tensor: sep: expected one of the keys file, columns, ",
    ),
    "both masks": (
        {"tensor": {"file": "a.csv", "missing": "m", "observed": "o"}},
        "a.csv: expected either 'missing' or 'observed', got both.",
    ),
    "columns as a word": (
        {"tensor": {"file": "a.csv", "columns": "abc"}},
        "tensor: columns: expected a list of",
    ),
    "a number for a switch": (
        {"tensor": "a.csv", "matrices": [{"file": "b.csv", "dense": 1}]},
        "matrices.0: dense: expected true or false, got 1.",
    ),
}


@pytest.mark.parametrize(("options", "words"), BAD_OPTIONS.values(), ids=BAD_OPTIONS)
def test_bad_options_are_refused(options, words):
    with pytest.raises(ScoupError, match=re.escape(words)):
        Options(**options)


def test_a_matrix_that_fits_nowhere_is_refused(tmp_path):
    tensor = write(tmp_path, "a.csv", "a,b,c\n1,1,1\n")
    other = write(tmp_path, "b.csv", "user,friend\nann,bob\n")
    with pytest.raises(
        ScoupError, match=r"expected labels of a, such as '1', got none of user, such as 'ann'"
    ):
        couple_files(Options(tensor=tensor, matrices=[{"file": other, "mode": "a"}]))
    with pytest.raises(ScoupError, match="write the mode that its rows are as 'mode'"):
        couple_files(Options(tensor=tensor, matrices=[other]))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A good file of each format."""
    folder = tmp_path_factory.mktemp("written")
    for name, writer in TENSORS.items():
        writer(folder / name, counts())
    for name, writer in MATRICES.items():
        writer(folder / name, features())
    return folder


def refusal(look, source):
    """What a reader says of a file it refuses, None if it takes it; anything but a sentence of
    ours goes through.
    """
    try:
        look(source)
    except ScoupError as error:
        return str(error)
    return None


@pytest.mark.parametrize("name", [*TENSORS, *MATRICES])
@settings(max_examples=25)
@given(data=st.data())
def test_damaged_files_are_read_or_refused_in_one_sentence(written, tmp_path_factory, name, data):
    content = bytearray((written / name).read_bytes())
    cut = data.draw(st.integers(0, len(content)))
    content = content[:cut] if data.draw(st.booleans()) else content
    for place in data.draw(st.lists(st.integers(0, max(len(content) - 1, 0)), max_size=4)):
        if content:
            content[place] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damaged") / name
    path.write_bytes(content)
    source = Source(file=str(path), layout="wide" if name.startswith("wide") else "long")
    for look in (read, peek):
        sentence = refusal(look, source)
        assert sentence is None or (
            str(path) in sentence and "\n" not in sentence and sentence.endswith(".")
        )


@given(
    st.lists(st.tuples(*[st.integers(0, 4)] * 4), min_size=1, max_size=40),
    st.integers(0, 2**31),
)
def test_arrays_taken_over_are_the_tensor_that_is_made_of_copies(places_, seed):
    coords = np.array(places_, np.int32).T
    values = generator(seed, "test", "taken").standard_normal(coords.shape[1])
    plain = SparseTensor(coords, values, (5, 5, 5, 5))
    taken = SparseTensor.from_owned_arrays(coords.copy(), values.copy(), (5, 5, 5, 5))
    assert np.array_equal(plain.coords, taken.coords)
    assert np.array_equal(plain.values, taken.values)


def test_a_tensor_does_not_change_with_the_arrays_it_was_made_of():
    coords, values = np.array([[0, 1], [0, 1], [0, 1]], np.int32), np.array([1.0, 2.0])
    seen = values.view()
    seen.flags.writeable = False
    tensor = SparseTensor(coords, seen, (2, 2, 2))
    values[:] = 9
    assert tensor.values.tolist() == [1.0, 2.0]


@given(
    st.lists(st.integers(0, 20), min_size=1), st.lists(st.integers(0, 20), min_size=1, unique=True)
)
def test_labels_are_found_among_others(own, among):
    wanted = [among.index(one) if one in among else -1 for one in own]
    assert positions_among(np.array(own), np.array(among)).tolist() == wanted
    assert positions_among(np.array(own).astype(str), np.array(among)).tolist() == wanted


def test_traits_are_told_from_heads(tmp_path):
    tensor = write(tmp_path, "a.csv", "who,b,c\nx,1,1\ny,2,2\n")
    links = write(tmp_path, "links.csv", "b,friend\n1,p\n")
    people = write(tmp_path, "people.csv", "name,category\ny,old\n")
    matrices = [{"file": links, "mode": "b"}]
    plain = traits(Options(tensor=tensor, matrices=matrices, labels={"who": people}))
    assert (plain.names, plain.sparse, plain.matrices) == (("who", "b", "c"), True, (1,))
    assert not plain.missing
    assert not plain.categories
    source = {"file": tensor, "dense": True, "observed": "listed"}
    dense = traits(Options(tensor=source, matrices=matrices, labels={1: people}))
    assert (dense.sparse, dense.missing, dense.categories) == (False, True, True)


def test_every_file_is_named_once():
    source = {"file": "a.csv", "missing": "hidden.csv"}
    known = {"file": "b.csv", "observed": "listed"}
    options = Options(tensor=source, matrices=[known, "a.csv"], labels={"who": "people.csv"})
    assert paths(options) == ["a.csv", "hidden.csv", "b.csv", "people.csv"]


def test_listed_zeros_are_known_in_a_transposed_matrix_too(tmp_path):
    (tmp_path / "m.tns").write_text("1 1 0\n3 2 5\n")
    content = read(Source(file=str(tmp_path / "m.tns"), transpose=True), listed=True)
    assert content.values.shape == content.listed.shape == (2, 3)
    assert content.listed.coords.T.tolist() == [[0, 0], [1, 2]]


def test_wide_tables_say_nothing_in_many_ways(tmp_path):
    text = "thing,a,b\nx, NA ,1\ny,NaN,+2\nz,,-.5e1\n"
    values = read(Source(file=write(tmp_path, "a.csv", text), layout="wide")).values
    np.testing.assert_array_equal(values, [[np.nan, 1], [np.nan, 2], [np.nan, -5]])
    bad = Source(file=write(tmp_path, "b.csv", text + "u,1,two\n"), layout="wide")
    with pytest.raises(
        ScoupError, match=r"b.csv, line 5, column 'b': expected a number, got 'two'; perhaps"
    ):
        read(bad)


def test_a_long_list_of_cells_is_read_and_fitted_in_three_times_the_memory_of_its_file(
    tmp_path, monkeypatch
):
    shape, count = (3000, 2000, 1000, 100), 150_000
    places_ = generator(4, "test", "files").integers(1, shape, (count, 4))
    path = tmp_path / "a.tns"
    path.write_text("".join(f"{a} {b} {c} {d} 2.5\n" for a, b, c, d in places_.tolist()))
    # As for a tensor of a hundred times the size: blocks are small, and it is not arranged.
    monkeypatch.setattr("scoup.text.BLOCK_BYTES", 1 << 15)
    monkeypatch.setattr("scoup.kernels.sparse.MIN_LISTED_CELLS", 1000)
    # Modules and kernels that the first call loads are no part of the data: the second is measured.
    for _ in range(2):
        tracemalloc.start()
        try:
            dataset = couple_files(Options(tensor=str(path)))
            CMTF(2, max_iter=2, init="random").fit(dataset.data)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        del dataset
    assert peak < 3 * path.stat().st_size
