"""Multiply one part of the shards with the factors of a completion: one of the jobs of a round."""

import numpy as np

from scoup.constraints import Constraints
from scoup.coupled import CoupledData
from scoup.machine import serial_blas
from scoup.normal import RowSolver
from scoup.records import Products, Round
from scoup.sharded import ShardedTensor
from scoup.solvers import als
from scoup.specs import MergeSpec


def multiply(part: ShardedTensor, state: Round, data: CoupledData, spec: MergeSpec) -> Products:
    """Answer the request of a round for one part of the tensor of ``data``.

    Of the leading factor only the rows of this part are used.
    """
    request, leading, factors = state.request, part.leading, state.flat[: part.ndim]
    assert request is not None
    with serial_blas():
        if not request.solves:
            return Products([], list(part.product_sums(factors, request.mode)))
        updates = als.exact_updates(Constraints.of(spec.constraints, data), len(data.sizes))
        solve = RowSolver(
            request.gram, request.rest, factors[leading], request.weight, updates[leading]
        )
        solved = np.zeros_like(factors[leading], order="C")
        sums = list(part.solved_sums(factors, solve, request.mode, solved))
    spans = part.manifest.group_rows()
    return Products([solved[spans[number]] for number in part.groups], sums)
