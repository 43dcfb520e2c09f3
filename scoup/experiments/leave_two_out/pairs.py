"""The paper's own leave-two-out: named pairs of nouns, many independent runs of SCOUP each."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from scoup import pipeline
from scoup.coupled import CoupledData, Dataset
from scoup.errors import ScoupError
from scoup.experiments.leave_two_out import Spec
from scoup.experiments.leave_two_out.choices import margins, right
from scoup.experiments.leave_two_out.folds import Matches
from scoup.project import dictionary, project
from scoup.records import Array, Factors
from scoup.sample import densities
from scoup.specs import PlanSpec

log = logging.getLogger(__name__)

RULES = ("paper", "least_squares")


@dataclass(frozen=True, eq=False)
class PairFold:
    """Training data without two nouns, and these in the same units.

    ``images`` are (2, V, K), ``answers`` (2, questions). ``levelled`` images have lost their mean
    over voxels, and predictions must lose theirs, too.
    """

    data: CoupledData
    images: Array
    answers: Array
    levelled: bool = False


def won_shares(
    dataset: Dataset, pair: Sequence[str], spec: Spec, plan: PlanSpec, seed: int
) -> Array:
    """Return the share of runs that decide ``pair`` correctly: (weights, rules, decisions, K).

    ``dataset`` is laid out as (nouns, voxels, subjects).
    """
    held = _positions(dataset.labels[0].ids, pair)
    shares = []
    for weight in spec.pair_weights:
        fold = leave_out(dataset.data, held, weight)
        shares.append(np.mean(list(_runs(fold, spec, plan, seed)), axis=0))
        log.info("%s, weight %s: %.2f over subjects and runs", pair, weight, shares[-1].mean())
    return np.stack(shares)


def _positions(nouns: Array, pair: Sequence[str]) -> list[int]:
    known = [str(noun) for noun in nouns]
    for noun in pair:
        if noun not in known:
            raise ScoupError.expected("pairs", "labels of the things (nouns)", repr(noun))
    return [known.index(noun) for noun in pair]


def leave_out(data: CoupledData, held: Sequence[int], weight: float | str) -> PairFold:
    """Remove nouns from tensor and matrix; centre, standardise and weight by the others.

    ``weight`` is that of the matrix, relative to blocks of equal norm; ``"paper"`` takes the data
    as it is, and centres images and predictions over voxels before they are compared.
    """
    tensor, answers = (np.asarray(block.values, dtype=np.float64) for block in data.blocks)
    training = np.setdiff1d(np.arange(len(tensor)), held)
    held_images, held_answers = tensor[held], answers[held]
    tensor, answers = tensor[training], answers[training]
    if weight == "paper":
        held_images -= held_images.mean(axis=1, keepdims=True)
        return PairFold(CoupledData(tensor, {0: answers}), held_images, held_answers, levelled=True)
    centre = tensor.mean(axis=0)
    mean, spread = answers.mean(axis=0), answers.std(axis=0)
    spread[spread < 1e-12] = 1.0
    tensor -= centre
    answers = (answers - mean) / spread
    weights = (1 / float(np.vdot(tensor, tensor)), float(weight) / float(np.vdot(answers, answers)))
    train = CoupledData(tensor, {0: answers}, weights=weights)
    return PairFold(train, held_images - centre, (held_answers - mean) / spread)


def _runs(fold: PairFold, spec: Spec, plan: PlanSpec, seed: int) -> Iterator[Array]:
    """Yield who wins, (rules, decisions, K), in each run; densities are of the training data."""
    density = densities(fold.data)
    norms = np.einsum("ijk,ijk->ik", fold.images, fold.images)
    for run in range(spec.runs):
        model = pipeline.run(fold.data, plan, seed * spec.runs + run, density=density).merged
        yield np.stack([_won(fold, model.factors, norms, rule, spec.ridges[0]) for rule in RULES])


def _won(fold: PairFold, factors: Factors, norms: Array, rule: str, ridge: float) -> Array:
    """Decide one run, (decisions, K); predictions are zero in voxels that were never sampled."""
    latent = project(dictionary(factors, 0), fold.answers, ridge, rule)
    voxels, subjects = factors.modes[1], factors.modes[2]
    if rule == "paper":
        sign = np.where(subjects.sum(axis=0) < 0, -1.0, 1.0)
        guess = np.repeat((latent * sign)[:, :, None], len(subjects), axis=2)
    else:
        guess = latent[:, :, None] * (factors.weights * subjects).T[None]
    rows = np.flatnonzero(factors.coverage[1])
    images = np.einsum("ijk,jf->ifk", fold.images[:, rows], voxels[rows], optimize=True)
    gram = voxels[rows].T @ voxels[rows]
    if fold.levelled:
        total = voxels[rows].sum(axis=0)
        gram -= np.outer(total, total) / len(voxels)
    dots = np.einsum("ifk,jfk->ijk", images, guess)
    lengths = np.einsum("jfk,fg,jgk->jk", guess, gram, guess, optimize=True)
    return right(margins(Matches.of(dots[None], norms[None], lengths[None]))[:, 0, 0, 1])
