"""Read and write the files of a completion that jobs share: its rounds, and their products.

What has one row per index of the leading mode is stored by groups of shards, so that a job reads
the rows of its own shards only.
"""

from collections.abc import Sequence

import numpy as np

from scoup import store
from scoup.manifest import Manifest
from scoup.records import Array, Products, Request, Round
from scoup.store import PathLike

ROUND, PRODUCTS = "round", "products"


def write_round(path: PathLike, state: Round, manifest: Manifest) -> None:
    """Write a round."""
    leading, request = manifest.leading, state.request
    arrays = {f"all.factor{n}": f for n, f in enumerate(state.flat) if n != leading}
    by_row = {"leading": state.flat[leading]}
    if request is not None and request.gram.ndim == 3:
        by_row["gram"] = request.gram
    elif request is not None and request.solves:
        arrays["all.gram"] = request.gram
    if request is not None and request.rest.size:
        by_row["rest"] = request.rest
    for number, rows in enumerate(manifest.group_rows()):
        arrays |= {f"group{number}.{name}": array[rows] for name, array in by_row.items()}
    meta = {
        "factors": len(state.flat),
        "rank": state.flat[0].shape[1],
        "order": state.order,
        "losses": state.losses,
        "matching": state.matching,
        "request": request and {"mode": request.mode, "weight": request.weight},
    }
    store.write_archive(path, ROUND, meta, arrays)


def read_round(path: PathLike, manifest: Manifest, groups: Sequence[int] | None = None) -> Round:
    """Read what :func:`write_round` wrote, and of the leading mode the rows of ``groups`` only.

    Other rows are zeros that take no memory; without ``groups``, all are read.
    """
    meta, arrays = store.read_archive(path, ROUND, "all.")
    spans, length = manifest.group_rows(), manifest.shape[manifest.leading]
    by_row: dict[str, Array] = {}
    for number in range(len(spans)) if groups is None else groups:
        prefix = f"group{number}."
        for name, piece in store.read_archive(path, ROUND, prefix)[1].items():
            whole = np.zeros((length, *piece.shape[1:]), piece.dtype)
            by_row.setdefault(name.removeprefix(prefix), whole)[spans[number]] = piece
    by_row.setdefault("leading", np.zeros((length, meta["rank"])))
    flat = [
        by_row["leading"] if n == manifest.leading else np.array(arrays[f"all.factor{n}"])
        for n in range(meta["factors"])
    ]
    request = None
    if meta["request"]:
        gram = by_row.get("gram", arrays.get("all.gram", np.empty(0)))
        request = Request(gram=gram, rest=by_row.get("rest", np.empty(0)), **meta["request"])
    losses = {int(number): loss for number, loss in meta["losses"].items()}
    return Round(flat, meta["order"], losses, meta["matching"], request)


def write_products(path: PathLike, products: Products) -> None:
    """Write what one part of the shards answers to a request."""
    lists = {"rows": products.rows, "sums": products.sums}
    arrays = {f"{name}{n}": array for name, some in lists.items() for n, array in enumerate(some)}
    counts = {name: len(some) for name, some in lists.items()}
    store.write_archive(path, PRODUCTS, counts, arrays)


def read_products(path: PathLike) -> Products:
    """Read what :func:`write_products` wrote; large arrays are mapped."""
    counts, arrays = store.read_archive(path, PRODUCTS)
    rows, sums = ([arrays[f"{name}{n}"] for n in range(counts[name])] for name in ("rows", "sums"))
    return Products(rows, sums)
