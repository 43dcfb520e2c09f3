"""The paper's own leave-two-out: two noun pairs, many runs of SCOUP with samples and starts of their own."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.experiments.leave_two_out.choices import DECISIONS, margins, right
from scoup.experiments.leave_two_out.folds import Matches
from scoup.fit import fit_repetition
from scoup.measures import Context, Measure, Metric
from scoup.merge import merge
from scoup.project import dictionary, project
from scoup.records import Factors
from scoup.sample import densities, draw
from scoup.specs import FitSpec, MergeSpec, SampleSpec

log = logging.getLogger(__name__)
Array = NDArray[Any]

PAIR_ACCURACY = Measure(
    "pair_accuracy",
    "share",
    "higher",
    0.0,
    1.0,
    "share of runs that tell the pair apart; chance is 0.5",
)
RULES = ("paper", "least_squares")


@dataclass(frozen=True)
class PairsSpec:
    """Which pairs, how many runs each, at which weights of the matrix, and how SCOUP samples, fits and merges.

    A weight is relative to blocks of equal norm, with nouns centred and answers standardised; ``"paper"`` takes the
    data as it is. ``ridge`` shrinks the least-squares projection.
    """

    pairs: Sequence[Sequence[str]]
    runs: int
    weights: Sequence[float | str]
    ridge: float
    sample: SampleSpec
    fit: FitSpec
    merge: MergeSpec


@dataclass(frozen=True, eq=False)
class Fold:
    """Training data without two nouns, and these in the same units: images (2, V, K), answers (2, questions)."""

    data: CoupledData
    images: Array
    answers: Array


def measure(
    data: CoupledData,
    nouns: Sequence[str],
    subjects: Sequence[str],
    spec: PairsSpec,
    context: Context,
) -> list[Metric]:
    """Return the share of runs that tell each pair apart, for each subject, rule and decision."""
    found = []
    for pair in spec.pairs:
        held = _places(nouns, pair)
        for weight in spec.weights:
            fold = prepare(data, held, weight)
            won = np.mean(list(_runs(fold, spec, context.seed)), axis=0)
            at = {"pair": "/".join(pair), "weight": weight, "runs": spec.runs}
            log.info("%s, weight %s: %.2f over subjects and runs", at["pair"], weight, won.mean())
            for r, d, k in np.ndindex(*won.shape):
                place = {"rule": RULES[r], "decision": DECISIONS[d], "subject": subjects[k]}
                found.append(context.metric(PAIR_ACCURACY, won[r, d, k], **at, **place))
    return found


def _places(nouns: Sequence[str], pair: Sequence[str]) -> list[int]:
    known = [str(noun) for noun in nouns]
    for noun in pair:
        if noun not in known:
            raise ScoupError.expected("pairs", "labels of the things (nouns)", repr(noun))
    return [known.index(noun) for noun in pair]


def prepare(data: CoupledData, held: Sequence[int], weight: float | str) -> Fold:
    """Take two nouns out of tensor and matrix; centre, standardise and weigh by the nouns that stay."""
    tensor, answers = (np.asarray(block.values, dtype=np.float64) for block in data.blocks)
    keep = np.setdiff1d(np.arange(len(tensor)), held)
    images, asked = tensor[held], answers[held]
    tensor, answers = tensor[keep], answers[keep]
    if weight == "paper":
        return Fold(CoupledData(tensor, {0: answers}), images - tensor.mean(axis=0), asked)
    mean, spread = answers.mean(axis=0), answers.std(axis=0)
    spread[spread < 1e-12] = 1.0
    centre = tensor.mean(axis=0)
    tensor -= centre
    answers = (answers - mean) / spread
    weights = (1 / float(np.vdot(tensor, tensor)), float(weight) / float(np.vdot(answers, answers)))
    return Fold(
        CoupledData(tensor, {0: answers}, weights=weights), images - centre, (asked - mean) / spread
    )


def _runs(fold: Fold, spec: PairsSpec, seed: int) -> Iterator[Array]:
    """Yield who wins, (rules, decisions, K), for each run; densities are those of the training nouns."""
    density = densities(fold.data)
    norms = np.einsum("ijk,ijk->ik", fold.images, fold.images)
    for run in range(spec.runs):
        own = seed * spec.runs + run
        samples = draw(fold.data, spec.sample, own, density)
        fits = [fit_repetition(fold.data, sample, spec.fit, own) for sample in samples]
        factors = merge(fits, samples, fold.data, spec.merge).factors
        yield np.stack([_won(fold, factors, norms, rule, spec.ridge) for rule in RULES])


def _won(fold: Fold, factors: Factors, norms: Array, rule: str, ridge: float) -> Array:
    """Decide one run: predictions are zero in voxels that were never sampled, and stay so."""
    latent = project(dictionary(factors, 0), fold.answers, ridge, rule)
    voxels, subjects = factors.modes[1], factors.modes[2]
    if rule == "paper":
        upward = np.where(subjects.sum(axis=0) < 0, -1.0, 1.0)
        guess = np.repeat((latent * upward)[:, :, None], len(subjects), axis=2)
    else:
        guess = latent[:, :, None] * (factors.weights * subjects).T[None]
    rows = np.flatnonzero(factors.coverage[1])
    images = np.einsum("ijk,jf->ifk", fold.images[:, rows], voxels[rows], optimize=True)
    gram = voxels[rows].T @ voxels[rows]
    dots = np.einsum("ifk,jfk->ijk", images, guess)
    lengths = np.einsum("jfk,fg,jgk->jk", guess, gram, guess, optimize=True)
    margin = margins(Matches.of(dots[None], norms[None], lengths[None]))[:, 0, 0, 1]
    return right(margin)
