"""Measures of a factorization. None makes a sparse tensor dense or forms a Khatri-Rao product."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from scoup import kernels
from scoup.block import Block
from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.factors import column_norms, scale_columns, unwrap
from scoup.machine import serial_blas
from scoup.records import Array, Factors
from scoup.tensor import as_real, check_coords
from scoup.terms import model_losses, terms_of

Kind = TypeVar("Kind")
# Costs below this share of the zero model's are rounding errors.
MIN_COST_SHARE = 1e-10
# Two models whose squared distance is below this share of their size are identical.
MIN_NOISE_SHARE = 1e-14
CORE_STEP_CELLS = 1 << 16


def losses(data: CoupledData, factors: Factors) -> dict[str, float]:
    """Squared error ``|W * (X - model)|^2`` of each block, unweighted.

    >>> zero = Factors(np.zeros(1), tuple(np.zeros((n, 1)) for n in (2, 2, 2)))
    >>> losses(CoupledData(np.ones((2, 2, 2))), zero)
    {'tensor': 8.0}
    """
    _check_model(data, factors)
    with serial_blas():
        values = model_losses(terms_of(data), factors)
    return {block.name: value for block, value in zip(data.blocks, values, strict=True)}


def _check_model(data: CoupledData, factors: Factors) -> None:
    """Refuse factors that do not belong to the data, or that are not numbers."""
    _check_kind("data", data, CoupledData)
    sizes = tuple(len(factor) for factor in _check_kind("factors", factors, Factors).flat)
    if sizes != data.sizes:
        expected = f"one per mode and matrix, with rows {data.sizes}"
        raise ScoupError.expected("factors", expected, f"rows {sizes}")
    if not all(np.isfinite(array).all() for array in (factors.weights, *factors.flat)):
        raise ScoupError.expected("factors", "finite numbers", "NaN or infinity")


def _check_kind(name: str, value: Any, kind: type[Kind]) -> Kind:
    if not isinstance(value, kind):
        raise ScoupError.expected(name, f"a {kind.__name__}", type(value).__name__)
    return value


def cost(data: CoupledData, factors: Factors) -> float:
    """The objective ``sum_b w_b |W_b * (X_b - model)|^2``.

    >>> zero = Factors(np.zeros(1), tuple(np.zeros((n, 1)) for n in (2, 2, 2)))
    >>> cost(CoupledData(np.ones((2, 2, 2))), zero)
    8.0
    """
    return weigh(data, losses(data, factors))


def weigh(data: CoupledData, parts: dict[str, float]) -> float:
    """Sum block losses with the block weights of the data.

    >>> data = CoupledData(np.ones((2, 2, 2)), {0: np.ones((2, 1))}, weights=(1.0, 10.0))
    >>> weigh(data, {"tensor": 8.0, "matrix0": 2.0})
    28.0
    """
    return float(
        sum(w * parts[block.name] for w, block in zip(data.block_weights, data.blocks, strict=True))
    )


def zero_cost(data: CoupledData) -> float:
    """The objective of the model that is zero everywhere: ``sum_b w_b |W_b * X_b|^2``.

    >>> zero_cost(CoupledData(np.ones((2, 2, 2))))
    8.0
    """
    blocks = _check_kind("data", data, CoupledData).blocks
    return weigh(data, {block.name: block.norm2 for block in blocks})


def relative_cost(value: float, reference: float, zero: float) -> float:
    """``value / reference``, both at least 1e-10 of the cost of the zero model.

    The cost of a perfect fit is rounding error alone, so the ratio of two of them says nothing.

    >>> relative_cost(3.0, 2.0, 10.0), relative_cost(1e-20, 1e-22, 1.0)
    (1.5, 1.0)
    """
    floor = MIN_COST_SHARE * zero
    return float(max(value, floor) / max(reference, floor))


def explained_share(value: float, reference: float, zero: float) -> float:
    """``(zero - value) / (zero - reference)``: 1 is the reference, 0 the zero model.

    >>> explained_share(4.0, 2.0, 10.0)
    0.75
    """
    if zero <= reference:
        raise ScoupError.expected(
            "reference", f"a cost below that of the zero model, {zero:g}", f"{reference:g}"
        )
    return float((zero - value) / (zero - reference))


def block_fits(data: CoupledData, factors: Factors) -> dict[str, float]:
    """``1 - |W * (X - model)|^2 / |W * X|^2`` of each block: 1 is perfect, 0 the zero model.

    >>> ones = np.ones((2, 1))
    >>> block_fits(CoupledData(np.ones((2, 2, 2))), Factors(np.ones(1), (ones, ones, ones)))
    {'tensor': 1.0}
    """
    parts = losses(data, factors)
    return {block.name: 1.0 - parts[block.name] / (block.norm2 or 1.0) for block in data.blocks}


def output_size(factors: Factors) -> int:
    """Number of non-zeros in all factor matrices.

    >>> output_size(Factors(np.ones(1), (np.eye(2, 1), np.ones((2, 1)), np.ones((2, 1)))))
    5
    """
    flat = _check_kind("factors", factors, Factors).flat
    return int(sum(np.count_nonzero(factor) for factor in flat))


def model_inner(left: Factors, right: Factors) -> float:
    """Inner product of two reconstructed tensors, from F x F matrices: ``l' (A'P * B'Q * C'R) m``.

    >>> ones = Factors(np.ones(1), tuple(np.ones((2, 1)) for _ in range(3)))
    >>> model_inner(ones, ones)
    8.0
    """
    sizes = [
        [len(mode) for mode in _check_kind("factors", f, Factors).modes] for f in (left, right)
    ]
    if sizes[0] != sizes[1]:
        raise ScoupError.expected("factors", f"modes with rows {sizes[0]}", f"rows {sizes[1]}")
    product = np.outer(left.weights, right.weights).astype(np.float64)
    for a, b in zip(left.modes, right.modes, strict=True):
        product *= a.astype(np.float64, copy=False).T @ b
    return float(product.sum())


def snr(missing: Factors, whole: Factors) -> float:
    """The paper's signal-to-noise ratio ``|X_m|^2 / |X_m - X_0|^2`` of two reconstructions.

    ``missing`` was fitted with cells missing, ``whole`` with none. Identical models give infinity.

    >>> modes = tuple(np.ones((2, 1)) for _ in range(3))
    >>> one, two = (Factors(np.array([weight]), modes) for weight in (1.0, 2.0))
    >>> snr(two, one), snr(one, one)
    (4.0, inf)
    """
    signal = model_inner(missing, missing)
    noise = signal - 2.0 * model_inner(missing, whole) + model_inner(whole, whole)
    return float("inf") if noise <= MIN_NOISE_SHARE * signal else signal / noise


def held_out_error(truth: Array, coords: Array, factors: Factors) -> float:
    """Relative squared error ``|x - model|^2 / |x|^2`` on hidden cells ``coords`` (N, n).

    >>> ones = Factors(np.ones(1), tuple(np.ones((2, 1)) for _ in range(3)))
    >>> held_out_error(np.array([2.0]), np.zeros((3, 1), dtype=int), ones)
    0.25
    """
    modes = _check_kind("factors", factors, Factors).modes
    cells = check_coords(coords, tuple(len(mode) for mode in modes))
    truth = as_real("truth", truth)
    if truth.shape != (cells.shape[1],):
        expected = f"{cells.shape[1]} numbers, one per column of coords"
        raise ScoupError.expected("truth", expected, f"shape {truth.shape}")
    error = truth.astype(np.float64) - kernels.model_at(cells, factors.weights, modes)
    return float(error @ error / max(float(np.dot(truth, truth)), np.finfo(float).tiny))


def degeneracy(factors: Factors) -> float:
    """Smallest triple cosine between two components, ``min_{f != g} prod_n cos(a_nf, a_ng)``.

    Near -1 two components cancel each other: the model is degenerate. 1.0 for a single component.

    >>> A = np.array([[1.0, 1.0]])
    >>> degeneracy(Factors(np.ones(2), (A, A, A * [1, -1])))
    -1.0
    """
    if _check_kind("factors", factors, Factors).rank == 1:
        return 1.0
    product = np.outer(np.sign(factors.weights), np.sign(factors.weights)).astype(np.float64)
    for mode in factors.modes:
        unit = scale_columns(mode.astype(np.float64), column_norms(mode))
        product *= unit.T @ unit
    return float(product[~np.eye(factors.rank, dtype=bool)].min())


def core_consistency(data: CoupledData, factors: Factors) -> float:
    """Core consistency of Bro and Kiers, in percent: 100 if the best core is superdiagonal.

    ``100 (1 - |G - I|^2 / F)`` with ``G = X x_1 A^+ x_2 B^+ x_3 C^+`` and weights absorbed evenly.

    >>> eye = Factors(np.ones(2), tuple(np.eye(2) for _ in range(3)))
    >>> tensor = np.zeros((2, 2, 2))
    >>> tensor[0, 0, 0] = tensor[1, 1, 1] = 1.0
    >>> round(core_consistency(CoupledData(tensor), eye), 6)
    100.0
    """
    _check_model(data, factors)
    if data.blocks[0].mask is not None:
        raise ScoupError.expected(
            "data", "a tensor with no missing cells for core consistency", "a masked one"
        )
    modes = unwrap(factors)[: data.ndim]
    inverses = [np.linalg.pinv(mode.astype(np.float64)).T for mode in modes]
    core = core_of(data.blocks[0], inverses)
    ideal = np.zeros_like(core)
    ideal[tuple(np.arange(factors.rank) for _ in modes)] = 1.0
    return float(100.0 * (1.0 - np.sum((core - ideal) ** 2) / factors.rank))


def core_of(block: Block, inverses: Sequence[Array]) -> Array:
    """``X x_1 P_1' x_2 P_2' ...`` for (I_n, F) matrices P: an array of F^N numbers.

    >>> block = CoupledData(np.ones((2, 3, 4))).blocks[0]
    >>> core_of(block, [np.ones((n, 1)) for n in (2, 3, 4)]).ravel().tolist()
    [24.0]
    """
    rank = inverses[0].shape[1]
    if not block.is_sparse:
        core = block.in_memory
        assert isinstance(core, np.ndarray)
        for matrix in inverses:
            core = np.tensordot(core, matrix, axes=(0, 0))
        return core
    flat = np.zeros((rank, rank ** (len(inverses) - 1)))
    for coords, values in block.batches(CORE_STEP_CELLS):
        rows = [matrix[index] for matrix, index in zip(inverses, coords, strict=True)]
        flat += (rows[0] * values[:, None]).T @ _row_products(rows[1:])
    return flat.reshape((rank,) * len(inverses))


def _row_products(rows: Sequence[Array]) -> Array:
    """Return the Kronecker product of matching rows: (n, F^(number of arrays))."""
    product = rows[0]
    for array in rows[1:]:
        product = (product[:, :, None] * array[:, None, :]).reshape(len(product), -1)
    return product
