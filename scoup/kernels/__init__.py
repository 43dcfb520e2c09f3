"""Compiled passes over dense and sparse data; all other work of a fit is on small matrices.

Results do not depend on the number of threads (:func:`scoup.machine.threads`), and every function
may be called from several Python threads at once. Those that only a merge or a sample needs are
imported from their modules, so that an edit of them reruns no fit.
"""

from scoup.kernels.bits import pack_bits, sum_picked, transpose_bits
from scoup.kernels.dense import MIN_PASS_NUMBERS, contract, gram, inner, long_gram, product, spread
from scoup.kernels.extract import extract, select_cells
from scoup.kernels.fibres import Fibres, arrange
from scoup.kernels.fused import fuses, solve_and_contract
from scoup.kernels.marginals import densities
from scoup.kernels.nonnegative import solve_nonnegative
from scoup.kernels.residuals import squared_error
from scoup.kernels.rows import MIN_PIVOT, solve_rows
from scoup.kernels.sparse import add_densities, model_at, mttkrp, row_grams, sparse_densities

__all__ = [
    "MIN_PASS_NUMBERS",
    "MIN_PIVOT",
    "Fibres",
    "add_densities",
    "arrange",
    "contract",
    "densities",
    "extract",
    "fuses",
    "gram",
    "inner",
    "long_gram",
    "model_at",
    "mttkrp",
    "pack_bits",
    "product",
    "row_grams",
    "select_cells",
    "solve_and_contract",
    "solve_nonnegative",
    "solve_rows",
    "sparse_densities",
    "spread",
    "squared_error",
    "sum_picked",
    "transpose_bits",
]
