"""The pseudoinverse of ALS alone: of the stacked matrix, and by the lemma.

With P = [A (.) B; M], where (.) is the Khatri-Rao product,

    pinv(P) = pinv(A'A * B'B + M'M) P'

so that only an F x F matrix is inverted.
"""

import time
from collections.abc import Callable

import numpy as np

from scoup.evidence import Context, Measure, Metric
from scoup.experiments.speedup import Spec
from scoup.factors import khatri_rao
from scoup.machine import serial_blas
from scoup.records import Array
from scoup.seeds import generator

PINV_SPEEDUP = Measure(
    "pinv_speedup", "ratio", "higher", 0.0, None, "time of the stacked pseudoinverse over another"
)
BY_LEMMA, AGAIN = "lemma", "stacked again"
B_ROWS = 10  # A and M have as many rows as the setting says
MIN_TIMED_ROWS = 20_000  # fewer are inverted several times per timing: a clock has its limits


def stacked(A: Array, B: Array, M: Array) -> Array:
    """Return P = [A (.) B; M], (I * J + K, F).

    >>> stacked(np.ones((2, 3)), np.ones((4, 3)), np.ones((5, 3))).shape
    (13, 3)
    """
    return np.vstack([khatri_rao([A, B]), M])


def pinv_by_lemma(A: Array, B: Array, M: Array, P: Array) -> Array:
    """Return the pseudoinverse of ``P = stacked(A, B, M)`` by the lemma.

    >>> A, B, M = (np.random.default_rng(0).standard_normal((n, 2)) for n in (4, 3, 5))
    >>> P = stacked(A, B, M)
    >>> np.allclose(pinv_by_lemma(A, B, M, P), np.linalg.pinv(P))
    True
    """
    gram: Array = np.linalg.pinv((A.T @ A) * (B.T @ B) + M.T @ M)
    return gram @ P.T


def measure_pinv(spec: Spec, context: Context) -> list[Metric]:
    """Return, for each round, what the lemma gains, and what a second timing gains: nothing."""
    metrics = []
    with serial_blas():
        for number in range(spec.rounds):
            for rank in spec.pinv_ranks:
                for rows in spec.pinv_rows:
                    at = {"components": rank, "rows": rows, "round": number}
                    for contender, ratio in _ratios(rank, rows, context.seed).items():
                        metrics.append(
                            context.metric(PINV_SPEEDUP, ratio, contender=contender, **at)
                        )
    return metrics


def _ratios(rank: int, rows: int, seed: int) -> dict[str, float]:
    rng = generator(seed, "speedup", "pinv", rank, rows)
    A, B, M = (rng.standard_normal((size, rank)) for size in (rows, B_ROWS, rows))
    P = stacked(A, B, M)
    calls = max(1, MIN_TIMED_ROWS // rows)
    np.linalg.pinv(P)  # the first call touches fresh memory
    first = _seconds(lambda: np.linalg.pinv(P), calls)
    lemma = _seconds(lambda: pinv_by_lemma(A, B, M, P), calls)
    again = _seconds(lambda: np.linalg.pinv(P), calls)
    return {BY_LEMMA: first / lemma, AGAIN: first / again}


def _seconds(invert: Callable[[], Array], calls: int) -> float:
    started = time.perf_counter()
    for _ in range(calls):
        invert()
    return time.perf_counter() - started
