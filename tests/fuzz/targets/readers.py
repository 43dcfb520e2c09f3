"""Readers of every format, found by listing scoup/formats, and of label files."""

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from scipy import io, sparse

from scoup.datasets.files.labels import read_labels
from scoup.errors import ScoupError
from scoup.formats import Source, endings, formats, is_table, peek, preview, read
from tests.fuzz.mutate import VALUES, odd_array, packed

COLUMNS = ("mode0", "mode1", "mode2", "value")
PARTS = ("coords", "values", "shape", "format", "data", "indices", "indptr", "row", "col", "a")
MORE = {
    ".csv": b'a,b,c,value\n"x, y",1,2024-01-01,1.5\n\xc3\xbc,2,2024-01-02,2\n',
    ".tsv": b"a\tb\tvalue\nx\t1\t2\ny\t2\t\n",
    ".txt": b"bear\ncat\ndog\n",
    ".mtx": b"%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n",
    ".tns": b"# comment\n1 1 1 1.0\n2 3 4 -2e-3\n\n10 10 10 1\n",
}


def prepare(folder):
    """Write a good file for each ending and return its bytes."""
    array = np.arange(24.0).reshape(2, 3, 4) % 5
    material = []
    for module in formats():
        dense = array[: getattr(module, "MAX_MODES", 3)]
        dense = dense[0] if getattr(module, "MAX_MODES", 3) == 2 else array
        for ending in endings(module):
            path = folder / f"good{ending.removesuffix('.gz')}"
            module.write(str(path), dense)
            material.append((ending, path.read_bytes()))
            if ending.removesuffix(".gz") in MORE:
                material.append((ending, MORE[ending.removesuffix(".gz")]))
    return folder, material


def attempt(rng, material):
    """Damage a good file, or write odd content into a whole one, and read it in every way."""
    folder, good = material
    ending, content = rng.choice(good)
    path = folder / f"bad{ending}"
    writer = ODD.get(ending)
    if writer and rng.random() < 0.5:
        writer(rng, path)
    else:
        path.write_bytes(packed(rng, content, ending))
    settings = {"file": str(path), "transpose": rng.random() < 0.1}
    if rng.random() < 0.2:
        settings["columns"] = rng.sample(COLUMNS, rng.randint(1, 4))
    if rng.random() < 0.1:
        settings |= {"value": rng.choice(COLUMNS)}
    if rng.random() < 0.1:
        settings |= {"variable": rng.choice(PARTS)}
    if is_table(path) and rng.random() < 0.4:
        settings |= {"layout": "wide"}
    source = Source(**settings)
    looks = [lambda: read(source, listed=rng.random() < 0.2), lambda: peek(source)]
    if is_table(path):
        looks += [lambda: preview(str(path), rng.choice((0, 2, None))), lambda: _labels(path)]
    try:
        rng.choice(looks)()
    except ScoupError as error:
        if str(path) not in str(error):
            raise AssertionError(f"the file is not named: {error}") from None
        raise


def _labels(path):
    ids, columns = read_labels(str(path))
    if any(len(column) != len(ids) for column in columns.values()):
        raise AssertionError("columns of different lengths")


def _odd_npz(rng, path):
    names = rng.sample(PARTS, rng.randint(1, 5))
    if rng.random() < 0.5:
        names = ["coords", "values", "shape"] if rng.random() < 0.5 else [*PARTS[2:7]]
    arrays = {name: odd_array(rng) for name in names}
    if "format" in arrays:
        arrays["format"] = np.array(rng.choice((b"csr", b"coo", b"csc", b"", b"\xff")))
    np.savez(path, **arrays)


def _odd_mat(rng, path):
    name = rng.choice(("a", "subs", "vals", "size"))
    choices = (
        lambda: {name: odd_array(rng, ("f8", "f4", "i4", "u1", "?", "c16", "U3"))},
        lambda: {"subs": odd_array(rng, ("f8", "i4")), "vals": odd_array(rng, ("f8", "c16"))},
        lambda: {name: {"field": odd_array(rng, ("f8",))}},
        lambda: {name: np.array([odd_array(rng, ("f8",)), "x"], object)},
        lambda: {name: sparse.random_array((3, 4), density=0.5, rng=rng.getrandbits(32))},
    )
    io.savemat(path, rng.choice(choices)(), do_compression=rng.random() < 0.5)


def _fitting(cell, kind):
    return None if cell is None else f"{cell} {kind}"


def _odd_parquet(rng, path):
    lines = rng.randint(0, 3)

    def column():
        value = rng.choice(VALUES)
        cells = [value if rng.random() < 0.6 else rng.choice(VALUES) for _ in range(lines)]
        kind = rng.choice((pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.binary(),
                           pa.timestamp("ns"), pa.list_(pa.int64()), pa.null(), pa.uint64(),
                           pa.struct([("a", pa.int64())]), pa.decimal128(20, 3)))  # fmt: skip
        try:
            return pa.array(cells, kind)
        except Exception:  # cells of several kinds: each alone, or nothing
            return pa.array([_fitting(cell, kind) for cell in cells], pa.string())

    names = rng.sample((*COLUMNS, "__index_level_0__", "", "ü"), rng.randint(1, 5))
    table = pa.table([column() for _ in names], names=names)
    parquet.write_table(table, path)


ODD = {
    ".npy": lambda rng, path: np.save(path, odd_array(rng)),
    ".npz": _odd_npz,
    ".mat": _odd_mat,
    ".parquet": _odd_parquet,
    ".pq": _odd_parquet,
}
