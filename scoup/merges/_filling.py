"""Merge as the paper does: each repetition fills what the earlier ones left at zero."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from scoup.coupled import CoupledData
from scoup.factors import column_norms, scale_columns, unwrap
from scoup.match import directions
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
class Piece:
    """What a repetition brings: columns with common parts of unit norm, and where they go.

    ``norms`` are those of the common parts before, ``rows`` are those of the merged factors.
    ``commons`` are which of ``rows`` all repetitions share.
    """

    columns: list[Array]
    norms: list[Array]
    rows: list[Array]
    commons: Sequence[Array]


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
    rows = sampled_rows(samples)
    *_, last = fill(pieces_of(repetitions, samples, rows), rows, repetitions[0].rank, assign)
    full = [number for number, factors in enumerate(repetitions) if has_mass(factors)] or [0]
    rejected = tuple(sorted(set(range(len(fits))) - set(full)))
    pairs = list(zip(fits, samples, strict=True))
    strengths = [energies(fit, sample, data) for fit, sample in pairs]
    commons = [
        [directions(part) for part in common_rows(fit.factors.flat, sample)]
        for fit, sample in pairs
    ]
    scores = tuple(
        match_score(commons[full[0]], common, match_powers(strengths[full[0]], strength))
        for common, strength in zip(commons, strengths, strict=True)
    )
    matching = Matching(rows, scores, rejected, full[0], last.consistent)
    return last.flat(data.dtype), matching


def pieces_of(
    repetitions: Sequence[Factors], samples: Sequence[Sample], rows: Sequence[Array]
) -> Iterator[Piece | None]:
    """Yield what each repetition brings; nothing if it has no mass."""
    for factors, sample in zip(repetitions, samples, strict=True):
        if not has_mass(factors):
            yield None
            continue
        flat = unwrap(factors)
        norms = [column_norms(common) for common in common_rows(flat, sample)]
        columns = [scale_columns(factor, norm) for factor, norm in zip(flat, norms, strict=True)]
        places = [np.searchsorted(*pair) for pair in zip(rows, sample.indices, strict=True)]
        yield Piece(columns, norms, places, sample.common_rows)


def fill(
    pieces: Iterable[Piece | None], rows: Sequence[Array], rank: int, assign: Assign
) -> Iterator[Filled]:
    """Yield the merged factors after each repetition; the columns are changed by the next one.

    Columns are divided by the norm of their common part. The first repetition to hold an entry
    wins it, and the scale of a merged column is the mean norm of those that went into it. A
    repetition without mass is skipped.
    """
    merged = [np.zeros((index.size, rank)) for index in rows]
    totals, counts = np.zeros((2, len(rows), rank))
    consistent = True
    for piece in pieces:
        if piece is not None:
            targets = [np.arange(rank)] * len(rows)
            if counts.any():
                places = [
                    own[common] for own, common in zip(piece.rows, piece.commons, strict=True)
                ]
                held = [factor[place] for factor, place in zip(merged, places, strict=True)]
                shared = zip(piece.columns, piece.commons, strict=True)
                targets = assign(held, [columns[common] for columns, common in shared])
            for n, target in enumerate(targets):
                _fill_zeros(merged[n], piece.rows[n], piece.columns[n], target)
                norms = piece.norms[n]
                np.add.at(totals[n], target, np.where(norms > 0, norms, 1.0))
                np.add.at(counts[n], target, 1.0)
            consistent &= all(np.array_equal(targets[0], target) for target in targets)
        yield Filled(merged, list(totals / np.maximum(counts, 1.0)), consistent)


def _fill_zeros(merged: Array, rows: Array, piece: Array, target: Array) -> None:
    """Write each column of ``piece`` into the zeros of its target column, in place."""
    for column, goal in enumerate(target):
        held = merged[rows, goal]
        merged[rows, goal] = np.where(held == 0, piece[:, column], held)
