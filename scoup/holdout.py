"""Hold out cells of the tensor: the missing-value variants of a data set."""

from dataclasses import dataclass
from math import prod

import numpy as np

from scoup.block import Block, HeldOut, Mask, Observed
from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.records import Array
from scoup.seeds import generator
from scoup.specs import VariantSpec
from scoup.tensor import SparseTensor, can_number


@dataclass(frozen=True, eq=False)
class HoldOut:
    """Data with cells hidden, and the truth about them: coords (N, n) and values (n,).

    >>> hidden = hold_out(CoupledData(np.ones((2, 2, 2))), 0.25, seed=0)
    >>> hidden.coords.shape, hidden.truth.tolist()
    ((3, 2), [1.0, 1.0])
    """

    data: CoupledData
    coords: Array
    truth: Array


def hold_out(data: CoupledData, fraction: float, seed: int) -> HoldOut:
    """Hide a random ``fraction`` of the tensor's observed cells; matrices stay whole.

    In a dense tensor every observed cell is equally likely. In a sparse one non-zeros are hidden
    with that probability together with as many zeros, since hiding almost only zeros would not
    test a model.

    >>> data = CoupledData(np.arange(1.0, 9.0).reshape(2, 2, 2))
    >>> hidden = hold_out(data, 0.5, seed=0)
    >>> hidden.data.blocks[0].observed, sorted(set(hidden.truth) - set(np.arange(1.0, 9.0)))
    (4, [])
    """
    VariantSpec(fraction=fraction)
    tensor = data.blocks[0]
    if tensor.is_streamed and not fraction:
        return HoldOut(data, np.empty((data.ndim, 0), np.int32), np.empty(0))
    if isinstance(tensor.values, np.ndarray) and tensor.mask is None and not fraction:
        # A mask of all cells, and their numbers, would take more memory than the tensor.
        return HoldOut(data, np.empty((data.ndim, 0), np.int64), tensor.values.reshape(-1)[:0])
    rng = generator(seed, "holdout", f"{fraction:.6f}")
    pick = _pick_sparse if tensor.is_sparse else _pick_dense
    mask, coords, truth = pick(tensor, fraction, rng)
    return HoldOut(data.with_tensor_mask(mask), coords, truth)


def _pick_dense(
    tensor: Block, fraction: float, rng: np.random.Generator
) -> tuple[Mask, Array, Array]:
    assert isinstance(tensor.values, np.ndarray)
    known = (
        np.flatnonzero(np.asarray(tensor.mask))
        if tensor.mask is not None
        else np.arange(tensor.values.size)
    )
    hidden = np.sort(
        rng.choice(known, size=round(fraction * known.size), replace=False, shuffle=False)
    )
    mask = np.zeros(tensor.values.size, dtype=bool)
    mask[known] = True
    mask[hidden] = False
    coords = np.array(np.unravel_index(hidden, tensor.shape))
    return mask.reshape(tensor.shape), coords, tensor.values.reshape(-1)[hidden]


def _pick_sparse(
    tensor: Block, fraction: float, rng: np.random.Generator
) -> tuple[Mask, Array, Array]:
    values = tensor.in_memory
    assert isinstance(values, SparseTensor)
    if isinstance(tensor.mask, Observed):
        listed = tensor.mask.cells.coords
        hidden = rng.random(listed.shape[1]) < fraction
        rest = SparseTensor(listed[:, ~hidden], np.ones(np.count_nonzero(~hidden)), tensor.shape)
        return Observed(rest), listed[:, hidden], values.at(listed[:, hidden])
    chosen = values.coords[:, rng.random(values.nnz) < fraction]
    zeros = _random_zeros(values, chosen.shape[1], rng)
    coords = np.concatenate([chosen, zeros], axis=1)
    cells = SparseTensor(coords, np.ones(coords.shape[1]), tensor.shape)
    truth = values.at(cells.coords)
    if isinstance(tensor.mask, HeldOut):
        fresh = ~tensor.mask.cells.contains(cells.coords)
        both = np.concatenate([tensor.mask.cells.coords, cells.coords[:, fresh]], axis=1)
        union = SparseTensor(both, np.ones(both.shape[1]), tensor.shape)
        return HeldOut(union), cells.coords[:, fresh], truth[fresh]
    return HeldOut(cells), cells.coords, truth


def _random_zeros(values: SparseTensor, count: int, rng: np.random.Generator) -> Array:
    """Draw about ``count`` distinct cells that hold no non-zero."""
    if not can_number(values.shape):
        raise ScoupError.expected("fraction", "0 for a tensor of 2^63 cells or more", "another")
    flat = np.unique(rng.integers(prod(values.shape), size=count))
    coords = np.array(np.unravel_index(flat, values.shape))
    return coords[:, ~values.contains(coords)]
