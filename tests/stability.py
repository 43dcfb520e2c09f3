"""How well voxels repeat themselves, computed as plainly as possible."""

from itertools import combinations

import numpy as np


def stability(presentations, nouns):
    """Return the mean correlation of each voxel over the pairs of its presentations (6, 60, V).

    Only ``nouns`` (indices) are used. A voxel that is constant in a presentation has correlation 0.
    """
    chosen = np.asarray(presentations[:, nouns], dtype=np.float64)
    centred = chosen - chosen.mean(axis=1, keepdims=True)
    norm = np.linalg.norm(centred, axis=1, keepdims=True)
    unit = np.divide(centred, norm, out=np.zeros_like(centred), where=norm > 0)
    return np.mean([(a * b).sum(axis=0) for a, b in combinations(unit, 2)], axis=0)
