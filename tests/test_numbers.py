"""Numbers to trust: for drawn data of any size, precision and shape, every solver tells the truth.

``make test`` draws some 160 cases. For a thorough search:

    SCOUP_CASES=20000 pytest -p no:xdist tests/test_numbers.py
"""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from scipy import sparse

from scoup import CMTF, CoupledData, HeldOut, Observed, ScoupError, SparseTensor
from scoup.factors import matrix_of, tensor_of
from scoup.listing import load, members

pytestmark = pytest.mark.filterwarnings("ignore::scoup.errors.ScoupWarning")
SOLVERS = members("scoup.solvers")
CASES = int(os.environ.get("SCOUP_CASES", "160")) // (2 * len(SOLVERS))
PHASES = (Phase.explicit, Phase.generate, Phase.shrink)
# Sizes of cells, as powers of ten: float32 itself reaches from 1e-38 to 1e38.
EXPONENTS = {"f8": (-150, 148), "f4": (-30, 30)}
# Sizes of cells that every fit takes. Beyond them the factors may leave the range of the precision,
# which is said in a sentence.
PROMISED = {"f8": (1e-150, 1e150), "f4": (1e-20, 1e20)}
# The reported cost against the cost of the residuals, relative to it; where the fit is almost exact
# the cost is rounding error, and the measure is the cost of the zero model.
COST_TOLERANCE = {"f8": 1e-6, "f4": 1e-3}
EXACT_SHARE = {"f8": 1e-12, "f4": 1e-9}
# A sweep may raise the cost by rounding errors alone, relative to the cost of the zero model.
MAX_RISE_SHARE = {"f8": 1e-9, "f4": 1e-4}


@st.composite
def arrays(draw, shape, rng):
    """An array of noise, of a planted model, of few counts, constant, or zero; empty slices."""
    kind = draw(st.sampled_from(["noise", "planted", "counts", "constant", "zero", "spread"]))
    array = rng.standard_normal(shape)
    if kind == "planted":
        array = np.ones(shape)
        for mode, size in enumerate(shape):
            column = rng.standard_normal(size)
            array *= column.reshape([-1 if n == mode else 1 for n in range(len(shape))])
    elif kind == "counts":
        array = rng.poisson(0.4, shape).astype(float)
    elif kind in ("constant", "zero"):
        array[:] = kind == "constant"
    elif kind == "spread":
        array *= 10.0 ** rng.integers(-6, 7, shape)
    mode = draw(st.integers(0, len(shape) - 1))
    slices = np.moveaxis(array, mode, 0)
    if draw(st.booleans()):
        slices[rng.integers(shape[mode])] = draw(st.sampled_from([0.0, 1.0]))
    return array


@st.composite
def masks(draw, shape, rng):
    """What is observed: everything, some cells, all but a slice, all but one cell, one cell."""
    kind = draw(st.sampled_from(["none", "none", "cells", "slice", "hole", "single"]))
    if kind == "none":
        return None
    known = np.ones(shape, dtype=bool)
    cell = tuple(rng.integers(size) for size in shape)
    if kind == "cells":
        known = rng.random(shape) < draw(st.sampled_from([0.1, 0.5, 0.9]))
    elif kind == "slice":
        known[cell[0]] = False
    elif kind == "single":
        known[:] = False
    known[cell] = kind != "hole"
    return known if known.any() else None


def listed(known, reading):
    """A mask of sparse data: the cells that are hidden, or those that are observed."""
    cells = np.array(np.nonzero(known if reading is Observed else ~known))
    return reading(SparseTensor(cells, np.ones(cells.shape[1]), known.shape))


