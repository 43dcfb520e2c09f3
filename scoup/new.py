"""Write a configuration for a user's own files: what it needs beside config.yaml, with comments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from scoup.experiments.suited import Traits, why_not

REFERENCE_CELLS = (
    5_000_000  # up to here the printed algorithm, which makes everything dense, takes seconds
)
MOST_WORK = 1e10  # pairs times squared images of leave_two_out: some ten minutes on a core
LEAST_THINGS = 8  # of which two are left out, and half of the others in the nested choice
EXPERIMENTS = (
    "accuracy",
    "sparsity",
    "missing",
    "rank",
    "speedup",
    "leave_two_out",
    "clusters",
    "anomaly",
)


def configuration(name: str, found: Mapping[str, Any], traits: Traits, call: str) -> str:
    """Return the text of a configuration for data set ``name``, which ``call`` runs.

    ``found`` is what :mod:`scoup.inspect` says of the data, with the ``options`` and ``hints`` of :mod:`scoup.guess`.
    """
    parts = [
        _head(name, found, call), _datasets(name, found["options"]), _plans(found, traits),
        "# What is not said here is as in config.yaml; an experiment set to null is left out.", "experiments:",
        *_experiments(name, found, traits),
    ]  # fmt: skip
    return "\n".join(parts) + "\n"


def _head(name: str, found: Mapping[str, Any], call: str) -> str:
    shape = " x ".join(str(size) for size in found["tensor"]["shape"])
    count = len(found["matrices"])
    sides = f", and {count} {'matrix' if count == 1 else 'matrices'} on it" if count else ""
    cells = (
        f"with {found['tensor']['nonzeros']} non-zeros"
        if found["tensor"]["sparse"]
        else "that is dense"
    )
    hints = "".join(f"# Hint: {hint}.\n" for hint in found["hints"])
    return (
        f"# {name}: a tensor of {shape} {cells}{sides}.\n{hints}#     {call}\n"
        "# Figures come to results/figures; a report in one file: the same with --report results/report.html\n"
    )


def _datasets(name: str, options: Mapping[str, Any]) -> str:
    lines = [
        "# Your files; paths start at the folder in which snakemake runs. They are read where they are.",
        "datasets:", f"  {name}:", "    kind: files", "    source: local", "    size: full", "    seed: 0",
        "    options:", f"      tensor: {_flow(options['tensor'])}",
        "      # columns: those of the modes, or names for axes; value: the column of values (none: count lines)",
        "      # dense: true makes a whole array of listed cells, 0 where none is",
        "      # missing: FILE with hidden cells, a list or a 0/1 array; observed: the same of known ones, or listed",
    ]  # fmt: skip
    if options.get("matrices"):
        lines += [
            "      # mode: the tensor's mode that the rows of the matrix are      layout: long, or wide (a row a line)"
        ]
        lines += ["      matrices:", *(f"        - {_flow(one)}" for one in options["matrices"])]
    lines += [
        "      # labels: {MODE: FILE}, one label a line, or a table with facts beside them",
        f"      labels: {_flow(options.get('labels', {}))}",
        "",
    ]
    return "\n".join(lines)


def _flow(value: Any) -> str:
    """A value in YAML on one line; JSON is YAML, but names need no quotes.

    >>> _flow({"file": "a.csv", "columns": ["wall", "the day"], "transpose": True})
    '{file: a.csv, columns: [wall, "the day"], transpose: true}'
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, float):
        # YAML takes 1e-05 for a word, and 1.0e-05 for a number.
        return str(int(value)) if value == int(value) else re.sub(r"^(\d+)e", r"\1.0e", repr(value))
    plain = isinstance(value, str) and value.replace("_", "a").replace(".", "a").replace(
        "/", "a"
    ).replace("-", "a")
    simple = (
        plain
        and plain.isascii()
        and plain.isalnum()
        and value[0].isalpha()
        and value.lower() not in _WORDS
    )
    return value if simple else json.dumps(value, ensure_ascii=False)


_WORDS = ("null", "true", "false", "yes", "no", "on", "off", "y", "n")


def _plans(found: Mapping[str, Any], traits: Traits) -> str:
    """The plans of config.yaml that the experiments use, fitted to the data."""
    tip = found["advice"]
    base = {"rank": tip["rank"], "weights": tip["weights"], "init": tip["init"]}
    quick = base | {"max_iter": 50, "tol": 1e-05}
    shape, sampling = found["tensor"]["shape"], tip["sampling"]
    plans = {
        "full": (quick, "all of the data, the baseline"),
        "weighted": (quick | {"max_iter": 30}, "the same with cells hidden"),
        "scoup": (
            quick | {"sampling": sampling, "repetitions": 4},
            "samples of it, fitted side by side and merged",
        ),
        "sparse2": (quick | {"sampling": _all(shape, 2)}, "smaller and smaller samples"),
        "sparse5": (quick | {"sampling": _all(shape, 5)}, ""),
    }
    if not found["tensor"]["sparse"]:
        # Sampling factors are by mode, and leave_two_out may have to put modes in another order.
        pairs = {
            "sampling": sampling if traits.names[2:] == ("subject",) else 1,
            "rank": min(2, tip["rank"]),
        }
        plans |= {
            "pairs": (pairs, "leave_two_out"),
            "groups": ({"sampling": sampling, "side_sampling": None}, "clusters"),
        }
    lines = [
        "# How components are found. rank: how many; sampling: keep one index in so many, of each mode.",
        "plans:",
    ]
    lines += [
        f"  {name}: {_flow(plan)}" + (f"  # {why}" if why else "")
        for name, (plan, why) in plans.items()
    ]
    if len(shape) == 3 and found["tensor"]["sparse"]:
        lines += _bursts(len(found["matrices"]), min(20, sorted(shape)[-2]))
    return "\n".join([*lines, ""])


