"""The two estimators: ``CMTF`` fits all of the data; ``SCOUP`` samples, fits and merges."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from tqdm.auto import tqdm

from scoup import pipeline, project
from scoup.cells import Cells
from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.factors import matrix_of
from scoup.fit import fit
from scoup.metrics import block_fits
from scoup.records import Array, Factors, FitReport, MergeReport
from scoup.seeds import check_seed
from scoup.specs import Count, FitSpec, PlanSpec, check


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


class _Estimator:
    """What both estimators share: parameters by name, projection and prediction."""

    factors_: Factors

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name (scikit-learn passes ``deep``)."""
        del deep
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name and return the estimator."""
        for name, value in params.items():
            if name not in self._names():
                raise ScoupError.expected(
                    "parameter", "one of " + ", ".join(self._names()), repr(name)
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        params = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({params})"

    def transform(
        self, rows: Any, mode: int = 0, *, block: str = "matrix", position: int = 0,
        ridge: float = 0.0, rule: str = "least_squares",
    ) -> Array:  # fmt: skip
        """Project new rows of one block onto the latent space of ``mode``: (n, F).

        ``block`` is ``"matrix"`` (rows of the matrix on ``mode``, the ``position``-th if there are
        several) or ``"tensor"`` (slices along ``mode``). NaN means missing. See
        :func:`scoup.project.project`.
        """
        dictionary = self._dictionary(mode, block, position)
        return project.project(dictionary, rows, ridge, rule)

    def predict(
        self, rows: Any, mode: int = 0, *, at: Mapping[int, int] | None = None,
        block: str = "matrix", ridge: float = 0.0, rule: str = "least_squares",
    ) -> Array:  # fmt: skip
        """Predict the other block: tensor slices from matrix rows, or matrix rows from slices.

        ``at`` fixes indices of other tensor modes: with questions on mode 0 and subjects on mode 2,
        ``predict(q, at={2: 3})`` is the brain image of subject 3, ``B diag(weights * c_3) a``.
        """
        latent = self.transform(rows, mode, block=block, ridge=ridge, rule=rule)
        if block == "tensor":
            return latent @ self._dictionary(mode, "matrix", 0).T
        return project.expand(self.factors_, latent, mode, at)

    def _dictionary(self, mode: int, block: str, position: int) -> Array:
        return project.dictionary(self._fitted(), mode, block, position)

    def _fitted(self) -> Factors:
        if not hasattr(self, "factors_"):
            raise ScoupError(f"{type(self).__name__} is not fitted yet; call fit(data) first.")
        return self.factors_

    def score(self, data: CoupledData | Cells, y: Any = None) -> float:
        """Return the share of the tensor's observed squares that the model explains.

        1 is perfect, 0 no better than a model of zeros. Matrices do not count: on cells hidden from
        ``fit`` this scores the prediction alone.
        """
        del y
        return block_fits(check_data(data), self._fitted())["tensor"]

    def __sklearn_tags__(self) -> Any:  # scikit-learn alone calls this
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(allow_nan=True),
        )

    def reconstruct_matrix(self, mode: int = 0, position: int = 0) -> Array:
        """Return the model of a matrix, ``modes[mode] @ side.T``."""
        return matrix_of(self._fitted(), mode, position)


class CMTF(_Estimator):
    """Coupled matrix-tensor factorization of all of the data.

    - ``rank``: number of components F.
    - ``solver``: ``als`` (the lemma), ``reference`` (Algorithm 1 as printed, dense and slow),
      ``cd`` (element-wise coordinate descent) or ``opt`` (all at once, L-BFGS).
    - ``init``: ``parafac`` (of the tensor alone), ``random``, or :class:`Factors` to start from.
    - ``max_iter``, ``tol``: stop after so many sweeps, or when the cost changes by less than
      ``tol`` of itself.
    - ``starts``: number of starts, of which the best is returned.
    - ``compress``: ``"auto"`` compresses a long dense mode when that pays; True, False.
    - ``constraints``: ``"nonnegative"`` for all factors, or by factor: ``{0: "nonnegative",
      "matrix0": "nonnegative"}`` for the first mode and the columns of the matrix on it.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> A, B, C, D = (rng.standard_normal((n, 2)) for n in (6, 7, 8, 5))
    >>> data = CoupledData(np.einsum("if,jf,kf->ijk", A, B, C), {0: A @ D.T})
    >>> model = CMTF(rank=2).fit(data)
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
        seed: int = 0, progress: bool = False,
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
        self.progress = progress

    def fit(self, data: CoupledData | Cells, y: Any = None) -> Self:
        """Fit the model; sets ``factors_`` and ``report_``. ``y`` is ignored."""
        del y
        data = check_data(data)
        start = self.init if isinstance(self.init, Factors) else None
        init: Any = "random" if start is not None else self.init
        spec = FitSpec(
            rank=self.rank, solver=self.solver, init=init, max_iter=self.max_iter, tol=self.tol,
            starts=self.starts, compress=self.compress, constraints=self.constraints,
        )  # fmt: skip
        steps = spec.max_iter * spec.starts
        with tqdm(total=steps, disable=not self.progress, desc=f"CMTF {spec.solver}") as bar:

            def step(cost: float) -> None:
                bar.set_postfix_str(f"cost {cost:.6g}", refresh=False)
                bar.update()

            result = fit(data, spec, check_seed(self.seed), start, step)
        self.factors_, self.report_ = result.factors, result.report
        return self


