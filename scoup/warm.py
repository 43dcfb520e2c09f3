"""``python -m scoup.warm``: compile the kernels once, for all processes of this environment.

Part of ``make setup``. Otherwise the first jobs of a run would each compile them.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from scoup import kernels, pipeline
from scoup.block import HeldOut
from scoup.coupled import CoupledData
from scoup.estimators import CMTF, SCOUP
from scoup.fit import fit
from scoup.kernels import model_at
from scoup.kernels.rows import VECTOR_WIDTHS
from scoup.machine import one_thread
from scoup.records import Array
from scoup.seeds import generator
from scoup.shard import shard_tensor
from scoup.specs import PlanSpec
from scoup.tensor import SparseTensor


def forget_stale_code(folder: Path) -> None:
    """Delete compiled code older than the newest source of ``folder``.

    numba compares a kernel with its own file only, not with the files of the kernels that it calls.
    """
    newest = max(source.stat().st_mtime for source in folder.glob("*.py"))
    for compiled in folder.glob("__pycache__/*.nb[ic]"):
        if compiled.stat().st_mtime < newest:
            compiled.unlink()


def warm() -> None:
    """Run a fit of each kind: dense and sparse, complete and with missing cells, at every width.

    The long mode is long enough for compression, for the passes that only large factors take, and
    for none of these fits to be a small one, which :mod:`scoup.kernels.loop` does in one call.
    """
    rng = generator(0, "warm")
    dense = rng.standard_normal((9, 2100, 14))
    matrices, observed = [rng.standard_normal((9, columns)) for columns in (5, 20)], dense > -1.5
    cells = SparseTensor.from_dense(dense * (dense > 1))
    links = SparseTensor.from_dense(matrices[0] * (matrices[0] > 0))
    hidden = HeldOut(SparseTensor.from_dense(dense * ~observed))
    complete = [CoupledData(dense, {0: matrices}), CoupledData(cells, {0: links})]
    for data in complete:
        SCOUP(2, sampling=1.5, repetitions=2, finish="complete", max_iter=2).fit(data)
    incomplete = [
        CoupledData(dense, {0: matrices}, observed),
        CoupledData(cells, {0: links}, hidden),
    ]
    for data in [*complete, *incomplete]:
        for rank in VECTOR_WIDTHS:
            factors = CMTF(rank, init="random", max_iter=2).fit(data).factors_
            for modes in (2, 3):
                model_at(hidden.cells.coords[:modes], factors.weights, factors.modes[:modes])
    incomplete[0].select([np.arange(size) for size in incomplete[0].sizes])
    for dtype in (np.float64, np.float32):
        _warm_small_and_sparse(dense.astype(dtype))
        for mask in (None, observed):
            data = CoupledData(dense.astype(dtype), {}, mask)
            CMTF(2, init="random", max_iter=2, constraints="nonnegative").fit(data)


def _warm_small_and_sparse(dense: Array) -> None:
    """Fit what jobs of both precisions have: small samples, cells in memory and on disk."""
    small = CoupledData(dense[:, :20])
    part = small.select([np.arange(size) for size in small.sizes])
    for init in ("parafac", "random"):
        CMTF(2, init=init, max_iter=2).fit(part)
    kernels.inner(dense, dense)
    for system in (np.eye(2), np.tile(np.eye(2), (dense.shape[1], 1, 1))):
        kernels.solve_and_contract(dense, dense[:, :2].swapaxes(1, 2), system, 1.0, np.empty(0))
    cells, links = (SparseTensor.from_dense(part * (part > 1)) for part in (dense, dense[:, 0]))
    for rank in VECTOR_WIDTHS:
        CMTF(rank, init="random", max_iter=2).fit(CoupledData(cells, {0: links}))
    with tempfile.TemporaryDirectory() as folder:
        for tensor in (cells, shard_tensor(cells, folder)):
            data = CoupledData(tensor, {0: links})
            SCOUP(2, init="random", finish="complete", max_iter=2).fit(data)


def load() -> None:
    """Run a small fit, dense and sparse, and one with missing cells: the kernels of most jobs are
    then in this process.

    The first call of a kernel takes numba half a second, even if it has been compiled before; the
    times of jobs would be those of loading.
    """
    dense = generator(0, "warm").standard_normal((9, 1000, 8))
    small = dense[:, :20]
    plan = PlanSpec(rank=2, sampling=1.5, repetitions=2, finish="complete", max_iter=2)
    with one_thread():
        for tensor in (small, SparseTensor.from_dense(small * (small > 1))):
            pipeline.run(CoupledData(tensor, {0: [dense[:, 0]]}), plan, seed=0)
        incomplete = CoupledData(dense, {0: [dense[:, 0]]}, dense > -1)
        for solver in ("als", "cd"):
            fit(incomplete, plan.replace(solver=solver), seed=0)


if __name__ == "__main__":
    argparse.ArgumentParser("python -m scoup.warm", description=__doc__).parse_args()
    forget_stale_code(Path(kernels.__file__).parent)
    warm()
