"""Refit, then one full ALS sweep over all rows."""

from scoup.finishes import refit
from scoup.finishes._covered import Covered
from scoup.records import Array
from scoup.solvers import als
from scoup.specs import MergeSpec
from scoup.terms import grams_of

LABEL = "after completion"
JUDGED = ""


def finish(covered: Covered, flat: list[Array], spec: MergeSpec) -> list[float]:
    """Refit, then sweep over all rows, the factor with the most rows missing first.

    >>> import numpy as np
    >>> from scoup import CoupledData
    >>> rows = tuple(np.array([0]) for _ in range(3))
    >>> flat = [np.ones((1, 1)) for _ in range(3)]
    >>> finish(Covered(CoupledData(np.full((2, 2, 2), 8.0)), rows), flat, MergeSpec())
    [0.0]
    >>> [factor.shape for factor in flat]
    [(2, 1), (2, 1), (2, 1)]
    """
    del spec
    order = begin(covered, flat)
    return als.sweep(covered.terms, flat, grams_of(flat), order, covered.updates)


def begin(covered: Covered, flat: list[Array]) -> list[int]:
    """Refit and cover all rows, in place; return the order of the sweep that is left.

    >>> import numpy as np
    >>> from scoup import CoupledData
    >>> rows = np.arange(2), np.array([0]), np.arange(2)
    >>> flat = [np.ones((len(index), 1)) for index in rows]
    >>> begin(Covered(CoupledData(np.full((2, 2, 2), 8.0)), rows), flat)
    [1, 0, 2]
    """
    covered.sweep(flat, refit.SWEEPS)
    shares = [len(rows) / size for rows, size in zip(covered.rows, covered.data.sizes, strict=True)]
    covered.extend(flat)
    return sorted(range(len(flat)), key=shares.__getitem__)
