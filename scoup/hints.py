"""Sentences on what may be meant otherwise, for a tensor that was read from a file."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from scoup.formats import Content
from scoup.records import Array
from scoup.roles import RoleGuess, has_times_of_day
from scoup.tensor import SparseTensor

MISSING_LABELS = frozenset(["", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", r"\N"])
MAX_COMPARED_INDICES = 20  # of a mode, such as indicators in different units
MAX_SCALE_RATIO = 1e4  # of squares


def at_zeros(file: str, content: Content) -> list[str]:
    """Most cells are listed, but not all: are the others zero?"""
    unlisted = 1 - content.values.nnz / prod(content.values.shape)
    if unlisted == 0:
        return []
    return [
        f"{file}: {100 * unlisted:.2g} % of the cells are not listed, or are 0, and count as 0; "
        "'observed: listed' in the configuration makes those that are not listed missing"
    ]


def at_seconds(file: str, content: Content, guesses: Sequence[RoleGuess]) -> list[str]:
    """Each different second is an index of time, which is rarely meant."""
    return [
        f"{file}: {guess.mode!r} has times of day, and each is an index; write dates alone to look "
        "at days"
        for guess, labels in zip(guesses, content.ids, strict=True)
        if guess.role == "when" and has_times_of_day(labels)
    ]


def at_missing_labels(file: str, content: Content) -> list[str]:
    """A word for a missing label is a label like any other."""
    return [
        f"{file}: {name!r} has the label {gap!r}, which counts as any other; leave these lines out "
        "if they have no label"
        for name, labels in zip(content.names, content.ids, strict=True)
        if content.keyed
        for gap in sorted(MISSING_LABELS.intersection(labels.tolist()))
    ]


def at_scales(file: str, content: Content) -> list[str]:
    """Indices in different units: the largest decides what a model shows."""
    hints = []
    for mode, (name, labels) in enumerate(zip(content.names, content.ids, strict=True)):
        if 1 < len(labels) <= MAX_COMPARED_INDICES:
            sums = _square_sums(content.values, mode)
            first, last = sums.argmax(), sums.argmin()
            usual = np.sort(sums)[(len(sums) - 1) // 2]  # of two, the smaller one
            if sums[first] > MAX_SCALE_RATIO * max(usual, 1e-300):
                hints.append(
                    f"{file}: {name} {labels[first]!s} has nearly all of the squares, and a model "
                    f"shows little else; if units differ, as in {labels[last]!s}, scale them first"
                )
    return hints


def _square_sums(values: Any, mode: int) -> Array:
    """Return the sum of squares of every index of a mode."""
    with np.errstate(over="ignore"):
        if isinstance(values, SparseTensor):
            squares = values.values.astype(np.float64) ** 2
            return np.bincount(values.coords[mode], squares, values.shape[mode])
        slices = np.moveaxis(values, mode, 0)
        return np.array([np.nansum(np.square(part, dtype=np.float64)) for part in slices])
