"""What both estimators share: data at the door, projection, prediction, scores and tables."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from scoup import interop, project
from scoup.cells import Cells
from scoup.coupled import CoupledData, Dataset
from scoup.errors import NotFittedError, ScoupError
from scoup.factors import matrix_of, tensor_of, upright
from scoup.machine import require_dense
from scoup.metrics import block_fits
from scoup.parameters import Parameters
from scoup.records import Array, Factors, Labels
from scoup.specs import Count, Whole, check
from scoup.streamed import StreamedTensor
from scoup.tensor import SparseTensor


class Model(Parameters):
    """A fitted coupled factorization, and scikit-learn's way to use it.

    ``fit`` sets ``factors_``, ``labels_`` (of the data, or none), ``seed_`` and ``n_iter_``.
    """

    factors_: Factors
    labels_: Sequence[Labels]
    seed_: int
    n_iter_: int

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model; see the estimators."""
        raise NotImplementedError

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fit, then project the slices of mode 0 of the same tensor: (I, F).

        These are the features that ``transform`` gives new slices; rows of ``factors_.modes[0]``
        know the matrices as well.
        """
        return self.fit(X, y).transform(as_data(X, y))

    def transform(
        self, rows: Any, mode: int = 0, *, block: str | None = None, position: int = 0,
        ridge: float = 0.0, rule: str = "least_squares",
    ) -> Array:  # fmt: skip
        """Project new rows of one block onto the latent space of ``mode``: (n, F).

        ``block`` is ``"matrix"`` (rows of the matrix on ``mode``, the ``position``-th if there are
        several) or ``"tensor"`` (slices along ``mode``, which comes first: (n, other modes)); by
        default what has as many axes as the tensor are slices. NaN means missing; sparse rows and
        slices stay sparse. Of coupled data, the slices of its tensor are taken. See
        :func:`scoup.project.project`.
        """
        factors = self._fitted()
        block = self._block_of(rows, block)
        if isinstance(rows, (CoupledData, Cells, Dataset)):
            rows = _slices(as_data(rows), mode)
        if block == "tensor" and isinstance(rows, (SparseTensor, StreamedTensor)):
            return project.project_cells(factors, rows, mode, ridge, rule)
        dictionary = project.dictionary(factors, mode, block, position)
        if block == "tensor" and np.ndim(rows) == len(factors.modes):
            _check_sizes("rows", rows, factors, mode)
        return project.project(dictionary, rows, ridge, rule)

    def predict(
        self, rows: Any, mode: int = 0, *, at: Mapping[int, int] | None = None,
        block: str | None = None, ridge: float = 0.0, rule: str = "least_squares",
    ) -> Array:  # fmt: skip
        """Predict the other block: tensor slices from matrix rows, or matrix rows from slices.

        ``at`` fixes indices of other tensor modes: with questions on mode 0 and subjects on mode 2,
        ``predict(q, at={2: 3})`` is the brain image of subject 3, ``B diag(weights * c_3) a``.
        """
        self._fitted()
        block = self._block_of(rows, block)
        latent = self.transform(rows, mode, block=block, ridge=ridge, rule=rule)
        if block == "tensor":
            return latent @ project.dictionary(self.factors_, mode, "matrix").T
        return project.expand(self.factors_, latent, mode, at)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the share of the tensor's observed squares that the model explains.

        1 is perfect, 0 no better than a model of zeros. Three questions, by what is passed:

        - coupled data or :class:`Cells`: how well are the cells of the fitted indices explained?
          On cells hidden from ``fit`` this scores the prediction alone; matrices do not count.
        - ``X, y`` as arrays: new indices of mode 0; their slices are predicted from their rows in
          the matrix ``y``.
        - ``X`` alone as an array: new indices of mode 0; each half of the cells of a slice (in a
          chequerboard) is predicted from the other half.
        """
        factors = self._fitted()
        if isinstance(X, (CoupledData, Cells, Dataset)):
            return block_fits(as_data(X, y), factors)["tensor"]
        slices = _check_slices(X, factors)
        predicted = _predict_halves(slices, factors) if y is None else self._predict_slices(y)
        if predicted.shape != slices.shape:
            raise ScoupError.expected(
                "y", f"{len(slices)} rows, one per slice of X", len(predicted)
            )
        known = ~np.isnan(slices)
        squares = float(np.sum(slices[known] ** 2))
        lost = float(np.sum((slices - predicted)[known] ** 2))
        return 1.0 - lost / (squares or 1.0)

    def _predict_slices(self, y: Any) -> Array:
        matrices = as_matrices(y)
        if list(matrices) != [0]:
            hint = "hide cells of whole data instead: Cells(CoupledData(X, matrices))"
            raise ScoupError.expected("y", "the matrix on mode 0", f"modes {list(matrices)}", hint)
        rows = matrices[0][0] if isinstance(matrices[0], (list, tuple)) else matrices[0]
        latent = self.transform(rows, block="matrix")
        return latent @ project.dictionary(self.factors_, 0, "tensor").T

    def _block_of(self, rows: Any, block: str | None) -> str:
        """Return which block rows belong to: as stated, or by their number of axes."""
        if block is not None:
            return check("block", block, Literal["matrix", "tensor"])
        return "tensor" if np.ndim(rows) == len(self.factors_.modes) else "matrix"

    def reconstruct(self) -> Array:
        """Return the model of the tensor, ``sum_f weights[f] a_f o b_f o c_f``, dense."""
        factors = self._fitted()
        require_dense("reconstruct", [len(mode) for mode in factors.modes])
        return tensor_of(factors)

    def reconstruct_matrix(self, mode: int = 0, position: int = 0) -> Array:
        """Return the model of a matrix, ``modes[mode] @ side.T``."""
        return matrix_of(self._fitted(), mode, position)

    @property
    def components_(self) -> Array:
        """What one unit of each component adds to a slice of mode 0: (F, J, K, ...).

        As in scikit-learn, a tensor is about ``np.tensordot(model.transform(X), components_, 1)``.
        """
        factors = self._fitted()
        sizes = [len(mode) for mode in factors.modes[1:]]
        require_dense("components_", (factors.rank, *sizes))
        return project.dictionary(factors, 0, "tensor").T.reshape(factors.rank, *sizes)

    def to_xarray(self) -> Any:
        """Return weights and factors as an ``xarray.Dataset`` with the labels of the data."""
        return interop.to_xarray(self._fitted(), self.labels_)

    def top(self, mode: int | str, component: int, count: int = 10) -> pd.Series:
        """Return the strongest ``count`` loadings of a component on one mode, by label.

        ``mode`` is a position in ``[*modes, *sides]`` or the name of its labels. Components are
        numbered from 1, as in tables and figures. Signs are those of :func:`scoup.factors.upright`,
        and rows that were never sampled are left out.
        """
        tables = interop.to_frames(upright(self._fitted()), self.labels_)
        names = [name for name in tables if name != interop.WEIGHTS]
        if isinstance(mode, str):
            if mode not in names:
                raise ScoupError.expected("mode", "one of " + ", ".join(names), repr(mode))
        else:
            mode = names[check_number("mode", mode, 0, len(names) - 1)]
        check_number("component", component, 1, self.factors_.rank)
        loadings = tables[mode][component].dropna()
        strongest = loadings.abs().sort_values(ascending=False, kind="stable").index
        return loadings.loc[strongest[: check("count", count, Count)]]

    def _fitted(self) -> Factors:
        if not hasattr(self, "factors_"):
            raise NotFittedError.of(self)
        return self.factors_

    def __sklearn_tags__(self) -> Any:  # scikit-learn alone calls this
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False, two_d_labels=True),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(two_d_array=False, three_d_array=True, allow_nan=True),
        )


