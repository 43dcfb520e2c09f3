"""The measures that several experiments share, and the controls that bracket them."""

from __future__ import annotations

from scoup import metrics
from scoup.coupled import CoupledData
from scoup.records import Factors
from scoup.results import Context, Measure, Metric

RELATIVE_COST = Measure("relative_cost", "ratio", "lower", 0.0, None, "cost over that of the full fit")
EXPLAINED = Measure("explained_share", "share", "higher", None, None, "1 as good as the full fit, 0 as good as nothing")
OUTPUT_SIZE = Measure("output_size", "non-zeros", "lower", 0.0, None, "non-zeros of all factors")


def costs(context: Context, mine: float, reference: float, zero: float, **at: object) -> list[Metric]:
    """Return the relative cost and, beside it, the explained share: near 1 on noisy data both mean little alone."""
    return [
        context.metric(RELATIVE_COST, metrics.relative_cost(mine, reference, zero), **at),
        context.metric(EXPLAINED, metrics.explained_share(mine, reference, zero), **at),
    ]


def control(context: Context, data: CoupledData, factors: Factors, reference: float, name: str) -> list[Metric]:
    """Measure a control (``random`` factors, planted ``truth``) as if it were a result."""
    return costs(context, metrics.cost(data, factors), reference, metrics.zero_cost(data), control=name)
