"""The tables behind leave-two-out: what every candidate and control decides, fold by fold."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np

from scoup.errors import ScoupError
from scoup.experiments.leave_two_out import Spec, choices, folds, grid, rival, stable
from scoup.experiments.leave_two_out.folds import Matches
from scoup.experiments.leave_two_out.grid import Grid
from scoup.experiments.leave_two_out.prepared import Products, Setting
from scoup.records import Array
from scoup.seeds import generator

log = logging.getLogger(__name__)

Tables = dict[str, tuple[Array, ...]]  # margins of pairs and shares of nested folds, by contender

AS_PRINTED = Setting(2, "paper", centre=False, standardise=False)
SHUFFLED_PAIRS = 200  # or more, for each shuffle: many shuffles tell more than many pairs of one


@dataclass(frozen=True, eq=False)
class FoldTables:
    """What one job finds out about its share of the folds.

    ``outer`` (candidates, 2, pairs, K) are margins and ``inner`` (candidates, 2, folds, 3, K)
    shares right, by the name of a table: ``model``, ``alone`` (models of one subject each),
    ``plain`` (images as they are) and ``ridge``; ``model, perceptual`` and ``ridge, perceptual``
    have the perceptual measures as well. ``controls`` are the margins (2, pairs, K) of the controls
    by name; those with shuffled answers decide some of the pairs only.
    """

    pairs: Array
    outer: dict[str, Array]
    inner: dict[str, Array]
    controls: dict[str, Array]


def all_pairs(nouns: int) -> Array:
    """Return all pairs of nouns: (n (n - 1) / 2, 2)."""
    return np.array(list(combinations(range(nouns), 2)))


@dataclass(frozen=True, eq=False)
class Extras:
    """What some contenders need: presentations (6, n, voxels) of each subject, and measures (n, q)
    of words and pictures.
    """

    presentations: Sequence[Array] = ()
    perceptual: Array | None = None

    def check(self, spec: Spec, subjects: int) -> None:
        """Refuse settings that need what the data does not have."""
        if spec.stable and len(self.presentations) != subjects:
            hint = "write stable: 0, or presentations: true in the options of the data set"
            raise ScoupError.expected(
                "stable", "single presentations of each subject", "none", hint
            )
        if spec.perceptual and self.perceptual is None:
            hint = "write perceptual: []"
            raise ScoupError.expected("perceptual", "measures of words and pictures", "none", hint)


def fold_tables(
    data: Products, spec: Spec, number: int, seed: int, extras: Extras | None = None
) -> FoldTables:
    """Fit and decide the folds of job ``number`` out of ``spec.parts``."""
    extras = extras or Extras()
    extras.check(spec, data.subjects)
    members = choices.deal(data.nouns, spec.groups, seed)
    mine = slice(number, None, spec.parts)
    test_pairs = all_pairs(data.nouns)[mine]
    controls = dict(_controls(data, spec, test_pairs, seed))
    if spec.stable:
        setting = Setting(max(spec.ranks), max(spec.weights), sweeps=1)
        controls |= stable.contenders(
            extras.presentations, data.answers, test_pairs, spec.stable, setting, spec.alpha
        )
    plain = Grid(spec.weights, spec.ranks, spec.ways)
    model = replace(plain, strengths=spec.noise_strengths, alphas=spec.alphas)
    everyone = replace(model, alone=data.subjects > 1)
    tables = _tables(data, spec, everyone, test_pairs, members, mine)
    if spec.noise != "none":
        tables["plain"] = _tables(data, spec, plain, test_pairs, members, mine)["model"]
    if extras.perceptual is not None and spec.perceptual:
        more = [data.with_matrix(extras.perceptual, weight) for weight in spec.perceptual]
        weighted = [_tables(each, spec, model, test_pairs, members, mine) for each in more]
        tables |= _with_perceptual(tables, weighted)
        for name, margins in _shuffled(more[0], spec, test_pairs, seed):
            controls[name.replace("shuffled", "shuffled, perceptual")] = margins
    log.info(
        "part %d of %d: %d pairs, %d candidates",
        number + 1, spec.parts, len(test_pairs), len(tables["model"][0]),
    )  # fmt: skip
    outer, inner = ({name: pair[n] for name, pair in tables.items()} for n in (0, 1))
    return FoldTables(test_pairs, outer, inner, controls)


def _with_perceptual(tables: Tables, weighted: Sequence[Tables]) -> Tables:
    """Join the candidates of all weights; those without the measures are candidates, too."""
    return {
        f"{name}, perceptual": tuple(
            np.concatenate([each[name][n] for each in (tables, *weighted)]) for n in (0, 1)
        )
        for name in ("model", "ridge")
    }


def _tables(
    data: Products, spec: Spec, candidates: Grid, test_pairs: Array, members: Array, mine: slice
) -> Tables:
    """Return margins of the outer pairs and shares of this job's nested folds, by contender."""
    setting = Setting(max(spec.ranks), sweeps=spec.sweeps, penalty=spec.alpha)
    outer = grid.scores(data, test_pairs, setting, candidates, _outer)
    inner: dict[str, list[Array]] = {name: [] for name in outer}
    left_out = choices.triples(len(members))[mine]
    score = partial(choices.shares, size=members.shape[1])
    for size in (2, 3):
        nested = [fold for fold in left_out if len(fold) == size]
        if nested:
            held = choices.inner_held(members, nested)
            for name, table in grid.scores(data, held, setting, candidates, score).items():
                width = [(0, 0)] * 3 + [(0, 3 - size), (0, 0)]
                inner[name].append(np.pad(table, width, constant_values=np.nan))
    return {name: (outer[name], np.concatenate(inner[name], axis=2)) for name in outer}


