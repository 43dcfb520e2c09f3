"""Metrics as a null would give them: the method gets what its controls get, whatever that is.

One function per experiment: ``value`` is what everybody reaches.
"""

from scoup.experiments._controls import EXPLAINED, RELATIVE_COST
from scoup.experiments.clusters import measure as clusters
from scoup.experiments.coupling import measure as coupling
from scoup.experiments.missing import measure as missing
from scoup.experiments.scale import measure as scale
from scoup.experiments.speedup import measure as speedup
from scoup.experiments.speedup import pinv
from scoup.records import Context


def context(name):
    return Context(name, "null", "whole", "plan", 0, "simulated")


def of_speedup(value):
    """Everybody is as fast, reaches the same cost, and gains nothing by workers or the lemma."""
    here, metrics = context("speedup"), []
    for name in ("als", "compressed als", "reference", "SCOUP", "SCOUP again"):
        at = {"contender": name, "workers": 2, "sampling": "2", "finish": "none", "round": 0}
        metrics += [
            here.metric(speedup.SECONDS, 1, **at),
            here.metric(speedup.SPEEDUP, value, **at),
            here.metric(speedup.WORKER_GAIN, value, **at),
            here.metric(RELATIVE_COST, 1, **at),
            here.metric(EXPLAINED, 1, **at),
        ]
    for name in (pinv.BY_LEMMA, pinv.AGAIN):
        metrics.append(
            here.metric(pinv.PINV_SPEEDUP, value, contender=name, components=1, rows=10, round=0)
        )
    return metrics


def of_missing(value):
    """One component is as near to the whole, and any amount of missing cells takes as long."""
    here = context("missing")
    return [
        here.metric(missing.SNR, value, fraction=0.5),
        here.metric(missing.SINGLE_SNR, value, fraction=0.5),
        here.metric(missing.STARTS_SNR, value),
        here.metric(missing.SLOWDOWN, value, fraction=0.1),
        here.metric(missing.SLOWDOWN, value, fraction=0.9),
    ]


def of_clusters(value):
    """Groups are as pure as those of one block alone."""
    here, share = context("clusters"), min(value, 1.0)
    return [
        here.metric(clusters.MEAN_PURITY, share),
        here.metric(clusters.NULL_PURITY, 0.3),
        here.metric(clusters.NULL_LIMIT, 0.4),
        *(here.metric(clusters.ALONE_PURITY, share, model=n) for n in clusters.ALONE_MODELS),
    ]


def of_coupling(value):
    """The tensor alone is recovered as well."""
    here, names = context("coupling"), (coupling.COUPLED, coupling.ALONE, coupling.UNRELATED)
    return [
        here.metric(coupling.RECOVERED, min(value, 1.0), noise=4.0, contender=name)
        for name in names
    ]


def of_scale(value):
    """ALS explains as much after as many passes, and any users look like a group."""
    here, share = context("scale"), min(value, 1.0)
    return [
        here.metric(scale.CELLS, 1e6),
        here.metric(scale.PASSES, 13, contender=scale.SAMPLED),
        *(
            here.metric(EXPLAINED, value, contender=name, passes=13)
            for name in (scale.SAMPLED, scale.EARLY)
        ),
        *(
            here.metric(scale.FOUND, share, contender=name, group=0, members=20)
            for name in (scale.SAMPLED, scale.HEAVIEST, scale.ANYBODY)
        ),
    ]


NULLS = {
    "clusters": of_clusters,
    "coupling": of_coupling,
    "missing": of_missing,
    "scale": of_scale,
    "speedup": of_speedup,
}
