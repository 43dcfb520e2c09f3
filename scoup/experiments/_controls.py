"""The measures that several experiments share, and the controls that bracket them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from scoup import metrics
from scoup.coupled import CoupledData
from scoup.evidence import Context, Measure, Metric
from scoup.factors import wrap
from scoup.records import Array, Factors
from scoup.scale import rescale
from scoup.seeds import generator
from scoup.terms import terms_of

RELATIVE_COST = Measure(
    "relative_cost", "ratio", "lower", 0.0, None, "cost over that of the full fit"
)
EXPLAINED = Measure(
    "explained_share",
    "share",
    "higher",
    None,
    None,
    "1 as good as the full fit, 0 as good as nothing",
)
CONTROL_COST = Measure(
    "control_cost", "ratio", "none", 0.0, None, "cost of a control over that of the full fit"
)
CONTROL_SHARE = Measure(
    "control_share", "share", "none", None, None, "explained share of a control"
)
OUTPUT_SIZE = Measure("output_size", "non-zeros", "lower", 0.0, None, "non-zeros of all factors")


@dataclass(frozen=True)
class CostScale:
    """The two costs that others are compared with: of the full fit, and of the zero model.

    >>> scale = CostScale(full=2.0, zero=10.0)
    >>> scale.relative(4.0), scale.explained(4.0)
    (2.0, 0.75)
    """

    full: float
    zero: float

    @classmethod
    def of(cls, data: CoupledData, full: Factors) -> Self:
        """Return the costs of ``full`` and of the zero model on the data."""
        return cls(metrics.cost(data, full), metrics.zero_cost(data))

    def relative(self, cost: float) -> float:
        """Return ``cost`` over that of the full fit."""
        return metrics.relative_cost(cost, self.full, self.zero)

    def explained(self, cost: float) -> float:
        """Return 1 for the cost of the full fit, 0 for that of the zero model."""
        return metrics.explained_share(cost, self.full, self.zero)


def costs(context: Context, cost: float, scale: CostScale, **at: object) -> list[Metric]:
    """Return relative cost and explained share: on noisy data, neither says enough alone."""
    return [
        context.metric(RELATIVE_COST, scale.relative(cost), **at),
        context.metric(EXPLAINED, scale.explained(cost), **at),
    ]


def control(
    context: Context, data: CoupledData, flat: Sequence[Array], scale: CostScale, name: str
) -> list[Metric]:
    """Measure the factors of a control as if they were a result."""
    cost = metrics.cost(data, wrap(flat, data))
    return [
        context.metric(CONTROL_COST, scale.relative(cost), control=name),
        context.metric(CONTROL_SHARE, scale.explained(cost), control=name),
    ]


def random_control(
    context: Context, data: CoupledData, rank: int, scale: CostScale
) -> list[Metric]:
    """Measure random factors, each component scaled to the data by least squares."""
    rng = generator(context.seed, "control")
    flat = [rng.standard_normal((size, rank)).astype(data.dtype) for size in data.sizes]
    return control(context, data, rescale(terms_of(data), flat, data.ndim), scale, "random")
