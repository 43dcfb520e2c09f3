"""Shared: how much of each sample the repetitions have to share."""

from collections.abc import Sequence
from statistics import median

from scoup.evidence import Claim, Context, Measure, Metric, pick
from scoup.experiments._controls import CostScale, costs
from scoup.experiments._records import Inputs, Outcome
from scoup.experiments.shared import Spec

MATCH = Measure(
    "match", "share", "higher", 0.0, 1.0, "median match of a repetition with the reference"
)
SHARE_OF_BEST = Measure(
    "share_of_best", "share", "higher", None, 1.0, "explained share over that of the best fraction"
)
# The range that the paper says works well. It names no number: we ask for this share of the best.
PAPER_RANGE = (0.2, 0.5)
MIN_SHARE_OF_BEST = 0.8


def measure(inputs: Inputs, spec: Spec, context: Context) -> Outcome:
    """Return cost, explained share and match of every plan, by its shared fraction."""
    baseline = inputs.model(spec.baseline).merged.factors
    metrics: list[Metric] = []
    for plan in spec.plans:
        model, here = inputs.model(plan), context.on(plan=plan)
        report, fraction = model.merged.report, model.spec.shared
        scale = CostScale.of(inputs.view(plan), baseline)
        metrics += costs(here, report.cost, scale, shared=fraction)
        scores = [score for n, score in enumerate(report.scores) if n != report.reference]
        metrics.append(here.metric(MATCH, median(scores or [1.0]), shared=fraction))
    explained = pick(metrics, "explained_share")
    best = max(run.value for run in explained)
    for run in explained if best > 0 else []:
        here = context.on(plan=run.plan)
        metrics.append(here.metric(SHARE_OF_BEST, run.value / best, **run.at))
    return Outcome(metrics, notes={"plans": spec.plans})


def claims(metrics: Sequence[Metric]) -> list[Claim]:
    """Judge each fraction of the paper's range; those outside it are the controls."""
    judged, low_and_high = [], PAPER_RANGE
    for dataset in sorted({run.dataset for run in pick(metrics, SHARE_OF_BEST.name)}):
        runs = pick(metrics, SHARE_OF_BEST.name, dataset=dataset)
        fractions = sorted({run.at["shared"] for run in runs})
        within = [p for p in fractions if low_and_high[0] <= p <= low_and_high[1]]
        controls = {
            f"p = {p:g}": pick(runs, SHARE_OF_BEST.name, shared=p)
            for p in fractions
            if p not in within
        }
        for p in within if controls else []:
            chosen = pick(runs, SHARE_OF_BEST.name, shared=p)
            explained = median(
                run.value for run in pick(metrics, "explained_share", dataset=dataset, shared=p)
            )
            judged.append(
                Claim.of(
                    f"explained share over that of the best shared fraction, on {dataset}",
                    chosen,
                    setting=f"p = {p:g}, plan {chosen[0].plan}",
                    paper="p from 0.2 to 0.5 works well",
                    unit=SHARE_OF_BEST.unit,
                    bar=MIN_SHARE_OF_BEST,
                    controls=controls,
                    note=f"explained share {explained:.2g}",
                )
            )
    return judged
