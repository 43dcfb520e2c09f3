"""Values: how a plan transforms the data before sampling, one module each, found by listing.

Each module has ``apply(data) -> CoupledData``; tensor and matrices keep their shapes.
"""

from typing import Any

from scoup.coupled import CoupledData
from scoup.listing import load


def view(data: CoupledData, values: str = "unchanged", weights: Any = "paper") -> CoupledData:
    """Return the data as a plan factorizes it: transformed and weighted.

    If all matrices have weight zero they are left out.

    ``weights`` are ``"paper"`` (all 1), ``"balanced"`` (1 / squared norm), numbers, tensor first,
    or ``{"balanced": numbers}``, which multiply the balanced ones.

    >>> import numpy as np
    >>> data = CoupledData(np.full((2, 2, 2), 2.0), {0: np.ones((2, 3))})
    >>> view(data, weights={"balanced": [1, 10]}).block_weights
    (0.03125, 1.6666666666666665)
    >>> view(data, weights=[1, 0]).matrices
    {}
    """
    prepared = load(__name__, values).apply(data)
    if isinstance(weights, dict):
        balanced = prepared.with_weights("balanced").block_weights
        if len(weights["balanced"]) != len(balanced):
            return prepared.with_weights(weights["balanced"])  # which refuses them in a sentence
        weights = [relative * b for relative, b in zip(weights["balanced"], balanced, strict=True)]
    if not isinstance(weights, str) and not any(list(weights)[1:]):
        # Matrices that count for nothing would still enter the densities and cost a pass per sweep.
        labels = prepared.labels[: prepared.ndim]
        return CoupledData.from_blocks(prepared.blocks[:1], list(weights)[:1], labels)
    return prepared.with_weights(weights)
