"""Counting: distinct partners per user and day, the baseline for every plan.

A star is one user with many partners on one day, so counting lists the largest ones without any
factorization.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from scoup.experiments.anomaly.kinds import (
    DAY,
    MIN_STAR_PARTNERS,
    POSTER,
    WALL,
    Finding,
    best_first,
    look_up,
)
from scoup.records import Array
from scoup.tensor import SparseTensor

STAR_CENTRES = {"star-out": POSTER, "star-in": WALL}  # the mode of the one user
MAX_COUNTED_STARS = 100  # of each kind; stars as large as the last one are listed as well
Name = tuple[str, int, int]  # kind, user in the centre, day


def count_partners(posts: SparseTensor, mode: int) -> tuple[Array, Array]:
    """Return every (user, day) of ``mode`` as rows (2, n), and the partners of each.

    >>> posts = SparseTensor(np.array([[0, 1, 1], [2, 2, 3], [0, 0, 0]]), np.ones(3), (4, 4, 2))
    >>> count_partners(posts, POSTER)[1].tolist()
    [2, 1]
    """
    return np.unique(posts.coords[[mode, DAY]], axis=1, return_counts=True)


def counted_stars(posts: SparseTensor, count: int = MAX_COUNTED_STARS) -> list[Finding]:
    """Return the ``count`` largest stars of each kind, and those as large, largest first."""
    findings = []
    for kind, mode in STAR_CENTRES.items():
        centres, partners = count_partners(posts, mode)
        last = np.sort(partners)[-min(count, partners.size)] if partners.size else 0
        for user, day in centres[:, partners >= max(last, MIN_STAR_PARTNERS)].T.tolist():
            leaders = (user, user, day)
            finding = look_up(kind, leaders, posts)
            partner = finding.members[WALL + POSTER - mode][0]
            wall, poster = (user, partner) if mode == WALL else (partner, user)
            findings.append(replace(finding, leaders=(wall, poster, day), counted=True))
    return best_first(findings)


def usual_partners(posts: SparseTensor) -> dict[str, int]:
    """Return the partners that 9 in 10 centres of each kind of star have at most.

    >>> posts = SparseTensor(np.array([[0, 1, 1], [2, 2, 3], [0, 0, 0]]), np.ones(3), (4, 4, 2))
    >>> usual_partners(posts)
    {'star-out': 2, 'star-in': 2}
    """
    counts = {kind: count_partners(posts, mode)[1] for kind, mode in STAR_CENTRES.items()}
    return {
        kind: int(np.quantile(partners, 0.9, method="higher")) if partners.size else 0
        for kind, partners in counts.items()
    }


def star_name(finding: Finding) -> Name:
    """Return what identifies a finding among stars; of other kinds, of no star."""
    mode = STAR_CENTRES.get(finding.kind, WALL)
    return finding.kind, finding.leaders[mode], finding.leaders[DAY]


def largest_stars(stars: Sequence[Finding], count: int) -> set[Name]:
    """Return the names of the ``count`` largest of counted stars, and of those as large."""
    if not stars:
        return set()
    ordered = sorted((star.size for star in stars), reverse=True)
    last = ordered[min(count, len(ordered)) - 1]
    return {star_name(star) for star in stars if star.size >= last}
