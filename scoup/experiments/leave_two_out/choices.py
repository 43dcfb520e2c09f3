"""Nested choice: which model a fold should use, decided without the nouns that it is tested on.

Nouns are dealt into groups. For two test nouns in groups g and h, every candidate is fitted without
the groups g, h and one more, p, and tried on the noun pairs inside p. A fit that leaves out three
groups serves three such choices, so that all pairs of test nouns need a few hundred fits, none of
which has seen its test nouns.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from scoup.errors import ScoupError
from scoup.experiments.leave_two_out.folds import Matches
from scoup.records import Array
from scoup.seeds import generator

DECISIONS = ("distance", "cosine")


def deal(nouns: int, count: int, seed: int) -> Array:
    """Deal nouns into ``count`` groups: (count, nouns / count), rounded up.

    A group that is one noun short repeats its first one, which counts double in the choice.

    >>> deal(12, 4, seed=0).shape, deal(13, 4, seed=0).shape
    ((4, 3), (4, 4))
    """
    if count < 4 or nouns // count < 2:
        raise ScoupError.expected(
            "groups", f"four or more, of two of the {nouns} things or more each", count
        )
    order = generator(seed, "leave_two_out", "groups").permutation(nouns)
    return np.stack(
        [np.resize(group, -(-nouns // count)) for group in np.array_split(order, count)]
    )


def triples(count: int) -> list[tuple[int, ...]]:
    """List the sets of groups to leave out: three for test nouns of two groups, two for one group.

    >>> len(triples(12))
    286
    """
    return [*combinations(range(count), 2), *combinations(range(count), 3)]


def margins(matches: Matches) -> Array:
    """Return by how much the right pairing beats the wrong one: (2, b, h, h, K).

    ``|v1 - g2| + |v2 - g1| - |v1 - g1| - |v2 - g2|`` for the paper's distances, and the same with
    cosines in place of negative distances.
    """
    closeness = np.stack([-matches.distance, matches.cosine])
    paired = np.einsum("dbiik->dbik", closeness)
    return paired[:, :, :, None] + paired[:, :, None, :] - closeness - closeness.swapaxes(2, 3)


def right(margin: Array) -> Array:
    """Return 1 where the right pairing wins, 1/2 where neither does."""
    return np.where(margin == 0, 0.5, margin > 0).astype(float)


def shares(matches: Matches, size: int) -> Array:
    """Return the share of pairs decided correctly inside each group left out: (2, b, groups, K).

    Groups are of ``size`` nouns.
    """
    decided = right(margins(matches))
    first, second = np.triu_indices(size, 1)
    groups = range(decided.shape[2] // size)
    parts = [decided[:, :, g * size + first, g * size + second].mean(axis=2) for g in groups]
    return np.stack(parts, axis=2)


def rank_candidates(table: Array, count: int) -> Array:
    """Return the candidates from the best inner share to the worst, for groups g and h of a pair.

    ``table`` (candidates, 2, folds, 3, K) holds the shares of :func:`triples`, NaN where a fold has
    two groups; the ranking is (candidates, 2, count, count, K). Of candidates that do equally well,
    the first one comes first.
    """
    inner = np.zeros((table.shape[0], 2, count, count, table.shape[-1]))
    tries = np.zeros((count, count))
    for number, fold in enumerate(triples(count)):
        for position, group in enumerate(fold):
            rest = [other for other in fold if other != group]
            inner[:, :, rest[0], rest[-1]] += table[:, :, number, position]
            tries[rest[0], rest[-1]] += 1
    upper = tries > 0
    inner[:, :, upper] /= tries[upper][:, None]
    lower = np.triu_indices(count, 1)
    inner[:, :, lower[1], lower[0]] = inner[:, :, lower[0], lower[1]]
    return np.argsort(-inner, axis=0, kind="stable")


def ends_chosen(ranking: Array, values: Array) -> list[tuple[str, float, float]]:
    """Return how often the first choice is the smallest or the largest value of a setting.

    ``values`` are those of the candidates, NaN where the setting has no meaning. Each result is
    (end, value, share of the choices); of fewer than three values there is no middle to choose.

    >>> ends_chosen(np.array([[2, 2, 0, 1]]), np.array([1.0, 10.0, 100.0]))
    [('smallest', 1.0, 0.25), ('largest', 100.0, 0.5)]
    """
    distinct = np.unique(values[~np.isnan(values)])
    if len(distinct) < 3:
        return []
    picks = values[ranking[0]]
    return [
        (end, float(value), float(np.mean(picks == value)))
        for end, value in (("smallest", distinct[0]), ("largest", distinct[-1]))
    ]


def chosen(margin: Array, ranking: Array, pairs: Array, members: Array) -> Array:
    """Return each pair's margin, averaged over the candidates in ``ranking``.

    ``margin`` (candidates, 2, pairs, K) becomes (2, pairs, K). The average of the best few is
    steadier than the best one, whose inner share is of few pairs.
    """
    group = np.empty(members.size, dtype=int)
    group[members] = np.arange(len(members))[:, None]
    best = ranking[:, :, group[pairs[:, 0]], group[pairs[:, 1]]]
    return np.take_along_axis(margin, best, axis=0).mean(axis=0)


def bootstrap(decided: Array, pairs: Array, seed: int, draws: int = 500) -> tuple[Array, Array]:
    """Return the 95 % interval of the share right (pairs, K), with nouns resampled.

    Pairs that share a noun are not independent.
    """
    nouns = int(pairs.max()) + 1
    drawn = generator(seed, "leave_two_out", "bootstrap").integers(nouns, size=(draws, nouns))
    counts = np.stack([np.bincount(row, minlength=nouns) for row in drawn]).astype(float)
    weights = counts[:, pairs[:, 0]] * counts[:, pairs[:, 1]]
    values = weights @ decided / weights.sum(axis=1, keepdims=True)
    low, high = np.quantile(values, [0.025, 0.975], axis=0)
    return low, high


def binomial_bounds(count: int) -> tuple[float, float]:
    """Return 95 % bounds of the share right by chance, as if ``count`` pairs were independent.

    They are not, so the bounds are too narrow.

    >>> [round(bound, 3) for bound in binomial_bounds(1770)]
    [0.477, 0.523]
    """
    from scipy.stats import binom

    low, high = binom.ppf([0.025, 0.975], count, 0.5) / count
    return float(low), float(high)


def inner_held(members: Array, folds: Sequence[tuple[int, ...]]) -> Array:
    """Return the nouns that folds of equal size leave out: (folds, nouns)."""
    return members[np.array(folds)].reshape(len(folds), -1)
