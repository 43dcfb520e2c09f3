"""Algorithm 3 as the paper prints it, kept for comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.coupled import CoupledData
from scoup.factors import column_norms, factor_match_score, scale_columns, unwrap
from scoup.merges._pieces import Pieces, common_rows, sampled_rows
from scoup.records import Fit, Sample

Array = NDArray[Any]


def merge_paper(fits: Sequence[Fit], samples: Sequence[Sample], data: CoupledData) -> Pieces:
    """Algorithm 3 as printed, each factor matched apart by signed inner product, greedily, first come first served.

    The list of free columns is reset for each repetition, and each lambda follows its own factor's match.
    """
    flat, permutations, held = [], [], sampled_rows(samples)
    for position, rows in enumerate(held):
        pieces = [unwrap(fit.factors)[position] for fit in fits]
        norms = [
            column_norms(p[s.common_rows[position]]) for p, s in zip(pieces, samples, strict=True)
        ]
        full = []
        for piece, norm, sample in zip(pieces, norms, samples, strict=True):
            whole = np.zeros((rows.size, piece.shape[1]))
            whole[np.searchsorted(rows, sample.indices[position])] = scale_columns(piece, norm)
            full.append(whole)
        merged, orders = _merge_columns(full, np.searchsorted(rows, samples[0].common[position]))
        lambdas = np.mean(
            [np.where(n > 0, n, 1.0)[order] for n, order in zip(norms, orders, strict=True)], axis=0
        )
        flat.append((merged * lambdas).astype(data.dtype))
        permutations.append(orders)
    seen = tuple(np.ones(rows.size, dtype=bool) for rows in held)
    agree = all(np.array_equal(permutations[0], orders) for orders in permutations[1:])
    return Pieces(held, flat, seen, _scores_with_first(fits, samples), (), 0, agree)


def _merge_columns(full: Sequence[Array], common: Array) -> tuple[Array, list[Array]]:
    """Merge one factor; return it and, for each repetition, which of its columns went to each merged column."""
    merged = full[0].copy()
    rank = merged.shape[1]
    orders = [np.arange(rank)]
    for piece in full[1:]:
        free, order = list(range(rank)), np.zeros(rank, dtype=int)
        for column in range(rank):
            similarity = merged[common][:, free].T @ piece[common, column]
            chosen = free.pop(int(np.argmax(similarity)))
            empty = merged[:, chosen] == 0
            merged[empty, chosen] = piece[empty, column]
            order[chosen] = column
        orders.append(order)
    return merged, orders


def _scores_with_first(fits: Sequence[Fit], samples: Sequence[Sample]) -> tuple[float, ...]:
    commons = [
        common_rows(fit.factors.flat, sample) for fit, sample in zip(fits, samples, strict=True)
    ]
    return tuple(factor_match_score(commons[0], other) for other in commons)
