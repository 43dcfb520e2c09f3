"""What sample, fit and merge make of small data, as the workflow would hand it to an experiment."""

from scoup.coupled import Dataset
from scoup.experiments._records import Inputs, Model
from scoup.fit import fit_repetition
from scoup.holdout import hold_out
from scoup.merge import merge
from scoup.sample import draw
from scoup.specs import FitSpec, MergeSpec, PlanSpec, SampleSpec
from scoup.values import view


def model(data, plan, spec, seed=0, variant="whole", fraction=0.0):
    """Return the model of a plan, given as a PlanSpec or its settings, as the corridor makes it."""
    spec = spec if isinstance(spec, PlanSpec) else PlanSpec(**spec)
    data = data.data if isinstance(data, Dataset) else data
    hidden = {}
    if fraction:
        cells = hold_out(data, fraction, seed)
        data, hidden = cells.data, {"coords": cells.coords, "truth": cells.truth}
    data = view(data, spec.values, spec.weights)
    samples = draw(data, spec.part(SampleSpec), seed)
    fits = [fit_repetition(data, sample, spec.part(FitSpec), seed) for sample in samples]
    return Model(
        plan, variant, spec, samples, fits, merge(fits, samples, data, spec.part(MergeSpec)),
        fraction, seconds=0.5 * len(fits), sweeps=sum(fit.report.iterations for fit in fits),
        **hidden,
    )  # fmt: skip


def inputs(data, *models, **others):
    """Return what an experiment is given: a data set (or bare data) and its models."""
    return Inputs(data if isinstance(data, Dataset) else Dataset(data), models, **others)
