"""Algorithm 1 of the paper as printed: explicit unfolding, Khatri-Rao product and pseudoinverse.

Slow on purpose: it is the baseline the paper compares with. Dense data, nothing missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.factors import khatri_rao
from scoup.tensor import SparseTensor

Array = NDArray[Any]


def solve(
    data: CoupledData,
    flat: Sequence[Array],
    max_iter: int,
    tol: float,
    on_step: Callable[[float], None] = lambda cost: None,
) -> tuple[list[Array], list[float], str]:
    """Run Algorithm 1 from ``flat``; block weights enter as ``sqrt(w)`` on the stacked rows.

    >>> data = CoupledData(np.ones((2, 2, 2)))
    >>> round(solve(data, [np.ones((2, 1)) for _ in range(3)], 3, 0.0)[1][-1], 12)
    0.0
    """
    if data.is_masked:
        raise ScoupError.expected("solver", "als, cd or opt when cells are missing", "'reference'")
    tensor, *matrices = [_dense(block.values) for block in data.blocks]
    roots = np.sqrt(data.block_weights)
    unfolded = [
        np.moveaxis(tensor, mode, 0).reshape(tensor.shape[mode], -1) for mode in range(tensor.ndim)
    ]
    owners = [block.factors[0] for block in data.blocks[1:]]
    flat, costs, stop = list(flat), [], "max_iter"
    for _ in range(max_iter):
        for mode in range(tensor.ndim):
            mine = [side for side, owner in enumerate(owners) if owner == mode]
            others = [flat[n] for n in range(tensor.ndim) if n != mode]
            left = [roots[0] * unfolded[mode], *(roots[1 + side] * matrices[side] for side in mine)]
            right = [
                roots[0] * khatri_rao(others),
                *(roots[1 + side] * flat[tensor.ndim + side] for side in mine),
            ]
            flat[mode] = np.hstack(left) @ np.linalg.pinv(np.vstack(right)).T
        for side, owner in enumerate(owners):
            flat[tensor.ndim + side] = matrices[side].T @ np.linalg.pinv(flat[owner]).T
        costs.append(_cost(unfolded[0], matrices, owners, flat, data.block_weights))
        on_step(costs[-1])
        if len(costs) > 1 and abs(costs[-2] - costs[-1]) <= tol * costs[-2]:
            stop = "converged"
            break
    return flat, costs, stop


def _dense(values: Array | SparseTensor) -> Array:
    return values.to_dense() if isinstance(values, SparseTensor) else values


def _cost(
    unfolded: Array,
    matrices: Sequence[Array],
    owners: Sequence[int],
    flat: Sequence[Array],
    weights: Sequence[float],
) -> float:
    """The objective, from the residuals themselves."""
    order = len(flat) - len(matrices)
    residual = unfolded - flat[0] @ khatri_rao(flat[1:order]).T
    cost = weights[0] * float(np.sum(residual * residual, dtype=np.float64))
    for weight, matrix, owner, side in zip(
        weights[1:], matrices, owners, flat[order:], strict=True
    ):
        error = matrix - flat[owner] @ side.T
        cost += weight * float(np.sum(error * error, dtype=np.float64))
    return cost
