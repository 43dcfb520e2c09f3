"""The two estimators: ``CMTF`` fits all of the data; ``SCOUP`` samples, fits and merges."""

import warnings
from dataclasses import dataclass
from typing import Any, Self

from pydantic import StrictBool
from tqdm.auto import tqdm

from scoup import pipeline
from scoup.coupled import CoupledData
from scoup.errors import ScoupWarning
from scoup.fit import fit
from scoup.metrics import zero_cost
from scoup.model import Model, as_data
from scoup.records import Factors, FitReport, MergeReport
from scoup.seeds import choose_seed
from scoup.solvers import ignore
from scoup.specs import Count, FitSpec, PlanSpec, check

# Two starts end apart if what they explain of the data differs by more than this.
APART_SHARE = 0.001


@dataclass(frozen=True, eq=False)
class ScoupReport:
    """The report of a :class:`SCOUP` fit: sample sizes, the fits, and the merge."""

    sample_sizes: tuple[tuple[int, ...], ...]
    fits: tuple[FitReport, ...]
    merge: MergeReport
    seconds: dict[str, float]

    @property
    def cost(self) -> float:
        """The objective of the merged model on all of the data."""
        return self.merge.cost

    @property
    def block_fits(self) -> dict[str, float]:
        """``1 - error / norm`` of each block."""
        return self.merge.block_fits


