"""The merge of the authors' own program, which is not the one that the paper prints."""

from collections.abc import Sequence

import numpy as np

from scoup.coupled import CoupledData
from scoup.merges._filling import merge_by
from scoup.merges._shared import Matching
from scoup.records import Array, Fit, Sample
from scoup.specs import MergeSpec

LABEL = "authors' merge"


def merge(
    fits: Sequence[Fit], samples: Sequence[Sample], data: CoupledData, spec: MergeSpec
) -> tuple[list[Array], Matching]:
    """Match the columns of all factors by the first factor alone.

    Only zeros are filled, lambdas are averaged and empty samples are skipped. Signs are left as
    they are: the authors' fits are non-negative.
    """
    del spec
    return merge_by(assign, fits, samples, data)


def assign(merged: list[Array], pieces: list[Array]) -> list[Array]:
    """Assign each column to the merged one with the largest signed product in the first factor.

    Two columns may go to the same one: the second then fills what is still zero.

    >>> eye = np.eye(2)
    >>> [order.tolist() for order in assign([eye, eye], [eye[:, ::-1], eye])]
    [[1, 0], [1, 0]]
    """
    order = np.argmax(merged[0].T @ pieces[0], axis=0)
    return [order] * len(merged)
