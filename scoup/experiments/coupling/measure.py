"""Coupling: what a matrix on every mode adds to a noisy tensor, and what unrelated matrices do."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from scoup import pipeline
from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.evidence import Claim, Context, Measure, Metric, pick
from scoup.experiments._images import dense
from scoup.experiments._records import Inputs, Outcome
from scoup.experiments.coupling import Spec
from scoup.factors import tensor_of
from scoup.match import factor_match_score
from scoup.records import Array
from scoup.seeds import generator
from scoup.specs import PlanSpec
from scoup.values import view

RECOVERED = Measure(
    "recovered_share", "share", "higher", None, 1.0,
    "1 - squared error over squares of the tensor without noise",
)  # fmt: skip
MATCH = Measure(
    "factor_match", "score", "higher", 0.0, 1.0, "factor match score with the planted factors"
)
COUPLED, ALONE, UNRELATED = "all matrices", "tensor alone", "unrelated matrices"
MIN_RECOVERED_SHARE = 0.9
Matrices = dict[int, list[Array]]


@dataclass(frozen=True, eq=False)
class Truth:
    """The tensor without noise, and the factors (one per mode) that it was made of."""

    tensor: Array
    factors: Sequence[Array]


def measure(inputs: Inputs, spec: Spec, context: Context) -> Outcome:
    """Return what each plan recovers at each noise, with all matrices, with none, unrelated."""
    data = inputs.dataset.data
    factors = [np.array(factor) for factor in inputs.planted.get("factors", [])][: data.ndim]
    if not factors:
        raise ScoupError.expected("planted", "the factors that the data was made of", "none")
    truth = Truth(np.einsum("if,jf,kf->ijk", *factors), factors)
    noisy = dense(data.blocks[0])
    metrics: list[Metric] = []
    for level in spec.noise:
        rng = generator(context.seed, "coupling", f"{level:g}")
        spread = level * np.sqrt(np.mean(noisy**2))
        tensor = noisy + spread * rng.standard_normal(noisy.shape)
        for contender, matrices in _contenders(data, rng):
            for plan in spec.plans:
                here = context.on(plan=plan)
                metrics += _recovered(
                    CoupledData(tensor, matrices), inputs.model(plan).spec, truth, here,
                    noise=level, contender=contender,
                )  # fmt: skip
    return Outcome(metrics, notes={"noise": spec.noise})


def _contenders(data: CoupledData, rng: np.random.Generator) -> Iterator[tuple[str, Matrices]]:
    """Yield the matrices of each contender; unrelated ones have their rows shuffled."""
    matrices: Matrices = {}
    for block in data.blocks[1:]:
        matrices.setdefault(block.factors[0], []).append(dense(block))
    yield COUPLED, matrices
    yield ALONE, {}
    shuffled = {
        mode: [matrix[rng.permutation(len(matrix))] for matrix in group]
        for mode, group in matrices.items()
    }
    yield UNRELATED, shuffled


def _recovered(
    data: CoupledData, plan: PlanSpec, truth: Truth, context: Context, **at: object
) -> list[Metric]:
    """Fit one contender and compare it with the truth."""
    weights = plan.weights if data.matrices else "paper"
    viewed = view(data, plan.values, weights)
    factors = pipeline.run(viewed, plan, context.seed).merged.factors
    error = float(np.sum((tensor_of(factors) - truth.tensor) ** 2) / np.sum(truth.tensor**2))
    return [
        context.metric(RECOVERED, 1 - error, **at),
        context.metric(MATCH, factor_match_score(factors.modes, truth.factors), **at),
    ]


def claims(metrics: Sequence[Metric]) -> list[Claim]:
    """Judge, at the largest noise, whether matrices help; the tensor alone is the control."""
    judged = []
    for plan in sorted({run.plan for run in pick(metrics, RECOVERED.name)}):
        runs = pick(metrics, RECOVERED.name, plan=plan)
        level = max(run.at["noise"] for run in runs)
        groups = {
            name: pick(runs, RECOVERED.name, contender=name, noise=level)
            for name in (COUPLED, ALONE, UNRELATED)
        }
        judged.append(
            Claim.of(
                "share of the noise-free tensor recovered",
                groups[COUPLED],
                setting=f"plan {plan}, a matrix on every mode, noise {level:g} times the tensor",
                paper="stated, not shown",
                unit="share",
                bar=MIN_RECOVERED_SHARE,
                controls={name: groups[name] for name in (ALONE, UNRELATED)},
            )
        )
    return judged