class Case:
    """Dense arrays and masks in float64, and the same as the data of a fit."""

    def __init__(self, blocks, known, owners, weights, forms):
        self.blocks, self.known, self.owners = blocks, known, owners
        self.weights, self.forms = weights, forms

    def is_promised(self, precision):
        """Whether all cells are of sizes that every fit takes."""
        cells = np.concatenate([np.abs(array[array != 0]) for array in self.blocks])
        low, high = PROMISED[precision]
        return bool(np.all((low <= cells) & (cells <= high)))

    def __repr__(self):
        return f"Case{self.blocks, self.known, self.owners, self.weights, self.forms}"

    def data(self, exponent=0):
        """The data, multiplied by a power of two."""
        values, hidden = [], []
        for array, known, form in zip(self.blocks, self.known, self.forms, strict=True):
            scaled = np.ldexp(array, exponent)
            if form == "dense":
                values.append(scaled if known is None else np.where(known, scaled, np.nan))
                hidden.append(None)
                continue
            cells = np.array(np.nonzero(scaled))
            tensor = SparseTensor(cells, scaled[tuple(cells)], scaled.shape)
            values.append(tensor if scaled.ndim > 2 else sparse.csr_array(scaled))
            hidden.append(None if known is None else listed(known, form))
        matrices, mask = {}, {}
        for owner, matrix, unknown in zip(self.owners, values[1:], hidden[1:], strict=True):
            matrices.setdefault(owner, []).append(matrix)
            mask.setdefault(owner, []).append(unknown)
        return CoupledData(values[0], matrices, hidden[0], mask, self.weights)

    def costs(self, data, factors):
        """The cost of the model and that of zeros, from dense residuals in float64."""
        double = factors.replace_flat(
            [factor.astype(float) for factor in factors.flat], factors.weights.astype(float)
        )
        models, position = [tensor_of(double)], {}
        for owner in self.owners:
            position[owner] = position.get(owner, -1) + 1
            models.append(matrix_of(double, owner, position[owner]))
        cost = zero = 0.0
        for weight, array, known, model in zip(
            data.block_weights, self.blocks, self.known, models, strict=True
        ):
            seen = np.ones(array.shape, dtype=bool) if known is None else known
            cost += weight * np.sum((array.astype(float) - model)[seen] ** 2)
            zero += weight * np.sum(array.astype(float)[seen] ** 2)
        return cost, zero


@st.composite
def cases(draw, precision):
    """Coupled data of 3 to 5 modes with up to three matrices, at any scale."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    order = draw(st.integers(3, 5))
    shape = tuple(draw(st.lists(st.integers(1, 7 - order), min_size=order, max_size=order)))
    owners = sorted(draw(st.lists(st.integers(0, order - 1), max_size=3)))
    shapes = [shape, *((shape[owner], draw(st.integers(1, 4))) for owner in owners)]
    exponent = draw(st.integers(*EXPONENTS[precision]))
    blocks, known, forms = [], [], []
    for size in shapes:
        relative = draw(st.sampled_from([0, 0, 0, -3, 3])) if blocks else 0
        array = draw(arrays(size, rng)) * 10.0 ** np.clip(
            exponent + relative, *EXPONENTS[precision]
        )
        blocks.append(array.astype(precision))
        known.append(draw(masks(size, rng)))
        forms.append(draw(st.sampled_from(["dense", "dense", HeldOut, Observed])))
    numbers = [1.0, *draw(st.lists(st.sampled_from([0.0, 1.0, 1e-3, 100.0]), min_size=3))]
    weights = draw(st.sampled_from(["paper", "paper", "balanced", numbers[: len(blocks)]]))
    return Case(blocks, known, owners, weights, forms)


@pytest.mark.parametrize("precision", ["f8", "f4"])
@pytest.mark.parametrize("solver", SOLVERS)
@settings(max_examples=CASES, phases=PHASES, suppress_health_check=list(HealthCheck))
@given(drawn=st.data())
def test_the_reported_cost_is_true_never_rises_and_follows_the_scale(solver, precision, drawn):
    case = drawn.draw(cases(precision))
    try:
        check(case, solver, precision, drawn)
    except ScoupError as refusal:
        if case.is_promised(precision) or "change the unit of the data" not in str(refusal):
            raise


def check(case, solver, precision, drawn):
    """Fit the data, recompute the cost, and fit the data in another unit."""
    data = case.data()
    model = CMTF(
        drawn.draw(st.integers(1, 7)),
        solver=solver,
        init=drawn.draw(st.sampled_from(["random", "random", "parafac", "tucker"])),
        max_iter=drawn.draw(st.sampled_from([1, 3, 10])),
        tol=drawn.draw(st.sampled_from([0.0, 1e-7])),
        seed=drawn.draw(st.integers(0, 9)),
    )
    if data.is_masked and getattr(load("scoup.solvers", solver), "NEEDS_DENSE", False):
        with pytest.raises(ScoupError, match=r"when cells are missing|change the unit"):
            model.fit(data)
        return
    report, factors = model.fit(data).report_, model.factors_
    cost, zero = case.costs(data, factors)
    near = COST_TOLERANCE[precision] * cost + EXACT_SHARE[precision] * zero
    assert abs(report.cost - cost) <= near
    assert max(report.losses) <= zero * (1 + COST_TOLERANCE[precision])
    assert max(np.diff(report.losses), default=0.0) <= MAX_RISE_SHARE[precision] * zero
    assert all(np.isfinite(factor).all() for factor in (factors.weights, *factors.flat))
    if drawn.draw(st.integers(0, 3)) == 0:
        shift = drawn.draw(st.integers(-6, 6))
        moved = model.fit(case.data(shift)).factors_
        assert np.array_equal(moved.weights, np.ldexp(factors.weights, shift))
        for one, other in zip(moved.modes, factors.modes, strict=True):
            assert np.array_equal(one, other)
