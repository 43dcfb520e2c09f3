"""Rows of a factor in vector registers.

The compiler keeps a running sum of runtime length in memory and peels the loop over it; that halves
the speed of every sparse product. Here a sum is one value of ``width`` lanes that LLVM maps to
whatever registers the machine has, and columns past the last are masked, so that one compiled
kernel serves every rank.

For the maintainer: this module relies on numba and llvmlite below their stable interfaces, namely
``numba.extending.intrinsic`` with ``prefer_literal``, ``register_model`` and ``PrimitiveModel``,
``numba.core.cgutils`` (``get_item_pointer``, ``get_or_insert_function``), ``context.make_array``,
and ``llvmlite.ir`` with opaque pointers (the suffix ``.p0`` of ``llvm.masked.load``,
``llvm.masked.store`` and ``llvm.prefetch``). If an upgrade breaks it, the first tests to fail are
``tests/test_kernels.py::test_mttkrp_is_the_sum_over_cells`` (sparse) and
``test_dense_passes_are_einsums`` (dense); each compares with plain ``numpy.einsum``, so the Python
loops of :mod:`scoup.kernels.rows` and :mod:`scoup.kernels.dense` state what is to be computed.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as _intrinsic
from numba.extending import models, register_model

# numba's annotations describe the builder, not the call that kernels make.
intrinsic: Any = _intrinsic


class Lanes(types.Type):
    """``width`` numbers of one type, held in registers."""

    def __init__(self, dtype: types.Type, width: int) -> None:
        self.dtype, self.width = dtype, width
        super().__init__(f"Lanes({dtype}, {width})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Lanes) -> None:
        super().__init__(manager, kind, _vector(kind))


def _vector(kind: Lanes) -> ir.VectorType:
    scalar = {
        types.float64: ir.DoubleType(),
        types.float32: ir.FloatType(),
        types.boolean: ir.IntType(1),
    }[kind.dtype]
    return ir.VectorType(scalar, kind.width)


def _splat(builder: ir.IRBuilder, scalar: ir.Value, width: int) -> ir.Value:
    vector = ir.VectorType(scalar.type, width)
    first = builder.insert_element(
        ir.Constant(vector, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0)
    )
    picks = ir.Constant(ir.VectorType(ir.IntType(32), width), [0] * width)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), picks)


def _suffix(vector: ir.VectorType) -> str:
    return f"v{vector.count}f{64 if isinstance(vector.element, ir.DoubleType) else 32}.p0"


def _address(
    context: Any, builder: ir.IRBuilder, kind: Any, array: Any, index: list[Any]
) -> tuple[Any, Any]:
    """Return the pointer to element ``index`` of a C-contiguous array, and its alignment."""
    struct = context.make_array(kind)(context, builder, array)
    pointer = cgutils.get_item_pointer(context, builder, kind, struct, index, wraparound=False)
    bits = 8 if kind.dtype == types.boolean else kind.dtype.bitwidth
    return pointer, ir.Constant(ir.IntType(32), bits // 8)


@intrinsic(prefer_literal=True)
def lane_mask(typing_context, width, count):
    """Return a mask whose first ``count`` lanes are on.

    With ``count = width``, both constant, loads and stores are compiled as plain ones; a store
    under a mask that is known at run time only takes AMD's processors a dozen cycles.
    """
    kind = Lanes(types.boolean, width.literal_value)

    def build(context, builder, signature, args):
        steps = ir.Constant(ir.VectorType(ir.IntType(64), kind.width), list(range(kind.width)))
        return builder.icmp_signed("<", steps, _splat(builder, args[1], kind.width))

    return kind(width, types.int64), build


@intrinsic
def zero_lanes(typing_context, mask, like):
    """Return zero in every lane, of the type of the array ``like``."""
    kind = Lanes(like.dtype, mask.width)
    return kind(mask, like), lambda context, builder, signature, args: ir.Constant(
        _vector(kind), None
    )


@intrinsic
def load(typing_context, array, row, column, mask):
    """Read ``array[row, column:]`` where the mask is on, zero elsewhere."""
    kind = Lanes(array.dtype, mask.width)

    def build(context, builder, signature, args):
        pointer, align = _address(context, builder, array, args[0], [args[1], args[2]])
        vector = _vector(kind)
        signature = ir.FunctionType(vector, [pointer.type, align.type, args[3].type, vector])
        call = cgutils.get_or_insert_function(
            builder.module, signature, f"llvm.masked.load.{_suffix(vector)}"
        )
        return builder.call(call, [pointer, align, args[3], ir.Constant(vector, None)])

    return kind(array, types.int64, types.int64, mask), build


@intrinsic
def store(typing_context, array, row, column, mask, value):
    """Write lanes to ``array[row, column:]`` where the mask is on."""

    def build(context, builder, signature, args):
        pointer, align = _address(context, builder, array, args[0], [args[1], args[2]])
        signature = ir.FunctionType(
            ir.VoidType(), [args[4].type, pointer.type, align.type, args[3].type]
        )
        call = cgutils.get_or_insert_function(
            builder.module, signature, f"llvm.masked.store.{_suffix(args[4].type)}"
        )
        builder.call(call, [args[4], pointer, align, args[3]])
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64, mask, value), build


@intrinsic
def keep_known(typing_context, known, row, column, value):
    """Return ``value`` where the booleans ``known[row, column:]`` are true, zero elsewhere."""

    def build(context, builder, signature, args):
        pointer, align = _address(context, builder, known, args[0], [args[1], args[2]])
        vector = ir.VectorType(ir.IntType(8), value.width)
        flags = builder.load(builder.bitcast(pointer, vector.as_pointer()), align=align.constant)
        chosen = builder.icmp_unsigned("!=", flags, ir.Constant(vector, None))
        return builder.select(chosen, args[3], ir.Constant(args[3].type, None))

    return value(known, types.int64, types.int64, value), build


@intrinsic
def add_scaled(typing_context, total, scale, value):
    """Return ``total + scale * value`` with a scalar ``scale``."""

    def build(context, builder, signature, args):
        spread = _splat(builder, args[1], total.width)
        return builder.fadd(
            args[0], builder.fmul(spread, args[2], flags=["contract"]), flags=["contract"]
        )

    return total(total, total.dtype, value), build


@intrinsic
def add_product(typing_context, total, left, right):
    """Return ``total + left * right`` lane by lane."""

    def build(context, builder, signature, args):
        return builder.fadd(
            args[0], builder.fmul(args[1], args[2], flags=["contract"]), flags=["contract"]
        )

    return total(total, left, right), build


@intrinsic
def scale(typing_context, factor, value):
    """Return ``factor * value`` with a scalar ``factor``."""

    def build(context, builder, signature, args):
        return builder.fmul(_splat(builder, args[0], value.width), args[1])

    return value(value.dtype, value), build


@intrinsic
def multiply(typing_context, left, right):
    """Return ``left * right`` lane by lane."""
    return left(left, right), lambda context, builder, signature, args: builder.fmul(*args)


@intrinsic
def add(typing_context, left, right):
    """Return ``left + right`` lane by lane."""
    return left(left, right), lambda context, builder, signature, args: builder.fadd(*args)


@intrinsic
def larger(typing_context, left, right):
    """Return the larger of ``left`` and ``right`` lane by lane."""

    def build(context, builder, signature, args):
        return builder.select(builder.fcmp_ordered(">", *args), *args)

    return left(left, right), build


@intrinsic
def absolute(typing_context, value):
    """Return absolute values in double precision."""
    kind = Lanes(types.float64, value.width)

    def build(context, builder, signature, args):
        vector = args[0].type
        name = f"llvm.fabs.{_suffix(vector).removesuffix('.p0')}"
        call = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector]), name
        )
        sizes = builder.call(call, args)
        return sizes if vector == _vector(kind) else builder.fpext(sizes, _vector(kind))

    return kind(value), build


@intrinsic
def widen(typing_context, value):
    """Return the same numbers in double precision."""
    kind = Lanes(types.float64, value.width)

    def build(context, builder, signature, args):
        return args[0] if value == kind else builder.fpext(args[0], _vector(kind))

    return kind(value), build


@intrinsic
def prefetch(typing_context, array, row, column, mask):
    """Bring ``array[row, column:]`` into cache; a row out of range does no harm."""

    def build(context, builder, signature, args):
        pointer, _ = _address(context, builder, array, args[0], [args[1], args[2]])
        # One type for arrays of either precision, as a kernel may read both.
        word, byte = ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        for step in range(0, mask.width, 64 * 8 // array.dtype.bitwidth):
            near = builder.bitcast(builder.gep(pointer, [ir.Constant(ir.IntType(64), step)]), byte)
            builder.call(
                call, [near, ir.Constant(word, 0), ir.Constant(word, 3), ir.Constant(word, 1)]
            )
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64, mask), build


@intrinsic
def sum_lanes(typing_context, value):
    """Return the sum of all lanes, added pairwise."""

    def build(context, builder, signature, args):
        vector = args[0].type
        kind = ir.FunctionType(vector.element, [vector.element, vector])
        name = f"llvm.vector.reduce.fadd.{_suffix(vector).removesuffix('.p0')}"
        call = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(
            call, [ir.Constant(vector.element, -0.0), args[0]], fastmath=["reassoc"]
        )

    return value.dtype(value), build