class SCOUP(_Estimator):
    """Sample with a bias to dense parts of the data, fit each sample, merge by common indices.

    - ``sampling``: factor s >= 1 for all modes or one per mode; n = ceil(I / s) indices are
      sampled.
    - ``side_sampling``: the same for the columns of matrices, ``{mode: s}``; by default as the
      mode.
    - ``repetitions``, ``shared``: number of samples r, and the fraction p of indices common to all.
    - ``merge``: ``joint`` (one permutation for all factors), ``paper`` (Algorithm 3 as printed) or
      ``authors`` (by the first factor, as in the authors' program).
    - ``finish``: ``none`` (sparse factors), ``refit`` (sweeps over covered rows), ``complete`` (a
      full sweep) or ``prune`` (complete, then drop small entries while the cost rises by at most
      ``rise`` of itself).
    - ``constraints``: as in :class:`CMTF`; the merged model satisfies them, too.
    - ``jobs``: repetitions fitted at the same time; the result does not depend on it.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> A, B, C, D = (rng.standard_normal((n, 2)) for n in (20, 30, 8, 10))
    >>> data = CoupledData(np.einsum("if,jf,kf->ijk", A, B, C), {0: A @ D.T})
    >>> model = SCOUP(rank=2, sampling=(2, 2, 1), finish="complete").fit(data)
    >>> round(model.report_.block_fits["tensor"], 6)
    1.0
    """

    def __init__(
        self, rank: int = 2, *, sampling: Any = 2, side_sampling: Any = None, repetitions: int = 4,
        shared: float = 0.35, merge: str = "joint", finish: str = "none", rise: float = 0.01,
        solver: str = "als", init: str = "parafac", max_iter: int = 200, tol: float = 1e-7,
        constraints: Any = None, seed: int = 0, jobs: int = 1, progress: bool = False,
    ) -> None:  # fmt: skip
        self.rank = rank
        self.sampling = sampling
        self.side_sampling = side_sampling
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
        self.jobs = jobs
        self.progress = progress

    def fit(self, data: CoupledData | Cells, y: Any = None) -> Self:
        """Sample, fit and merge; sets ``factors_``, ``report_``, ``samples_`` and ``fits_``.

        ``y`` is ignored.
        """
        del y
        data, seed = check_data(data), check_seed(self.seed)
        names = set(self._names()) - {"seed", "jobs", "progress"}
        plan = PlanSpec(**{name: getattr(self, name) for name in names})
        jobs = check("jobs", self.jobs, Count)
        with tqdm(
            total=plan.repetitions, disable=not self.progress, desc="SCOUP repetitions"
        ) as bar:
            result = pipeline.run(data, plan, seed, workers=jobs, on_fit=lambda fit: bar.update())
        merge_seconds = result.merged.report.seconds.items()
        self.samples_, self.fits_ = result.samples, result.fits
        self.factors_ = result.merged.factors
        self.report_ = ScoupReport(
            sample_sizes=tuple(sample.sizes for sample in result.samples),
            fits=tuple(fit.report for fit in result.fits),
            merge=result.merged.report,
            seconds={**result.seconds, **{f"merge.{phase}": s for phase, s in merge_seconds}},
        )
        return self


def check_data(data: Any) -> CoupledData:
    """Return coupled data, taken out of :class:`Cells` if needed; refuse anything else.

    >>> check_data([1, 2])
    Traceback (most recent call last):
    ...
    scoup.errors.ScoupError: data: expected a CoupledData(tensor, matrices), got list.
    """
    data = data.data if isinstance(data, Cells) else data
    if not isinstance(data, CoupledData):
        raise ScoupError.expected("data", "a CoupledData(tensor, matrices)", type(data).__name__)
    return data
