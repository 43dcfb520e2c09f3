"""A results folder as large as that of the whole configuration, with made-up numbers.

Names, coordinates and counts are those of the experiments; it is for tests of tracking alone.
"""

from dataclasses import asdict
from itertools import product
from pathlib import Path
from zlib import crc32

import numpy as np

from scoup import results, scorecard, store
from scoup.coupled import CoupledData, Dataset
from scoup.evidence import Claim, Context, Measure
from scoup.evidence.files import write_claims, write_metrics
from scoup.records import Factors, Fit, FitReport, Merged, MergeReport, Provenance
from scoup.track import Sources

SUBJECTS = [f"P{number}" for number in range(1, 10)]
FINISHES, MERGES = ("none", "refit", "complete"), ("joint", "paper")
SHARE, COST = ("share", "higher"), ("ratio", "lower")
FACTORS = Factors(np.ones(2), (np.eye(4, 2), np.eye(3, 2), np.eye(2, 2)))


def grid(**axes):
    """Return every combination of the values of axes, as coordinates."""
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


SAMPLED = grid(
    contender=["SCOUP"], sampling=["2x20x1", "3x86x1", "4x200x1", "6x500x1"], finish=FINISHES,
    workers=[1, 2, 4],
)  # fmt: skip
FULL = grid(contender=["reference", "als", "compressed als"], workers=[2])
ROUNDS = range(3)
TIMED = [{**at, "round": number} for number in ROUNDS for at in (*FULL, *SAMPLED)]
DECIDED = grid(
    contender=["chosen", "chosen alone", "averaged", "as printed", "ridge"],
    decision=["distance", "cosine"], subject=[*SUBJECTS, "all"],
)  # fmt: skip
CANDIDATES = grid(
    contender=["grid"], decision=["distance", "cosine"], subject=SUBJECTS,
    weight=[1.0, 10.0, 100.0],
    rule=["least_squares", "paper"], ridge=[0.1, 1.0], rank=[2, 3, 5, 10],
)  # fmt: skip
PAIRS = grid(
    pair=["closet/watch", "knife/beetle"], weight=["paper", 100], rule=["least_squares", "paper"],
    decision=["distance", "cosine"], subject=SUBJECTS,
)  # fmt: skip
RANKS = list(range(1, 9))
# Per experiment: data sets, seeds, plans and variants, then coordinates by metric.
LAYOUT = {
    "accuracy": (["brainq"], 20, ["scoup"], ["whole"], {
        ("relative_cost", *COST): grid(merge=MERGES, finish=FINISHES, repetitions=range(1, 9)),
        ("explained_share", *SHARE): grid(merge=MERGES, finish=FINISHES, repetitions=range(1, 9)),
        ("rejected", "repetitions", "none"): grid(
            merge=MERGES, finish=FINISHES, repetitions=range(1, 9)
        ),
        ("monotone", *SHARE): grid(merge=MERGES, finish=FINISHES),
        ("control_cost", *COST): grid(control=["random"]),
    }),
    "anomaly": (["facebook"], 1, [f"walls{number}" for number in range(5)], ["whole"], {
        ("components", "components", "none"): [{}],
        ("kind_count", "components", "none"): grid(kind=["star-in", "star-out", "flood"]),
        ("largest_found", *SHARE): grid(kind=["star-in", "star-out"], stars=[5]),
        ("precision_at", *SHARE): grid(kind=["star-in", "star-out"], k=[1, 3, 6, 10]),
    }),
    "clusters": (["brainq"], 3, ["groups"], ["whole"], {
        ("purity", *SHARE): grid(component=range(1, 6), end=["+", "-"]),
        ("category_share", *SHARE): grid(component=range(1, 6)),
        ("mean_purity", *SHARE): [{}],
        ("null_purity", *SHARE): [{}],
        ("p_value", "probability", "lower"): [{}],
    }),
    "leave_two_out": (["brainq"], 1, ["pairs"], ["whole"], {
        ("accuracy", *SHARE): [*DECIDED, *CANDIDATES],
        ("accuracy_low", *SHARE): DECIDED,
        ("accuracy_high", *SHARE): DECIDED,
        ("chance_low", *SHARE): [{}],
        ("chance_high", *SHARE): [{}],
        ("pair_accuracy", *SHARE): PAIRS,
    }),
    "missing": (["portion"], 3, ["weighted", "descent"],
                ["whole", *(f"missing{percent}" for percent in (10, 30, 50, 70, 80, 90))], {
        ("seconds", "s", "lower"): [{}],
        ("sweeps", "sweeps", "none"): [{}],
        ("snr", "dB", "higher"): [{}],
        ("held_out_error", *COST): [{}],
    }),
    "rank": (["portion", "random"], 1, ["weighted"], ["whole"], {
        ("held_out_error", *COST): grid(fold=range(5), rank=RANKS),
        ("match_seeds", *SHARE): grid(start=range(1, 3), rank=RANKS),
        ("match_halves", *SHARE): grid(split=range(3), rank=RANKS),
        ("core_consistency", "percent", "higher"): grid(rank=RANKS),
        ("recommended_rank", "components", "none"): [{}],
    }),
    "sparsity": (["portion", "random"], 3, ["sparse2", "sparse3", "sparse5", "sparse10"], ["whole"],
                 {
        ("relative_cost", *COST): grid(finish=["none", "refit"]),
        ("explained_share", *SHARE): grid(finish=["none", "refit"]),
        ("output_size", "non-zeros", "lower"): grid(finish=["none", "refit"]),
        ("relative_output_size", *COST): grid(finish=["none", "refit"]),
    }),
    "speedup": (["brainq"], 2, ["scoup"], ["whole"], {
        ("seconds", "s", "lower"): TIMED,
        ("speedup", *SHARE): TIMED,
        ("relative_cost", *COST): TIMED,
        ("explained_share", *SHARE): TIMED,
        ("worker_gain", *SHARE): [at for at in TIMED if at["workers"] > 1],
        ("pinv_speedup", *SHARE): grid(
            contender=["pseudoinverse"], rows=[10, 100, 1000], components=[1, 5], round=ROUNDS
        ),
    }),
}  # fmt: skip
FACTS = {"processor": 12.5, "memory_mb": 210}
BASELINES = {"accuracy": ["full"], "sparsity": ["full"]}
REPETITIONS = {"full": 1, "scoup": 8, "groups": 5, "pairs": 4}


