"""Limits of the machine, and how close the kernels come to them: a roofline in numbers."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.ours import Run, facebook, gathered
from scoup import kernels
from scoup.kernels import rows
from scoup.kernels.fibres import read_only
from scoup.machine import run_chunks, serial_blas
from scoup.normal import solve_normal
from scoup.terms import grams_of


def stream(size: int = 1 << 26) -> Run:
    """Read two arrays of half a gigabyte each, once: the memory bandwidth of a pass."""
    left, right = np.ones(size), np.ones(size)
    return _timed(lambda: kernels.inner(left, right), moved=2 * left.nbytes, flops=2 * size)


def gemm(size: int = 3000) -> Run:
    """Multiply two square matrices: the arithmetic peak that BLAS reaches."""
    square = np.ones((size, size))
    return _timed(lambda: square @ square, moved=3 * square.nbytes, flops=2 * size**3)


def shared_products(workers: int, pieces: int = 8, times: int = 200, size: int = 200) -> Run:
    """Share small matrix products out over threads: nothing but arithmetic in each core's cache."""
    square = np.ones((size, size))

    def multiply(_: int) -> None:
        product = np.empty_like(square)
        for _ in range(times):
            np.matmul(square, square, out=product)

    def work() -> None:
        with serial_blas(), ThreadPoolExecutor(workers) as pool:
            list(pool.map(multiply, range(pieces)))

    return _timed(work, moved=0.0, flops=2.0 * size**3 * times * pieces)


def gather(rank: int, count: int = 2_000_000) -> Run:
    """Add up random rows of a factor of Facebook's length: the cost of gathering alone."""
    factor = read_only(data.start(data.FACEBOOK[:1], rank)[0])
    chunks = 64
    index = data.generator(0, "gather").integers(0, len(factor), count).astype(np.int32)
    cuts = np.linspace(0, count, chunks + 1).astype(np.int32)
    cells = tuple(
        read_only(a) for a in (cuts, np.empty((0, 0), np.int32), cuts, index, np.ones(count))
    )
    out = np.empty((chunks, rank))
    kernel = rows.matrix_rows(rows.width_for(rank))

    def work() -> None:
        run_chunks(chunks, lambda a, b: kernel(a, b, cells, (factor,), factor, out))

    return _timed(work, moved=count * factor[0].nbytes, flops=2 * count * rank)


def dense_pass(which: str, rank: int = 5) -> Run:
    """Make one pass over the dense tensor: densities, contraction, or the product for a factor."""
    tensor, _ = data.load_brainq()
    pre, n, post = tensor.shape
    factor, outer = data.start((n,), rank)[0], np.ones((pre, post, rank))
    work: dict[str, Callable[[], Any]] = {
        "densities": lambda: kernels.densities(tensor),
        "contract": lambda: kernels.contract(tensor, factor),
        "spread": lambda: kernels.spread(tensor, outer),
    }
    flops = tensor.size * (2 if which == "densities" else 2 * rank)
    return _timed(
        work[which],
        moved=tensor.nbytes + (0 if which == "densities" else factor.nbytes),
        flops=flops,
    )


def long_gram() -> Run:
    """Compute the Gram matrix of the long mode; a symmetric product is half the work."""
    tensor, _ = data.load_brainq()
    width = tensor.shape[0] * tensor.shape[2]

    def work() -> None:
        with serial_blas():  # its chunks run on several threads already
            kernels.long_gram(tensor)

    return _timed(work, moved=tensor.nbytes, flops=tensor.size * (width + 1))


def sparse_product(which: str, rank: int) -> Run:
    """Compute the MTTKRP of one mode of the tensor, or the product with the matrix."""
    coupled = facebook()
    block = coupled.blocks[1 if which == "matrix" else 0].values
    fibres = kernels.arrange(block.coords, block.values, block.shape)  # type: ignore[union-attr]
    mode = 0 if which == "matrix" else int(which)
    factors = data.start(fibres.shape, rank)
    moved = gathered(fibres, [mode], rank) if which != "matrix" else fibres.values.size * rank * 8
    indices = fibres.values.size * (4 + 8)
    written = fibres.shape[mode] * rank * 8
    flops = 2 * moved // 8
    return _timed(
        lambda: kernels.mttkrp(fibres, factors, mode), moved=moved + indices + written, flops=flops
    )


def small_solve(rank: int) -> Run:
    """Solve an F x F system for the rows of a long factor."""
    right = data.start(data.FACEBOOK[:1], rank)[0]
    gram = grams_of([right])[0]

    def work() -> None:
        with serial_blas():
            solve_normal(gram, right)

    return _timed(work, moved=2 * right.nbytes, flops=2 * right.size * rank)


def _timed(work: Callable[[], Any], moved: float, flops: float) -> Run:
    def run() -> dict[str, float]:
        start = time.perf_counter()
        work()
        return {
            "seconds": time.perf_counter() - start,
            "moved_bytes": float(moved),
            "flops": float(flops),
        }

    return run
