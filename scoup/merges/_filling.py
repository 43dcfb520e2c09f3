"""Merge as the paper does: each repetition fills what the earlier ones left at zero."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from scoup.coupled import CoupledData
from scoup.factors import column_norms, scale_columns, unwrap
from scoup.merges._shared import (
    Matching,
    common_rows,
    energies,
    has_mass,
    match_powers,
    match_score,
    sampled_rows,
)
from scoup.records import Array, Factors, Fit, Sample

# Given the common rows of the merged factors and of a repetition, return for each factor which
# merged column each column of the repetition goes to.
Assign = Callable[[list[Array], list[Array]], list[Array]]


@dataclass(frozen=True, eq=False)
class Filled:
    """Merged columns with common parts of unit norm, their scales, and whether factors agree.

    One row for each row that any of the samples holds.
    """

    columns: list[Array]
    scales: list[Array]
    consistent: bool

    def flat(self, dtype: np.dtype) -> list[Array]:
        """Return the factors at their scale."""
        pairs = zip(self.columns, self.scales, strict=True)
        return [(columns * scale).astype(dtype) for columns, scale in pairs]


def merge_by(
    assign: Assign, fits: Sequence[Fit], samples: Sequence[Sample], data: CoupledData
) -> tuple[list[Array], Matching]:
    """Merge all repetitions in order, with columns matched by ``assign``."""
    fits = list(fits)  # they may be read from a file on each access
    repetitions = [fit.factors for fit in fits]
    *_, last = fill(repetitions, samples, assign)
    full = [number for number, factors in enumerate(repetitions) if has_mass(factors)] or [0]
    rejected = tuple(sorted(set(range(len(fits))) - set(full)))
    pairs = list(zip(fits, samples, strict=True))
    strengths = [energies(fit, sample, data) for fit, sample in pairs]
    commons = [common_rows(fit.factors.flat, sample) for fit, sample in pairs]
    scores = tuple(
        match_score(commons[full[0]], common, match_powers(strengths[full[0]], strength))
        for common, strength in zip(commons, strengths, strict=True)
    )
    matching = Matching(sampled_rows(samples), scores, rejected, full[0], last.consistent)
    return last.flat(data.dtype), matching


def fill(
    repetitions: Sequence[Factors], samples: Sequence[Sample], assign: Assign
) -> Iterator[Filled]:
    """Yield the merged factors after each repetition; the columns are changed by the next one.

    Columns are divided by the norm of their common part. The first repetition to hold an entry
    wins it, and the scale of a merged column is the mean norm of those that went into it. A
    repetition without mass is skipped.
    """
    rows, rank = sampled_rows(samples), repetitions[0].rank
    columns = [np.zeros((index.size, rank)) for index in rows]
    totals, counts = np.zeros((2, len(rows), rank))
    consistent = True
    for factors, sample in zip(repetitions, samples, strict=True):
        if has_mass(factors):
            flat, targets = unwrap(factors), [np.arange(rank)] * len(rows)
            norms = [column_norms(common) for common in common_rows(flat, sample)]
            pieces = [scale_columns(factor, norm) for factor, norm in zip(flat, norms, strict=True)]
            places = [np.searchsorted(*pair) for pair in zip(rows, sample.indices, strict=True)]
            if counts.any():
                held = [merged[place] for merged, place in zip(columns, places, strict=True)]
                targets = assign(common_rows(held, sample), common_rows(pieces, sample))
            for n, target in enumerate(targets):
                _fill_zeros(columns[n], places[n], pieces[n], target)
                np.add.at(totals[n], target, np.where(norms[n] > 0, norms[n], 1.0))
                np.add.at(counts[n], target, 1.0)
            consistent &= all(np.array_equal(targets[0], target) for target in targets)
        yield Filled(columns, list(totals / np.maximum(counts, 1.0)), consistent)


def _fill_zeros(merged: Array, rows: Array, piece: Array, target: Array) -> None:
    """Write each column of ``piece`` into the zeros of its target column, in place."""
    for column, goal in enumerate(target):
        held = merged[rows, goal]
        merged[rows, goal] = np.where(held == 0, piece[:, column], held)