def value_of(name, at, seed):
    """Return a made-up value between 0 and 1 that falls with repetitions and rank."""
    chosen = np.random.default_rng([seed, crc32(f"{name}{sorted(at.items())}".encode())])
    return (0.3 + 0.7 * chosen.random()) / (at.get("repetitions") or at.get("rank") or 1) ** 0.5


def metrics_of(experiment, dataset, seed):
    """Return the metrics of one job."""
    _, _, plans, variants, measures = LAYOUT[experiment]
    metrics = []
    for plan, variant in product(plans, variants):
        context = Context(experiment, dataset, variant, plan, seed, "simulated")
        percent = int(variant.removeprefix("missing")) if variant != "whole" else 0
        hidden = {"fraction": percent / 100} if experiment == "missing" else {}
        for (name, unit, direction), coordinates in measures.items():
            measure = Measure(name, unit, direction, text=f"made-up {name.replace('_', ' ')}")
            for at in coordinates:
                metrics.append(
                    context.metric(
                        measure, value_of(name + plan, at | hidden, seed), **at, **hidden
                    )
                )
    return metrics


def claims_of(experiment):
    """Return a claim that holds and one that a control reaches too."""
    datasets, *_, measures = LAYOUT[experiment]
    name = next(iter(measures))[0]
    runs = [run for run in metrics_of(experiment, datasets[0], 0) if run.name == name]
    options = {"paper": "0.1", "unit": "share", "bar": 0.1}
    return [
        Claim.of(
            f"{name} is above 0.1",
            runs,
            setting=f"control {control}",
            controls={"random": control},
            **options,
        )
        for control in (0.05, 0.5)
    ]


def make(folder, revision="abc1234"):
    """Write the whole folder; return its sources, with paths below ``folder``."""
    jobs = [
        _write_job(Path(folder), experiment, dataset, seed, revision)
        for experiment, (datasets, seeds, *_) in LAYOUT.items()
        for dataset, seed in product(datasets, range(seeds))
    ]
    data = {}
    for name in ("brainq", "facebook", "portion", "random"):
        data[name] = f"{folder}/preprocess/{name}.npz"
        origin = Provenance(name, "simulate", "made up for tests", (), size="tiny", seed=0)
        results.write_dataset(
            data[name], Dataset(CoupledData(np.ones((4, 3, 2))), provenance=origin)
        )
    claims = [asdict(claim) for experiment in LAYOUT for claim in claims_of(experiment)]
    write_claims(f"{folder}/scorecard.json", claims)
    store.write_text(f"{folder}/scorecard.md", scorecard.table(claims))
    paths = {"claims": f"{folder}/scorecard.json", "table": f"{folder}/scorecard.md"}
    paths["facts"] = f"{folder}/logs/scorecard.json"
    store.write_json(paths["facts"], {"rule": "scorecard", **FACTS})
    return Sources(jobs=jobs, data=data, figures={}, scorecard=paths)


def _write_job(folder, experiment, dataset, seed, revision):
    _, _, plans, variants, _ = LAYOUT[experiment]
    path = folder / "experiments" / experiment / dataset / f"seed{seed}.json"
    write_metrics(path, metrics_of(experiment, dataset, seed))
    facts = FACTS | {"started": 1.7e9 + seed, "ended": 1.7e9 + seed + 60, "revision": revision}
    log = folder / "logs" / experiment / dataset / f"seed{seed}.json"
    store.write_json(log, facts | {"host": "here", "threads": 1, "rule": "experiments"})
    fits, merged = [], []
    for plan, variant in product([*plans, *BASELINES.get(experiment, [])], variants):
        model = {"plan": plan, "variant": variant}
        start = folder / "models" / dataset / variant / plan / f"seed{seed}"
        repetitions = range(REPETITIONS.get(plan, 2))
        for rep in repetitions:
            files = {"path": f"{start}/rep{rep}.npz", "facts": f"{start}/rep{rep}.json"}
            fits.append({**model, "rep": rep, **files})
            _write_fit(files["path"], rep)
            store.write_json(files["facts"], facts | {"rule": "fit", "fit_seconds": 0.1 + rep})
        files = {"path": f"{start}/merged.npz", "facts": f"{start}/merged.json"}
        merged.append({**model, **files})
        report = MergeReport(
            1.0,
            {"tensor": 1.0},
            {"tensor": 0.9},
            tuple(0.9 for _ in repetitions),
            (),
            0,
            (1.0,),
            18,
        )
        results.write_merged(f"{start}/merged.npz", Merged(FACTORS, report))
    return {
        "experiment": experiment, "dataset": dataset, "seed": seed, "metrics": str(path),
        "facts": str(log), "fits": fits, "merged": merged,
    }  # fmt: skip


def _write_fit(path, rep, sweeps=50):
    losses = tuple(1.0 / sweep + 0.01 * rep for sweep in range(1, sweeps + 1))
    report = FitReport(losses, {"tensor": 1.0}, {"tensor": 0.9}, "tol", "als")
    results.write_fit(path, Fit(FACTORS, report))
