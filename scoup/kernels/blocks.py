"""The layout of a small problem for compiled code, and the products of its blocks with factors.

One type of each array serves any number of modes and matrices, since all parts of a kind follow one
another in one array (:class:`Blocks`, :class:`State`) and a table says where each begins. Columns
of factors are padded with zeros to whole vectors. :mod:`scoup.kernels.loop` has the sweeps.
"""

from typing import NamedTuple

import numpy as np

from scoup.kernels.dense import contract_span, spread_rows
from scoup.kernels.lanes import add, add_scaled, lane_mask, load, multiply, store
from scoup.kernels.rows import fill, jit
from scoup.records import Array

WIDTH = 8  # numbers in a vector; a larger rank takes several
# Columns of the table of blocks; the numbers of the block's factors come last.
IS_SPARSE, ORDER, LONGEST, CELLS, VALUES_AT, COORDS_AT, PARTIAL_AT, IS_TRIANGULAR, FACTORS_AT = (
    range(9)
)
# Columns of the numbers of blocks.
WEIGHT, SQUARES, UNIT = range(3)

# Rows, or columns, of a triangular block whose products start or end at the same cell.
PANEL_CELLS = 32

_contract = contract_span(WIDTH)


class Blocks(NamedTuple):
    """The data of a problem.

    - ``values``: the cells of each block, all of a dense block (its longest mode first) or the
      listed ones of a sparse one;
    - ``coords``: int32, the coordinates of each sparse block, mode by mode;
    - ``table``: int64, one row per block, see :data:`IS_SPARSE` and its neighbours;
    - ``numbers``: weight, squared norm and unit of each block;
    - ``shares``: (factors, blocks), weights of blocks in the normal equations of each factor;
    - ``starts``: the first row of each factor, and the end of the last;
    - ``nonnegative``: whether each factor is.
    """

    values: Array
    coords: Array
    table: Array
    numbers: Array
    shares: Array
    starts: Array
    nonnegative: Array


class State(NamedTuple):
    """The factors and what is known of them.

    - ``rows``: all factors, one below the other, (rows, F rounded up);
    - ``grams``: ``M' M`` of each factor, (factors, F, F);
    - ``partials``: for each dense block its product with the factor of its longest mode;
    - ``fresh``: whether the product of a block is that with the present factor.
    """

    rows: Array
    grams: Array
    partials: Array
    fresh: Array


@jit
def sparse_product(blocks, state, block, mode, out):
    """``out[i] = sum over listed cells of x * prod of the rows of all other factors``."""
    line, whole = blocks.table[block], lane_mask(WIDTH, WIDTH)
    order, count = line[ORDER], line[CELLS]
    values = blocks.values[line[VALUES_AT] : line[VALUES_AT] + count]
    coords = blocks.coords[line[COORDS_AT] : line[COORDS_AT] + order * count]
    coords = coords.reshape(order, count)
    first = 1 if mode == 0 else 0
    starts = np.empty(order, np.int64)
    for n in range(order):
        starts[n] = blocks.starts[line[FACTORS_AT + n]]
    start = starts[first]
    fill(out, 0)
    if not count:
        return
    for c in range(0, out.shape[1], WIDTH):
        # Cells of one row often follow one another: their sum stays in registers.
        i = coords[mode, 0]
        total = load(out, i, c, whole)
        for t in range(count):
            term = load(state.rows, start + coords[first, t], c, whole)
            if order > 2:  # a matrix has no further mode, and the test takes less than the loop
                for n in range(first + 1, order):
                    if n != mode:
                        row = starts[n] + coords[n, t]
                        term = multiply(term, load(state.rows, row, c, whole))
            if coords[mode, t] != i:
                store(out, i, c, whole, total)
                i = coords[mode, t]
                total = load(out, i, c, whole)
            total = add_scaled(total, values[t], term)
        store(out, i, c, whole, total)


@jit
def dense_product(blocks, state, block, mode, out):
    """``out = X_(mode) KR(other factors)``; see :class:`scoup.terms.DenseTerm`."""
    line, columns = blocks.table[block], out.shape[1]
    start = blocks.starts[line[FACTORS_AT + line[LONGEST]]]
    length = blocks.starts[line[FACTORS_AT + line[LONGEST]] + 1] - start
    others = line[CELLS] // length
    values = blocks.values[line[VALUES_AT] : line[VALUES_AT] + line[CELLS]]
    unfolded, upper = values.reshape(1, length, others), line[IS_TRIANGULAR]
    # The cells below the diagonal of a triangular block are zeros, and are not read.
    panel = PANEL_CELLS if upper else max(length, others)
    if mode == line[LONGEST]:
        outer = np.empty((1, others, columns), out.dtype)
        _set_khatri_rao(blocks, state, block, outer[0])
        for j in range(0, length, panel):
            end = min(j + panel, length)
            spread_rows(j, end, unfolded, outer, out, min(j, others) if upper else 0)
        return
    partial = state.partials[line[PARTIAL_AT] : line[PARTIAL_AT] + others]
    if not state.fresh[block]:
        factor, target = state.rows[start : start + length], partial.reshape(1, others, columns)
        for q in range(0, others, panel):
            end = min(q + panel, others)
            window = (0, 1, 0, min(end, length) if upper else length, q, end)
            _contract(window, unfolded, factor, target)
        state.fresh[block] = True
    _contract_rest(blocks, state, block, mode, partial, out)


@jit
def _set_khatri_rao(blocks, state, block, out):
    """Products of the rows of all factors but that of the longest mode."""
    line, whole = blocks.table[block], lane_mask(WIDTH, WIDTH)
    index = np.zeros(line[ORDER], np.int64)
    first = 1 if line[LONGEST] == 0 else 0
    for r in range(len(out)):
        for c in range(0, out.shape[1], WIDTH):
            start = blocks.starts[line[FACTORS_AT + first]]
            term = load(state.rows, start + index[first], c, whole)
            for n in range(first + 1, line[ORDER]):
                if n != line[LONGEST]:
                    row = blocks.starts[line[FACTORS_AT + n]] + index[n]
                    term = multiply(term, load(state.rows, row, c, whole))
            store(out, r, c, whole, term)
        _advance(blocks, line, index)


@jit
def _contract_rest(blocks, state, block, mode, partial, out):
    """Multiply a partial product by the rows of all remaining factors but that of ``mode``."""
    line, whole = blocks.table[block], lane_mask(WIDTH, WIDTH)
    index = np.zeros(line[ORDER], np.int64)
    fill(out, 0)
    for r in range(len(partial)):
        i = index[mode]
        for c in range(0, out.shape[1], WIDTH):
            term = load(partial, r, c, whole)
            for n in range(line[ORDER]):
                if n not in (mode, line[LONGEST]):
                    row = blocks.starts[line[FACTORS_AT + n]] + index[n]
                    term = multiply(term, load(state.rows, row, c, whole))
            store(out, i, c, whole, add(load(out, i, c, whole), term))
        _advance(blocks, line, index)


@jit
def _advance(blocks, line, index):
    """Go to the next cell of all modes but the longest, the last mode fastest."""
    for mode in range(line[ORDER] - 1, -1, -1):
        if mode == line[LONGEST]:
            continue
        position = line[FACTORS_AT + mode]
        index[mode] += 1
        if index[mode] < blocks.starts[position + 1] - blocks.starts[position]:
            return
        index[mode] = 0
