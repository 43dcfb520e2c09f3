"""Algorithm 3 as the paper prints it, for comparison."""

from collections.abc import Sequence

import numpy as np

from scoup.coupled import CoupledData
from scoup.merges._filling import merge_by
from scoup.merges._shared import Matching
from scoup.records import Array, Fit, Sample
from scoup.specs import MergeSpec

LABEL = "paper merge"


def merge(
    fits: Sequence[Fit], samples: Sequence[Sample], data: CoupledData, spec: MergeSpec
) -> tuple[list[Array], Matching]:
    """Match each factor separately by signed inner products, greedily, first come first served.

    The list of free columns is reset for each repetition, and each lambda follows the match of its
    factor.
    """
    del spec
    return merge_by(assign, fits, samples, data)


def assign(merged: list[Array], pieces: list[Array]) -> list[Array]:
    """Assign the columns of each factor in order, each to the most similar one still free.

    >>> [order.tolist() for order in assign([np.eye(2)], [np.array([[1.0, 3.0], [2.0, 0.0]])])]
    [[1, 0]]
    """
    return [_greedy(left.T @ right) for left, right in zip(merged, pieces, strict=True)]


def _greedy(products: Array) -> Array:
    free, order = list(range(len(products))), []
    for column in products.T:
        order.append(free.pop(int(np.argmax(column[free]))))
    return np.array(order)