def as_data(X: Any, y: Any = None) -> CoupledData:
    """Return coupled data as it is, or the data of a tensor and its matrices.

    ``y`` is the matrix on mode 0, a list of these, or ``{mode: matrix or list of matrices}``.

    >>> as_data(np.ones((2, 3, 4)), {1: np.ones((3, 5))})
    CoupledData(tensor: 2 x 3 x 4; matrix1: 3 x 5)
    >>> as_data([1, 2])
    Traceback (most recent call last):
    ...
    scoup.errors.ScoupError: tensor: expected three modes or more, got 1.
    """
    if isinstance(X, (Cells, Dataset)):
        X = X.data
    if not isinstance(X, CoupledData):
        return CoupledData(X, as_matrices(y))
    if y is not None:
        expected = "None next to coupled data, which holds its matrices"
        raise ScoupError.expected("y", expected, type(y).__name__)
    return X


def as_matrices(y: Any) -> Mapping[int, Any]:
    """Return ``{mode: matrix or list of matrices}``; a matrix alone is on mode 0.

    >>> as_matrices([1.0, 2.0])[0].shape, as_matrices(None)
    ((2, 1), {})
    """
    if y is None or isinstance(y, Mapping):
        return y or {}
    if isinstance(y, (list, tuple)):
        y = list(y) if all(np.ndim(matrix) == 2 for matrix in y) else np.asarray(y)
    return {0: y if isinstance(y, list) or np.ndim(y) != 1 else np.asanyarray(y)[:, None]}