def _bursts(matrices: int, rank: int) -> list[str]:
    """Plans of their own for anomaly, whole: samples of some of the days, so that each sees other bursts."""
    plan = {
        "rank": rank, "weights": [1] + [0] * matrices, "sampling": [1, 1, 4], "side_sampling": None, "shared": 0.1,
        "repetitions": 4, "solver": "als", "init": "random", "max_iter": 30, "tol": 0, "starts": 1, "compress": "auto",
        "merge": "joint", "finish": "none",
    }  # fmt: skip
    return [
        "  # Bursts, in samples of the last mode alone; matrices count for nothing.",
        f"  bursts: &bursts {_flow(plan)}",
        "  bursts10: {<<: *bursts, sampling: [1, 1, 10], repetitions: 8}",
    ]


def _all(shape: Sequence[int], factor: int) -> list[int]:
    """One factor for all modes, but for those too short to be sampled."""
    return [factor if size >= 10 * factor else 1 for size in shape]


def _experiments(name: str, found: Mapping[str, Any], traits: Traits) -> Iterator[str]:
    tensor, tip = found["tensor"], found["advice"]
    here, things = (
        {"datasets": [name]},
        tensor["shape"][traits.matrices[0] if traits.matrices else 0],
    )
    ranks = list(range(1, min(6, sorted(tensor["shape"])[-2]) + 1))
    settings: dict[str, dict[str, Any]] = {
        "accuracy": here | {"plans": ["scoup"], "seeds": 2},
        "sparsity": here | {"plans": ["sparse2", "sparse5"], "seeds": 1},
        "missing": here
        | {"plans": ["weighted"], "variants": ["whole", "missing20", "missing50"], "seeds": 1},
        "rank": here | {"ranks": ranks, "folds": 3, "starts": 2, "halves": 2},
        "speedup": here
        | {
            "sampling": [tip["sampling"]],
            "workers": [1, 2],
            "sweeps": 10,
            "repeats": 1,
            "seeds": 1,
        },
        "leave_two_out": here | {"pairs": [], "shuffles": 2} | _candidates(things),
        "clusters": here | {"deals": 1000, "seeds": 1},
        "anomaly": here
        | {
            "plans": ["bursts", "bursts10"],
            "values": {"bursts": "rare", "bursts10": "rare"},
            "seeds": 1,
        },
    }
    says = {
        "accuracy": "what each further sample adds", "sparsity": "how many fewer numbers a sampled model needs",
        "missing": "how well hidden cells are told", "rank": "how many components there are, and what they are",
        "speedup": "time against the printed algorithm", "leave_two_out": "which of two unseen images is whose",
        "clusters": "whether things of a component are of one category", "anomaly": "who does what nobody else does",
    }  # fmt: skip
    reasons = left_out(found, traits)
    for experiment in EXPERIMENTS:
        if experiment in reasons:
            yield f"  {experiment}: null  # {reasons[experiment]}"
        else:
            yield f"  # {says[experiment]}\n  {experiment}: {_flow(settings[experiment])}"


def left_out(found: Mapping[str, Any], traits: Traits) -> dict[str, str]:
    """Say why experiments are left out: they make no sense for the data, or take too long on it."""
    reasons = {
        name: why_not(name, traits) or _why_not_here(name, found, traits) for name in EXPERIMENTS
    }
    return {name: why for name, why in reasons.items() if why}


def _why_not_here(experiment: str, found: Mapping[str, Any], traits: Traits) -> str:
    """Reasons that only show once the data has been read; cells may be missing as NaN, which no head tells."""
    tensor, missing = (
        found["tensor"],
        any(one["missing"] for one in (found["tensor"], *found["matrices"])),
    )
    if missing and (why := why_not(experiment, replace(traits, missing=True))):
        return why
    if experiment == "speedup" and tensor["cells"] > REFERENCE_CELLS:
        return "the printed algorithm makes the tensor dense, which takes too long here"
    if experiment == "anomaly" and (tensor["values"]["least"] < 0 or not tensor["values"]["whole"]):
        return "it looks for bursts in counts, and the values are none"
    return _why_not_pairs(tensor["shape"], traits) if experiment == "leave_two_out" else ""


def _why_not_pairs(shape: Sequence[int], traits: Traits) -> str:
    """Too few things to choose anything by, or too many for all pairs of them."""
    things, subjects = shape[traits.matrices[0]], shape[traits.names.index("subject")]
    if things < LEAST_THINGS:
        return f"it needs {LEAST_THINGS} things to tell apart or more, and there are {things}"
    if things**4 * subjects**2 / 2 > MOST_WORK:
        return f"all pairs of {things} things would take hours"
    return ""


def _candidates(things: int) -> dict[str, Any]:
    """Groups of the nested choice, which leaves out three of them, and ranks that the others can bear."""
    groups = 6 if things >= 18 else 4
    left = things - 3 * -(-things // groups)
    return {
        "groups": groups,
        "ranks": [rank for rank in (2, 3, 5, 10) if rank <= max(2, left // 2)],
    }
