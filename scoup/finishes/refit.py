"""A few ALS sweeps over the covered rows only, which keeps the zeros."""

from scoup.finishes._covered import Covered
from scoup.records import Array
from scoup.specs import MergeSpec
from scoup.terms import weighted

LABEL = "after refit"
JUDGED = "finished"
SWEEPS = 3


def finish(covered: Covered, flat: list[Array], spec: MergeSpec) -> list[float]:
    """Sweep over the covered rows; return the losses.

    >>> import numpy as np
    >>> from scoup import CoupledData
    >>> rows = tuple(np.arange(2) for _ in range(3))
    >>> covered = Covered(CoupledData(np.full((2, 2, 2), 8.0)), rows)
    >>> finish(covered, [np.ones((2, 1)) for _ in range(3)], MergeSpec())
    [0.0]
    """
    del spec
    start, before = list(flat), covered.losses(flat)
    covered.sweep(flat, SWEEPS)
    after = covered.losses(flat)
    if weighted(covered.terms, after) <= weighted(covered.terms, before):
        return after
    # Near-singular systems of tiny samples: the sweeps only added rounding errors.
    flat[:] = start
    return before
