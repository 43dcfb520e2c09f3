"""The pipeline in one process: sample, fit every repetition, merge."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock

from scoup.coupled import CoupledData
from scoup.fit import fit_part, fit_repetition
from scoup.machine import kernel_limit, serial_blas, share_out
from scoup.merge import merge
from scoup.records import Array, Clock, Fit, Merged, Sample
from scoup.sample import draw
from scoup.specs import Count, PlanSpec, check


@dataclass(frozen=True, eq=False)
class PipelineResult:
    """The samples, their fits and the merged model, with the seconds of each stage."""

    samples: list[Sample]
    fits: list[Fit]
    merged: Merged
    seconds: dict[str, float]


def run(
    data: CoupledData,
    plan: PlanSpec,
    seed: int,
    *,
    workers: int = 1,
    density: Sequence[Array] | None = None,
    on_fit: Callable[[Fit], None] = lambda fit: None,
) -> PipelineResult:
    """Sample ``data``, fit each repetition, and merge.

    ``data`` is factorized as it is: the caller applies the plan's ``values`` and ``weights`` with
    :func:`scoup.values.view`. ``workers`` repetitions are fitted at a time, each on one thread, or
    on more if there are fewer repetitions than workers; this changes no byte of the result.
    ``density`` are the densities of the data if they are known; ``on_fit`` is called with each fit
    that is done, one at a time.

    >>> import numpy as np
    >>> data = CoupledData(np.random.default_rng(0).standard_normal((8, 9, 7)))
    >>> result = run(data, PlanSpec(rank=2, repetitions=3), seed=0)
    >>> len(result.samples), len(result.fits), list(result.seconds)
    (3, 3, ['sample', 'fit', 'merge'])
    """
    clock, workers = Clock(), check("workers", workers, Count)
    with clock("sample"):
        samples = draw(data, plan, seed, density)

        # One pass over a tensor on disk extracts all samples; from memory each is taken in turn.
        on_disk = data.blocks[0].is_streamed
        parts = data.select_all([sample.indices for sample in samples]) if on_disk else []

    telling = Lock()

    def fit_sample(sample: Sample) -> Fit:
        if on_disk:
            fit = fit_part(parts[sample.repetition], sample.repetition, plan, seed, workers)
        else:
            fit = fit_repetition(data, sample, plan, seed, workers)
        with telling:
            on_fit(fit)
        return fit

    with clock("fit"), serial_blas(), kernel_limit(workers):
        fits = share_out(fit_sample, samples)
    parts.clear()
    with clock("merge"):
        merged = merge(fits, samples, data, plan)
    return PipelineResult(samples, fits, merged, clock.seconds)
