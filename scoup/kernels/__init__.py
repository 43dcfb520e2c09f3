"""Compiled passes over dense and sparse data; everything above them is a few small matrices.

Results do not depend on the number of threads (:func:`scoup.threads.threads`), and every function may
be called from several Python threads at once.
"""

from scoup.kernels.dense import contract, densities, gram, inner, long_gram, product, spread
from scoup.kernels.fibres import Fibres, arrange
from scoup.kernels.sparse import model_at, mttkrp, row_grams, sparse_densities
from scoup.kernels.systems import solve_rows

__all__ = [
    "Fibres",
    "arrange",
    "contract",
    "densities",
    "gram",
    "inner",
    "long_gram",
    "model_at",
    "mttkrp",
    "product",
    "row_grams",
    "solve_rows",
    "sparse_densities",
    "spread",
]
