"""Kernels and sweeps of other libraries as contenders."""

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks import data
from scoup.records import Array
from scoup.tensor import SparseTensor

Run = Callable[[], dict[str, float] | None]


def pyttb_sparse(tensor: SparseTensor) -> Any:
    """Convert a sparse tensor to pyttb."""
    import pyttb

    subs = np.ascontiguousarray(tensor.coords.T.astype(np.int64))
    made = pyttb.sptensor(subs, tensor.values[:, None].copy(), tensor.shape, copy=False)
    # pygenten 0.1.5 misspells the numpy function that it would call for any other layout.
    made.subs = np.ascontiguousarray(made.subs)
    return made


def pyttb_dense(tensor: Array) -> Any:
    """Convert a dense tensor to pyttb, in Fortran order."""
    import pyttb

    return pyttb.tensor(np.asfortranarray(tensor), copy=False)


def load_genten(method: str, races: bool = False) -> Any:
    """Import GenTen, on one thread for ``MttkrpSingle`` unless ``races``.

    That method adds up without synchronisation: on several threads additions are lost, and the
    costs of two runs differ. It is GenTen's own choice on one thread, and the fastest on two.
    """
    if method == "MttkrpSingle" and not races:
        os.environ["OMP_NUM_THREADS"] = "1"
    import pygenten

    return pygenten


def genten_sweep(rank: int, method: str = "MttkrpDefault", sweeps: int = 5) -> Run:
    """GenTen's CP-ALS of the tensor alone: seconds per sweep, without set-up."""
    import pyttb

    pygenten = load_genten(method)
    tensor = pygenten.make_gt_sptensor(pyttb_sparse(data.load_wall()))
    start = pyttb.ktensor([np.asfortranarray(factor) for factor in data.start(data.FACEBOOK, rank)])
    options = {
        "rank": rank,
        "tol": 0.0,
        "printitn": 0,
        "mttkrp_method": getattr(pygenten.MTTKRP_Method, method),
    }

    def seconds(count: int) -> float:
        begin = time.perf_counter()
        pygenten.cp_als(tensor, init=pygenten.make_gt_ktensor(start), maxiters=count, **options)
        return time.perf_counter() - begin

    return lambda: {"seconds": (seconds(1 + sweeps) - seconds(1)) / sweeps}


def pyttb_mttkrp(rank: int, mode: int) -> Run:
    """pyttb's MTTKRP of one mode."""
    import pyttb

    tensor = pyttb_sparse(data.load_wall())
    start = pyttb.ktensor([np.asfortranarray(factor) for factor in data.start(data.FACEBOOK, rank)])
    return lambda: tensor.mttkrp(start, mode) is None or None


def scipy_mttkrps(rank: int, way: str = "fibres") -> Run:
    """All three MTTKRPs by scipy CSR products, with prepared indices.

    ``fibres``: sum each (mode, other) fibre over the third mode, scale, sum by row. ``cells``: one
    product with the gathered and multiplied rows of all cells.
    """
    tensor = data.load_wall()
    factors = data.start(tensor.shape, rank)
    plans = [(_fibre_plan if way == "fibres" else _cell_plan)(tensor, mode) for mode in range(3)]

    def run() -> None:
        for plan in plans:
            plan(factors)

    return run


def _cell_plan(tensor: SparseTensor, mode: int) -> Callable[[Sequence[Array]], Array]:
    left, right = (n for n in range(3) if n != mode)
    columns = np.arange(tensor.nnz)
    rows = sparse.csr_array(
        (tensor.values, (tensor.coords[mode], columns)), shape=(tensor.shape[mode], tensor.nnz)
    )
    return lambda factors: (
        rows @ (factors[left][tensor.coords[left]] * factors[right][tensor.coords[right]])
    )


def _fibre_plan(tensor: SparseTensor, mode: int) -> Callable[[Sequence[Array]], Array]:
    others = sorted((n for n in range(3) if n != mode), key=lambda n: tensor.shape[n])
    leaf, middle = others
    flat = tensor.coords[mode].astype(np.int64) * tensor.shape[middle] + tensor.coords[middle]
    fibres, which = np.unique(flat, return_inverse=True)
    inner = sparse.csr_array(
        (tensor.values, (which, tensor.coords[leaf])), shape=(fibres.size, tensor.shape[leaf])
    )
    cells = (fibres // tensor.shape[middle], np.arange(fibres.size))
    outer = sparse.csr_array((np.ones(fibres.size), cells), shape=(tensor.shape[mode], fibres.size))
    index = fibres % tensor.shape[middle]
    return lambda factors: outer @ ((inner @ factors[leaf]) * factors[middle][index])
