"""Algorithm 1 of the paper as printed: explicit unfolding, Khatri-Rao product and pseudoinverse.

Slow on purpose: it is the baseline that the paper compares with. Dense data without missing cells.
"""

from collections.abc import Sequence

import numpy as np

from scoup.block import Block
from scoup.errors import ScoupError
from scoup.factors import khatri_rao
from scoup.records import Array
from scoup.solvers import Solution, Stopping
from scoup.tensor import SparseTensor
from scoup.terms import Problem

NEEDS_DENSE = True


def solve(problem: Problem, flat: list[Array], stopping: Stopping) -> Solution:
    """Run Algorithm 1; block weights enter as ``sqrt(w)`` on the stacked rows.

    >>> from scoup.coupled import CoupledData
    >>> start = [np.ones((2, 1)) for _ in range(3)]
    >>> solution = solve(Problem.of(CoupledData(np.ones((2, 2, 2)))), start, Stopping(3, 0.0))
    >>> round(solution.costs[-1], 12)
    0.0
    """
    data = problem.data
    if data.is_masked:
        raise ScoupError.expected("solver", "als, cd or opt when cells are missing", "'reference'")
    tensor, *matrices = [
        _dense(block.scaled(-term.exponent) if term.exponent else block)
        for block, term in zip(data.blocks, problem.terms, strict=True)
    ]
    weights = [term.weight for term in problem.terms]
    order, roots = data.ndim, np.sqrt(weights)
    coupled = [[s for s, owner in enumerate(data.owners) if owner == n] for n in range(order)]
    rows = [
        _stacked(roots[0], _unfold(tensor, n), [roots[1 + s] * matrices[s] for s in sides], axis=1)
        for n, sides in enumerate(coupled)
    ]
    costs, reason = list[float](), ""
    for _ in range(stopping.max_iter):
        for n in range(order):
            sides = [roots[1 + s] * flat[order + s] for s in coupled[n]]
            others = khatri_rao([flat[m] for m in range(order) if m != n])
            columns = _stacked(roots[0], others, sides, axis=0)
            flat[n] = rows[n] @ np.linalg.pinv(columns).T
        for side, owner in enumerate(data.owners):
            flat[order + side] = matrices[side].T @ np.linalg.pinv(flat[owner]).T
        costs.append(_cost(_unfold(tensor, 0), matrices, data.owners, weights, flat))
        stopping.on_step(costs[-1])
        if reason := stopping.reason(costs, problem.rounding):
            break
    return Solution(flat, costs, reason or "max_iter")


def _unfold(tensor: Array, mode: int) -> Array:
    return np.moveaxis(tensor, mode, 0).reshape(tensor.shape[mode], -1)


# Copies of the whole tensor that Algorithm 1 does not make would flatter every contender.
def _stacked(root: float, part: Array, others: Sequence[Array], axis: int) -> Array:
    """Stack in float64, which a pseudoinverse of float32 factors needs."""
    part = part.astype(np.float64, copy=False) if root == 1 else root * part
    return np.concatenate([part, *others], axis) if others else part


def _dense(block: Block) -> Array:
    values = block.in_memory
    return values.to_dense() if isinstance(values, SparseTensor) else values


def _cost(
    unfolded: Array,
    matrices: Sequence[Array],
    owners: Sequence[int],
    weights: Sequence[float],
    flat: Sequence[Array],
) -> float:
    """The objective, from the residuals themselves."""
    order = len(flat) - len(owners)
    residual = flat[0] @ khatri_rao(flat[1:order]).T
    np.subtract(unfolded, residual, out=residual)
    np.multiply(residual, residual, out=residual)
    cost = weights[0] * float(np.sum(residual, dtype=np.float64))
    sides = flat[order:]
    for weight, matrix, owner, side in zip(weights[1:], matrices, owners, sides, strict=True):
        error = matrix - flat[owner] @ side.T
        cost += weight * float(np.sum(error * error, dtype=np.float64))
    return cost