def _outer(matches: Matches) -> Array:
    """Return the margins (2, pairs, K) of folds that leave two nouns out."""
    return choices.margins(matches)[:, :, 0, 1]


def _controls(
    data: Products, spec: Spec, test_pairs: Array, seed: int
) -> Iterator[tuple[str, Array]]:
    """Yield ridge regression, the paper's procedure as printed, and models of shuffled answers."""
    yield "ridge", _outer(rival.match_ridge(data, test_pairs, spec.alpha))
    yield "as printed", _outer(folds.match_printed(data, test_pairs, AS_PRINTED))
    yield from _shuffled(data, spec, test_pairs, seed)


def _shuffled(
    data: Products, spec: Spec, test_pairs: Array, seed: int
) -> Iterator[tuple[str, Array]]:
    """Yield models of shuffled answers, each on some of the pairs."""
    setting = Setting(
        spec.ranks[len(spec.ranks) // 2],
        max(spec.weights),
        sweeps=spec.sweeps if data.subjects > 1 else 0,
        strength=spec.noise_strengths[0],
        penalty=spec.alpha,
    )
    for number in range(spec.shuffles):
        order = generator(seed, "leave_two_out", "shuffle", number).permutation(data.nouns)
        some = test_pairs[shuffled_pairs(test_pairs, number, data.nouns)]
        margins = np.empty((2, 0, data.subjects))
        if len(some):  # one of very many jobs may have no such pair
            shuffled = folds.match_folds(data.shuffled(order), some, setting, spec.ways[:1])[0]
            margins = _outer(shuffled)
        yield f"shuffled{number}", margins


def shuffled_pairs(test_pairs: Array, number: int, nouns: int) -> Array:
    """Return which pairs shuffle ``number`` decides, whatever jobs they are dealt to.

    >>> int(shuffled_pairs(all_pairs(60), 3, 60).sum())
    226
    """
    step = max(1, nouns * (nouns - 1) // 2 // SHUFFLED_PAIRS)
    return (test_pairs.sum(axis=1) % step) == number % step


def pack(tables: FoldTables) -> dict[str, Array]:
    """Return the tables as plain arrays by name, for a file."""
    groups = {"outer": tables.outer, "inner": tables.inner, "control": tables.controls}
    return {"pairs": tables.pairs} | {
        f"{group}.{name}": array
        for group, arrays in groups.items()
        for name, array in arrays.items()
    }


def unpack(arrays: Mapping[str, Array]) -> FoldTables:
    """Reverse :func:`pack`."""
    groups: dict[str, dict[str, Array]] = {"outer": {}, "inner": {}, "control": {}}
    for key, array in arrays.items():
        group, _, name = key.partition(".")
        if name:
            groups[group][name] = array
    return FoldTables(arrays["pairs"], groups["outer"], groups["inner"], groups["control"])


def join(parts: Sequence[FoldTables]) -> FoldTables:
    """Interleave the tables of all jobs, in order; the order of shuffled pairs does not matter."""
    packed = [pack(part) for part in parts]
    axes = {"pairs": 0, "outer": 2, "inner": 2, "control": 1}

    def joined(name: str) -> Array:
        arrays, axis = [each[name] for each in packed], axes[name.partition(".")[0]]
        everything = np.concatenate(arrays, axis=axis)
        if name.startswith("control.shuffled"):
            return everything
        positions = np.concatenate(
            [
                np.arange(number, everything.shape[axis], len(parts))[: array.shape[axis]]
                for number, array in enumerate(arrays)
            ]
        )
        return np.take(everything, np.argsort(positions), axis=axis)

    return unpack({name: joined(name) for name in packed[0]})