def check_number(name: str, number: Any, low: int, high: int) -> int:
    """Return an integer that is within bounds, or refuse it.

    >>> check_number("component", 0, low=1, high=3)
    Traceback (most recent call last):
    ...
    scoup.errors.ScoupError: component: expected a number from 1 to 3, got 0.
    """
    if not low <= check(name, number, Whole) <= high:
        raise ScoupError.expected(name, f"a number from {low} to {high}", number)
    return int(number)


def _slices(data: CoupledData, mode: int) -> Any:
    """Return the slices of a tensor along ``mode``: (n, other modes), NaN for missing cells."""
    block = data.blocks[0]
    check_number("mode", mode, 0, data.ndim - 1)
    order = [mode, *(n for n in range(data.ndim) if n != mode)]
    values: Any = block.values if mode == 0 and block.is_streamed else block.in_memory
    if block.mask is not None:
        require_dense("transform", block.shape)
        dense, mask = block.to_dense() if block.is_sparse else (values, block.mask)
        values = np.where(np.asarray(mask), dense, np.nan)
    if mode == 0:
        return values
    if isinstance(values, SparseTensor):
        shape = [values.shape[n] for n in order]
        return SparseTensor(values.coords[order], values.values, tuple(shape))
    return values.transpose(order)


def _check_slices(X: Any, factors: Factors) -> Array:
    """Return new slices of mode 0 as rows (n, cells of a slice), NaN where missing."""
    if isinstance(X, (SparseTensor, StreamedTensor)):
        hint = "for cells of the fitted indices pass CoupledData or Cells"
        raise ScoupError.expected("X", "a dense array of new slices", "a sparse tensor", hint)
    _check_sizes("X", X, factors, 0)
    return project.check_rows(X)


def _check_sizes(name: str, slices: Any, factors: Factors, mode: int) -> None:
    """Refuse slices (n, other modes) of other sizes than those of the fit."""
    sizes = tuple(len(factor) for n, factor in enumerate(factors.modes) if n != mode)
    if np.shape(slices)[1:] != sizes:
        expected = f"slices of {' x '.join(map(str, sizes))}, as fitted"
        raise ScoupError.expected(name, expected, f"shape {np.shape(slices)}")


def _predict_halves(slices: Array, factors: Factors) -> Array:
    """Predict each half of the cells of every slice, in a chequerboard, from the other half."""
    dictionary = project.dictionary(factors, 0, "tensor")
    sizes = [len(mode) for mode in factors.modes[1:]]
    even = np.indices(sizes).sum(axis=0).ravel() % 2 == 0
    predicted = np.empty_like(slices)
    for half in (even, ~even):
        latent = project.project(dictionary[half], slices[:, half])
        predicted[:, ~half] = latent @ dictionary[~half].T
    return predicted
