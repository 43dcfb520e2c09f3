"""``python -m scoup.warm``: compile the kernels once, for all processes of this environment.

Part of ``make setup``. Otherwise the first jobs of a run would each compile them.
"""

import tempfile

from scoup.coupled import CoupledData, HeldOut
from scoup.estimators import CMTF, SCOUP
from scoup.kernels import model_at
from scoup.kernels.rows import VECTOR_WIDTHS
from scoup.seeds import generator
from scoup.shard import shard_tensor
from scoup.tensor import SparseTensor


def warm() -> None:
    """Run a fit of each kind: dense and sparse, complete and with missing cells, at every width.

    The long mode is long enough for compression and for the passes that only large factors take.
    """
    rng = generator(0, "warm")
    dense = rng.standard_normal((9, 2100, 12))
    matrices, observed = [rng.standard_normal((9, columns)) for columns in (5, 20)], dense > -1.5
    cells = SparseTensor.from_dense(dense * (dense > 1))
    links = SparseTensor.from_dense(matrices[0] * (matrices[0] > 0))
    hidden = HeldOut(SparseTensor.from_dense(dense * ~observed))
    complete = [CoupledData(dense, {0: matrices}), CoupledData(cells, {0: links})]
    for data in complete:
        SCOUP(2, sampling=1.5, repetitions=2, finish="complete", max_iter=2).fit(data)
    with tempfile.TemporaryDirectory() as folder:
        SCOUP(2, finish="complete", max_iter=2).fit(CoupledData(shard_tensor(cells, folder)))
    incomplete = [
        CoupledData(dense, {0: matrices}, observed),
        CoupledData(cells, {0: links}, hidden),
    ]
    for data in [*complete, *incomplete]:
        for rank in VECTOR_WIDTHS:
            factors = CMTF(rank, init="random", max_iter=2).fit(data).factors_
            model_at(hidden.cells.coords, factors.weights, factors.modes)


if __name__ == "__main__":
    warm()
