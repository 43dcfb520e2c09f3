"""Data with known factors, and slow plain references, for the tests."""

import numpy as np
from hypothesis import strategies as st

from scoup import CoupledData, HeldOut, Observed, SparseTensor


def cp(factors, weights=None):
    """The dense tensor ``sum_f w_f a_f o b_f o ...`` by plain outer products."""
    rank = factors[0].shape[1]
    total = 0.0
    for f in range(rank):
        piece = np.array(1.0 if weights is None else weights[f])
        for factor in factors:
            piece = np.multiply.outer(piece, factor[:, f])
        total = total + piece
    return total


def planted(shape, rank, seed, side=10, modes=(0,), signed=True, noise=0.0, weights="paper"):
    """Return data of exact rank, plus noise relative to its spread, and its factors."""
    rng = np.random.default_rng(seed)
    truth = [rng.standard_normal((n, rank)) for n in (*shape, *[side] * len(modes))]
    if not signed:
        truth = [np.abs(factor) for factor in truth]

    def noisy(array):
        return array + noise * array.std() * rng.standard_normal(array.shape)

    tensor = noisy(cp(truth[: len(shape)]))
    matrices = {m: noisy(truth[m] @ truth[len(shape) + i].T) for i, m in enumerate(modes)}
    return CoupledData(tensor, matrices, weights=weights), truth


def hide(data, fraction, seed):
    """Return the dense data with a random share of tensor and matrix cells set to NaN."""
    rng = np.random.default_rng(seed)

    def holes(array):
        return np.where(rng.random(array.shape) < fraction, np.nan, array)

    return CoupledData(
        holes(data.tensor),
        {m: [holes(y) for y in group] for m, group in data.matrices.items()},
        weights=data.weights,
    )


def as_sparse(data):
    """The same dense data with every block kept in coordinates, masks as cell lists."""
    from scipy import sparse

    tensor, *sides = data.blocks

    def cells(block, missing):
        where = np.array(np.nonzero(~block.mask if missing else block.mask))
        return SparseTensor(where, np.ones(where.shape[1]), block.shape)

    def mask(block, reading):
        return None if block.mask is None else reading(cells(block, reading is HeldOut))

    def build(reading):
        return CoupledData(
            SparseTensor.from_dense(tensor.values),
            {b.factors[0]: sparse.csr_array(b.values) for b in sides},
            mask(tensor, reading),
            {b.factors[0]: mask(b, reading) for b in sides},
            data.block_weights,
        )

    return build(HeldOut), build(Observed)


def starts(data, rank, seed):
    """Random factors for every mode and side."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((size, rank)) for size in data.sizes]


@st.composite
def problems(draw, masked=False):
    """Random 3- and 4-way data, matrices on any modes, both weights, with holes if ``masked``."""
    shape = tuple(draw(st.lists(st.integers(3, 6), min_size=3, max_size=4)))
    modes = tuple(sorted(draw(st.sets(st.integers(0, len(shape) - 1)))))
    seed = draw(st.integers(0, 2**20))
    weights = draw(st.sampled_from(["paper", "balanced"]))
    noise = draw(st.sampled_from([0.1, 1.0]))
    data, _ = planted(shape, 2, seed, side=4, modes=modes, noise=noise, weights=weights)
    if masked:
        data = hide(data, draw(st.floats(0.05, 0.5)), seed)
    return data