class CMTF(Model):
    """Coupled matrix-tensor factorization of all of the data.

    - ``rank``: number of components F.
    - ``solver``: ``als`` (the lemma), ``reference`` (Algorithm 1 as printed, dense and slow),
      ``cd`` (element-wise coordinate descent) or ``opt`` (all at once, L-BFGS).
    - ``init``: ``parafac`` (of the tensor alone), ``tucker`` (the same in the leading directions of
      each mode, faster for large dense data), ``random``, or :class:`Factors` to start from.
    - ``max_iter``, ``tol``: stop after so many sweeps, or when the cost changes by less than
      ``tol`` of itself.
    - ``starts``: number of starts, of which the best is returned; a warning suggests more when
      the best two end apart.
    - ``compress``: ``"auto"`` compresses a long dense mode when that pays; True, False.
    - ``constraints``: ``"nonnegative"`` for all factors, or by factor: ``{0: "nonnegative",
      "matrix0": "nonnegative"}`` for the first mode and the columns of the matrix on it.
    - ``seed``: an integer, or None for another one at every fit. ``seed_`` is the one that was
      used: the same seed gives the same bytes.
    - ``random_state``: scikit-learn's name for it, an integer or a Generator, which draws a seed at
      every fit; None leaves it to ``seed``. Setting both is refused.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> A, B, C, D = (rng.standard_normal((n, 2)) for n in (6, 7, 8, 5))
    >>> X, Y = np.einsum("if,jf,kf->ijk", A, B, C), A @ D.T
    >>> model = CMTF(rank=2).fit(X, Y)
    >>> {name: round(fit, 6) for name, fit in model.report_.block_fits.items()}
    {'tensor': 1.0, 'matrix0': 1.0}

    New rows of the matrix predict the corresponding slices of the tensor:

    >>> new = rng.standard_normal((1, 2))
    >>> slices = model.predict(new @ D.T)
    >>> slices.shape, np.allclose(slices, np.einsum("if,jf,kf->ijk", new, B, C))
    ((1, 7, 8), True)
    """

    def __init__(
        self, rank: int = 2, *, solver: str = "als", init: Any = "parafac", max_iter: int = 200,
        tol: float = 1e-7, starts: int = 1, compress: Any = "auto", constraints: Any = None,
        seed: int | None = 0, random_state: Any = None, progress: bool = False,
    ) -> None:  # fmt: skip
        self.rank = rank
        self.solver = solver
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.starts = starts
        self.compress = compress
        self.constraints = constraints
        self.seed = seed
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model; sets ``factors_``, ``report_``, ``labels_``, ``seed_`` and ``n_iter_``.

        ``X`` is a tensor (an array, a SparseTensor, shards on disk) and ``y`` what is coupled to
        it: the matrix on mode 0, or ``{mode: matrix or list of matrices}``. Masks, weights and
        labels are those of ``X`` as :class:`CoupledData`, or :class:`Cells`.
        """
        data, seed = as_data(X, y), choose_seed(self.seed, self.random_state)
        start = self.init if isinstance(self.init, Factors) else None
        init: Any = "random" if start is not None else self.init
        spec = FitSpec(
            rank=self.rank, solver=self.solver, init=init, max_iter=self.max_iter, tol=self.tol,
            starts=self.starts, compress=self.compress, constraints=self.constraints,
        )  # fmt: skip
        steps, shown = spec.max_iter * spec.starts, check("progress", self.progress, StrictBool)
        with tqdm(total=steps, disable=not shown, desc=f"CMTF {spec.solver}") as bar:

            def step(cost: float) -> None:
                bar.set_postfix_str(f"cost {cost:.6g}", refresh=False)
                bar.update()

            # A fit of milliseconds has no time to tell nobody of each sweep.
            result = fit(data, spec, seed, start, step if shown else ignore)
        self.factors_, self.report_ = result.factors, result.report
        self.labels_, self.seed_, self.n_iter_ = data.labels, seed, result.report.iterations
        _suggest_starts(result.report, data)
        return self


class SCOUP(Model):
    """Sample with a bias to dense parts of the data, fit each sample, merge by common indices.

    - ``sampling``: factor s >= 1 for all modes or one per mode; n = ceil(I / s) indices are
      sampled.
    - ``side_sampling``: the same for the columns of matrices, ``{mode: s}``; by default as the
      mode.
    - ``cells``: raise the factors above 1 until a sample holds at most so many cells of the tensor.
    - ``repetitions``, ``shared``: number of samples r, and the fraction p of indices common to all.
    - ``merge``: ``joint`` (one permutation for all factors), ``paper`` (Algorithm 3 as printed) or
      ``authors`` (by the first factor, as in the authors' program).
    - ``finish``: ``none`` (sparse factors), ``refit`` (sweeps over covered rows), ``complete`` (a
      full sweep) or ``prune`` (complete, then drop small entries while the cost rises by at most
      ``rise`` of itself).
    - ``constraints``: as in :class:`CMTF`; the merged model satisfies them, too.
    - ``jobs``: repetitions fitted at the same time, with threads inside the fits if there are
      fewer; the result does not depend on it.
    - ``solver``, ``init``, ``max_iter``, ``tol``, ``seed``, ``random_state``: as :class:`CMTF`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> A, B, C, D = (rng.standard_normal((n, 2)) for n in (20, 30, 8, 10))
    >>> X, Y = np.einsum("if,jf,kf->ijk", A, B, C), A @ D.T
    >>> model = SCOUP(rank=2, sampling=(2, 2, 1), finish="complete").fit(X, Y)
    >>> round(model.report_.block_fits["tensor"], 6)
    1.0
    """

    def __init__(
        self, rank: int = 2, *, sampling: Any = 2, side_sampling: Any = None,
        cells: int | None = None, repetitions: int = 4, shared: float = 0.35,
        merge: str = "joint", finish: str = "none", rise: float = 0.01,
        solver: str = "als", init: str = "parafac", max_iter: int = 200, tol: float = 1e-7,
        constraints: Any = None, seed: int | None = 0, random_state: Any = None, jobs: int = 1,
        progress: bool = False,
    ) -> None:  # fmt: skip
        self.rank = rank
        self.sampling = sampling
        self.side_sampling = side_sampling
        self.cells = cells
        self.repetitions = repetitions
        self.shared = shared
        self.merge = merge
        self.finish = finish
        self.rise = rise
        self.solver = solver
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.constraints = constraints
        self.seed = seed
        self.random_state = random_state
        self.jobs = jobs
        self.progress = progress

    def fit(self, X: Any, y: Any = None) -> Self:
        """Sample, fit and merge; ``X`` and ``y`` as in :meth:`CMTF.fit`.

        Sets ``factors_``, ``report_``, ``samples_``, ``fits_``, ``labels_``, ``seed_`` and
        ``n_iter_``, the sweeps of the longest fit.
        """
        data, seed = as_data(X, y), choose_seed(self.seed, self.random_state)
        settings = self.get_params()
        for name in ("seed", "random_state", "jobs", "progress"):
            del settings[name]
        plan = PlanSpec(**settings)
        jobs = check("jobs", self.jobs, Count)
        shown = check("progress", self.progress, StrictBool)
        with tqdm(total=plan.repetitions, disable=not shown, desc="SCOUP repetitions") as bar:
            result = pipeline.run(data, plan, seed, workers=jobs, on_fit=lambda fit: bar.update())
        merge_seconds = result.merged.report.seconds.items()
        self.labels_, self.seed_ = data.labels, seed
        self.n_iter_ = max(fit.report.iterations for fit in result.fits)
        self.samples_, self.fits_ = result.samples, result.fits
        self.factors_ = result.merged.factors
        self.report_ = ScoupReport(
            sample_sizes=tuple(sample.sizes for sample in result.samples),
            fits=tuple(fit.report for fit in result.fits),
            merge=result.merged.report,
            seconds={**result.seconds, **{f"merge.{phase}": s for phase, s in merge_seconds}},
        )
        return self


def _suggest_starts(report: FitReport, data: CoupledData) -> None:
    """Warn if no second start ended near the best one: another may end still lower."""
    if len(report.starts) < 2:
        return
    zero = zero_cost(data) or 1.0
    best, second = (1 - cost / zero for cost in sorted(report.starts)[:2])
    if best - second > APART_SHARE:
        warnings.warn(
            f"of {len(report.starts)} starts the best explains {best:.1%} of the data and the next "
            f"{second:.1%}; try more, such as starts={5 * len(report.starts)}",
            ScoupWarning,
            stacklevel=3,
        )
