"""``python -m scoup.warm``: compile the kernels once, for every process that uses this environment.

Part of ``make setup``. Without it the first jobs of a run compile them, each of several at a time for itself.
"""

from __future__ import annotations

from scoup.coupled import CoupledData, HeldOut
from scoup.estimators import CMTF, SCOUP
from scoup.kernels import model_at
from scoup.kernels.rows import WIDTHS
from scoup.seeds import generator
from scoup.tensor import SparseTensor


def warm() -> None:
    """Make a fit of each kind: dense and sparse, whole and with missing cells, at ranks of every width of vector.

    The long mode is long enough for compression and for the passes that only large factors are given.
    """
    rng = generator(0, "warm")
    dense = rng.standard_normal((9, 2100, 12))
    sides, shown = [rng.standard_normal((9, columns)) for columns in (5, 20)], dense > -1.5
    cells, links = (
        SparseTensor.from_dense(dense * (dense > 1)),
        SparseTensor.from_dense(sides[0] * (sides[0] > 0)),
    )
    hidden = HeldOut(SparseTensor.from_dense(dense * ~shown))
    whole = [CoupledData(dense, {0: sides}), CoupledData(cells, {0: links})]
    for data in whole:
        SCOUP(2, sampling=1.5, repetitions=2, finish="complete", max_iter=2).fit(data)
    for data in [
        *whole,
        CoupledData(dense, {0: sides}, shown),
        CoupledData(cells, {0: links}, hidden),
    ]:
        for rank in WIDTHS:
            found = CMTF(rank, init="random", max_iter=2).fit(data).factors_
            model_at(hidden.cells.coords, found.weights, found.modes)


if __name__ == "__main__":
    warm()
