"""Which of up to 64 samples hold a cell: masks of 64 bits per index, and their intersections."""

from collections.abc import Sequence

import numpy as np

from scoup.kernels import rows
from scoup.kernels.fibres import read_only
from scoup.records import Array

# One bit of a mask for each sample.
MASK_BITS = 64


def sample_masks(size: int, mode: int, samples: Sequence[Sequence[Array]]) -> Array:
    """Return the mask of each index of a mode: bit k is set if sample k holds it.

    >>> sample_masks(3, 0, [[np.array([0, 2])], [np.array([2])]]).tolist()
    [1, 0, 3]
    """
    masks = np.zeros(size, np.uint64)
    for number, indices in enumerate(samples):
        masks[indices[mode]] |= np.uint64(1 << number)
    return masks


def members_of(columns: Sequence[Array], masks: tuple[Array, ...]) -> Array:
    """Return for each cell the mask of the samples that hold it; a column of indices per mode.

    >>> masks = np.array([1, 0, 3], np.uint64), np.array([1, 1], np.uint64)
    >>> members_of(np.array([[0, 1, 2], [0, 0, 1]], np.int32), masks).tolist()
    [1, 0, 1]
    """
    member = np.empty(columns[0].size, np.uint64)
    _intersect(tuple(read_only(column, np.int32) for column in columns), masks, member)
    return member


def count_members(columns: Sequence[Array], masks: tuple[Array, ...], samples: int) -> Array:
    """Return how many cells each of the samples holds.

    >>> masks = np.array([1, 0, 3], np.uint64), np.array([1, 1], np.uint64)
    >>> count_members(np.array([[0, 1, 2], [0, 0, 1]], np.int32), masks, 2).tolist()
    [2, 0]
    """
    # How often each byte of a mask came: as many additions per cell as bytes, not as samples.
    times = np.zeros((MASK_BITS // 8, 256), np.int64)
    _count_bytes(tuple(read_only(column, np.int32) for column in columns), masks, times)
    bits = (np.arange(256)[:, None] >> np.arange(8)) & 1
    return (times @ bits).ravel()[:samples]


@rows.jit
def _intersect(columns, masks, member):
    """``member[t] = AND over modes of masks[n][columns[n][t]]``."""
    for t in range(member.size):
        mask = masks[0][columns[0][t]]
        for n in range(1, len(masks)):
            mask &= masks[n][columns[n][t]]
        member[t] = mask


@rows.jit
def _count_bytes(columns, masks, times):
    """Count in ``times[b, value]`` the cells whose masks have this value as byte b, if not 0."""
    for t in range(columns[0].size):
        mask = masks[0][columns[0][t]]
        for n in range(1, len(masks)):
            mask &= masks[n][columns[n][t]]
        byte = 0
        while mask != 0:
            times[byte, np.int64(mask & np.uint64(255))] += 1
            mask >>= np.uint64(8)
            byte += 1
