"""Values: what a plan makes of the data before it is sampled, one module each, found by listing this folder.

Each module has ``apply(data) -> CoupledData``. Tensor and matrices keep their shapes.
"""

from __future__ import annotations

from typing import Any

from scoup.coupled import CoupledData
from scoup.listing import load


def view(data: CoupledData, values: str = "unchanged", weights: Any = "paper") -> CoupledData:
    """Return the data as a plan factorizes it: transformed, weighted, and without matrices of weight zero.

    ``weights`` are ``"paper"`` (all 1), ``"balanced"`` (1 / squared norm), numbers, tensor first, or
    ``{"balanced": numbers}``, which multiply the balanced ones.

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
        weights = [
            share * weight for share, weight in zip(weights["balanced"], balanced, strict=True)
        ]
    if not isinstance(weights, str) and not any(list(weights)[1:]):
        # A matrix that counts for nothing is left out: it would take part in the densities and cost a pass per sweep.
        prepared, weights = (
            CoupledData(prepared.blocks[0].values, tensor_mask=prepared.blocks[0].mask),
            weights[:1],
        )
    return prepared.with_weights(weights)
