"""Algorithm 3 as the paper prints it, for comparison."""

from collections.abc import Sequence
from types import ModuleType

import numpy as np

from scoup.coupled import CoupledData
from scoup.factors import column_norms, factor_match_score, scale_columns, unwrap
from scoup.merges._shared import Matching, common_rows, sampled_rows
from scoup.records import Array, Fit, Sample

LABEL = "paper merge"
NEEDS_SCALE = False


def merge(
    fits: Sequence[Fit], samples: Sequence[Sample], data: CoupledData, finish: ModuleType
) -> tuple[list[Array], Matching]:
    """Match each factor separately by signed inner products, greedily, first come first served.

    The list of free columns is reset for each repetition, and each lambda follows the match of its
    factor.
    """
    del finish
    flat, permutations, all_rows = [], [], sampled_rows(samples)
    for position, rows in enumerate(all_rows):
        pieces = [unwrap(fit.factors)[position] for fit in fits]
        norms = [
            column_norms(piece[sample.common_rows[position]])
            for piece, sample in zip(pieces, samples, strict=True)
        ]
        placed = []
        for piece, norm, sample in zip(pieces, norms, samples, strict=True):
            factor = np.zeros((rows.size, piece.shape[1]))
            factor[np.searchsorted(rows, sample.indices[position])] = scale_columns(piece, norm)
            placed.append(factor)
        merged, orders = _merge_columns(placed, np.searchsorted(rows, samples[0].common[position]))
        lambdas = [np.where(n > 0, n, 1.0)[order] for n, order in zip(norms, orders, strict=True)]
        flat.append((merged * np.mean(lambdas, axis=0)).astype(data.dtype))
        permutations.append(orders)
    agree = all(np.array_equal(permutations[0], orders) for orders in permutations[1:])
    return flat, Matching(all_rows, _scores_with_first(fits, samples), (), 0, agree)


def _merge_columns(placed: Sequence[Array], common: Array) -> tuple[Array, list[Array]]:
    """Merge one factor; return it and the columns of each repetition in merged order."""
    merged = placed[0].copy()
    rank = merged.shape[1]
    orders = [np.arange(rank)]
    for factor in placed[1:]:
        free, order = list(range(rank)), np.zeros(rank, dtype=int)
        for column in range(rank):
            similarity = merged[common][:, free].T @ factor[common, column]
            chosen = free.pop(int(np.argmax(similarity)))
            empty = merged[:, chosen] == 0
            merged[empty, chosen] = factor[empty, column]
            order[chosen] = column
        orders.append(order)
    return merged, orders


def _scores_with_first(fits: Sequence[Fit], samples: Sequence[Sample]) -> tuple[float, ...]:
    commons = [
        common_rows(fit.factors.flat, sample) for fit, sample in zip(fits, samples, strict=True)
    ]
    return tuple(factor_match_score(commons[0], other) for other in commons)
