"""The measures that several experiments share, and the controls that bracket them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from scoup import metrics
from scoup.coupled import CoupledData
from scoup.factors import wrap
from scoup.measures import Context, Measure, Metric
from scoup.scale import rescale
from scoup.seeds import generator
from scoup.terms import terms_of

Array = NDArray[Any]

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


def costs(
    context: Context, mine: float, reference: float, zero: float, **at: object
) -> list[Metric]:
    """Return the relative cost and, beside it, the explained share: near 1 on noisy data both mean little alone."""
    return [
        context.metric(RELATIVE_COST, metrics.relative_cost(mine, reference, zero), **at),
        context.metric(EXPLAINED, metrics.explained_share(mine, reference, zero), **at),
    ]


def random_factors(data: CoupledData, rank: int, seed: int) -> list[Array]:
    """Random factors ``[*modes, *sides]``, each component scaled to the data by least squares."""
    rng = generator(seed, "control")
    flat = [rng.standard_normal((size, rank)).astype(data.dtype) for size in data.sizes]
    return rescale(terms_of(data), flat, data.ndim)


def controls(
    context: Context, data: CoupledData, flat: Sequence[Array], reference: float, name: str
) -> list[Metric]:
    """Measure a control (``random`` factors, ``planted`` ones) as if it were a result."""
    zero = metrics.zero_cost(data)
    mine = metrics.cost(data, wrap(flat, data))
    return [
        context.metric(CONTROL_COST, metrics.relative_cost(mine, reference, zero), control=name),
        context.metric(CONTROL_SHARE, metrics.explained_share(mine, reference, zero), control=name),
    ]
