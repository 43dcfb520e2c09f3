"""Write a configuration for user-supplied files: what differs from config.yaml, with comments."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from textwrap import fill
from typing import Any

import yaml

from scoup.datasets import Traits
from scoup.datasets.files import Options, Source
from scoup.errors import ScoupError
from scoup.experiments import declared, names, plans_of
from scoup.roles import RoleGuess
from scoup.specs import ExperimentSpec, PlanSpec, Spec

MAX_BURST_RANK = 20
MIN_SAMPLED_INDICES = 10  # that a sample keeps of a mode; shorter modes are not sampled


def configuration(name: str, facts: Mapping[str, Any], traits: Traits, call: str) -> str:
    """Return the text of a configuration for data set ``name``, which ``call`` runs.

    ``facts`` are what :mod:`scoup.inspect` says of the data, with the ``options`` and ``hints`` of
    :mod:`scoup.guess` and the ``roles`` of :mod:`scoup.roles`.
    """
    experiments, reasons = choose(name, facts, traits)
    used = dict.fromkeys(plan for spec in experiments.values() for plan in plans_of(spec))
    lines = [
        *_head(name, facts, call),
        *_dataset(name, Options(**facts["options"]), facts["roles"]),
        *_plans({plan: pair for plan, pair in plans(facts, traits).items() if plan in used}),
        "# What is not said here is as in config.yaml; an experiment set to null is left out.",
        "experiments:",
        *_experiments(experiments, reasons),
    ]
    return "\n".join(lines) + "\n"


def choose(
    name: str, facts: Mapping[str, Any], traits: Traits
) -> tuple[dict[str, ExperimentSpec], dict[str, str]]:
    """Return the experiments that make sense for the data, with their settings, and why the others
    do not.

    An experiment may declare ``suits_data(facts, traits)``, reasons that show once the data has
    been read, and ``suggest(facts, traits)``, settings for such data; without them its defaults
    are taken.
    """
    # Cells may be missing as NaN, which no head of a file tells.
    has_gaps = any(block["missing"] for block in (facts["tensor"], *facts["matrices"]))
    traits = replace(traits, missing=traits.missing or has_gaps)
    experiments: dict[str, ExperimentSpec] = {}
    reasons: dict[str, str] = {}
    for experiment in names():
        declaration = declared(experiment)
        suits_data = getattr(declaration, "suits_data", _any_data)
        if why := declaration.suits(traits) or suits_data(facts, traits):
            reasons[experiment] = why
            continue
        suggest = getattr(declaration, "suggest", _nothing)
        try:
            experiments[experiment] = declaration.Spec(datasets=[name], **suggest(facts, traits))
        except ScoupError as error:
            reasons[experiment] = f"it cannot be set up for this data ({str(error).rstrip('.')})"
    return experiments, reasons


def question(facts: Mapping[str, Any], traits: Traits) -> str:
    """Ask for a role of which the guess is not sure, if an experiment depends on it."""
    for guess in (RoleGuess(**guess) for guess in facts["roles"]):
        if not guess.role or guess.is_settled:
            continue
        roles = tuple(
            guess.role if name == guess.mode else role
            for name, role in zip(traits.names, traits.roles, strict=True)
        )
        gained = choose("data", facts, replace(traits, roles=roles))[0].keys()
        if waiting := sorted(gained - choose("data", facts, traits)[0].keys()):
            return (
                f"{guess.mode}: is this mode {guess.role!r} ({guess.because})? {waiting[0]} needs "
                f"to know: say --roles {guess.mode}={guess.role} if so, or --roles "
                f"{guess.mode}=thing if not."
            )
    return ""


def _any_data(facts: Mapping[str, Any], traits: Traits) -> str:
    del facts, traits
    return ""


def _nothing(facts: Mapping[str, Any], traits: Traits) -> dict[str, Any]:
    del facts, traits
    return {}


def plans(facts: Mapping[str, Any], traits: Traits) -> dict[str, tuple[PlanSpec, str]]:
    """Return the plans that experiments may name, fitted to the data, each with a comment."""
    shape, advice = facts["tensor"]["shape"], facts["advice"]
    rank, sampling = advice["rank"], advice["sampling"]
    quick = PlanSpec(
        rank=rank, weights=advice["weights"], init=advice["init"], max_iter=50, tol=1e-5
    )
    times = [4 if role == "when" else 1 for role in traits.roles]
    # Sampling factors go by mode, and leave_two_out may have to put modes in another order.
    in_order = traits.roles[2:] == ("subject",)
    bursts = PlanSpec(
        rank=min(MAX_BURST_RANK, sorted(shape)[-2]),
        values="rare",
        weights=[1] + [0] * len(facts["matrices"]),
        sampling=times,
        shared=0.1,
        init="random",
        max_iter=30,
        tol=0,
    )
    return {
        "full": (_with(quick, sampling=1, repetitions=1), "all of the data, the baseline"),
        "weighted": (
            _with(quick, sampling=1, repetitions=1, max_iter=30),
            "the same, with cells hidden",
        ),
        "scoup": (
            _with(quick, sampling=sampling, repetitions=4),
            "samples of it, fitted side by side and merged",
        ),
        "sparse2": (_with(quick, sampling=_all_modes(shape, 2)), "smaller and smaller samples"),
        "sparse5": (_with(quick, sampling=_all_modes(shape, 5)), ""),
        "pairs": (
            PlanSpec(rank=min(2, rank), sampling=sampling if in_order else 1),
            "for leave_two_out",
        ),
        "groups": (
            PlanSpec(
                rank=rank,
                sampling=sampling,
                side_sampling=None,
                values="standardised",
                weights={"balanced": [1, 10]},
            ),
            "for clusters: the matrix counts ten times as much as the tensor",
        ),
        "bursts": (
            bursts,
            "for anomaly: samples of time alone; matrices count for nothing",
        ),
        "bursts10": (
            _with(bursts, sampling=[10 if factor > 1 else 1 for factor in times], repetitions=8),
            "",
        ),
    }


def _with(plan: PlanSpec, **changes: Any) -> PlanSpec:
    """Change some settings; those that were never set stay so, and are not written."""
    return PlanSpec(**{**plan.model_dump(exclude_unset=True), **changes})


def _all_modes(shape: Sequence[int], factor: int) -> list[int]:
    """Return one factor for all modes except those too short to be sampled."""
    return [factor if size >= MIN_SAMPLED_INDICES * factor else 1 for size in shape]


def _head(name: str, facts: Mapping[str, Any], call: str) -> Iterator[str]:
    tensor, count = facts["tensor"], len(facts["matrices"])
    shape = " x ".join(map(str, tensor["shape"]))
    cells = f"with {tensor['nonzeros']} non-zeros" if tensor["sparse"] else "that is dense"
    sides = f", and {count} {'matrix' if count == 1 else 'matrices'} on it" if count else ""
    yield f"# {name}: a tensor of {shape} {cells}{sides}."
    for hint in facts["hints"]:
        yield _comment(f"Hint: {hint}.")
    yield f"#     {call}"
    yield "# Then open results/report.html: what was found comes first, with a link to every page,"
    yield f"# such as results/pages/rank/{name}/seed0/index.html, every figure and every file."
    yield ""


def _dataset(name: str, options: Options, guesses: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "# Your files, which are read where they are. A path alone stands for {file: PATH}."
    yield from ("datasets:", f"  {flow(name)}:", "    kind: files", "    source: local")
    yield from ("    size: full", "    seed: 0", "    options:")
    yield from _legend(Source, Source.model_fields, indent=6)
    yield f"      tensor: {_settings(options.tensor)}"
    if options.matrices:
        yield "      matrices:"
        yield from (f"        - {_settings(matrix)}" for matrix in options.matrices)
    yield from _legend(Options, ["labels"], indent=6)
    yield f"      labels: {flow(options.labels)}"
    yield from _legend(Options, ["roles"], indent=6)
    for guess in (RoleGuess(**guess) for guess in guesses):
        yield _comment(f"{guess.mode}: {guess.text}", 6)
    yield f"      roles: {flow(options.roles)}"
    yield ""


def _plans(chosen: Mapping[str, tuple[PlanSpec, str]]) -> Iterator[str]:
    yield "# Plans: how components are found."
    used = dict.fromkeys(key for plan, _ in chosen.values() for key in plan.model_fields_set)
    yield from _legend(PlanSpec, [key for key in PlanSpec.model_fields if key in used])
    yield "plans:"
    for name, (plan, comment) in chosen.items():
        yield f"  {name}: {_settings(plan)}" + (f"  # {comment}" if comment else "")
    yield ""


def _experiments(
    experiments: Mapping[str, ExperimentSpec], reasons: Mapping[str, str]
) -> Iterator[str]:
    for name in names():
        if name in reasons:
            yield f"  {name}: null  {_comment(reasons[name])}"
        else:
            yield _comment(" ".join(str(declared(name).__doc__).split("\n\n")[0].split()), 2)
            yield f"  {name}: {_settings(experiments[name])}"


def _legend(
    kind: type[Spec], keys: Sequence[str] | Mapping[str, Any], indent: int = 0
) -> list[str]:
    """Say what the settings mean, one comment per key."""
    fields = kind.model_fields
    prefix = " " * indent + "# "
    return [
        fill(
            f"{key}: {fields[key].description}",
            100,
            initial_indent=prefix,
            subsequent_indent=prefix,
        )
        for key in keys
    ]


def _comment(text: str, indent: int = 0) -> str:
    """Return a comment on one line, whatever line breaks a user's names contain."""
    return " " * indent + "# " + "".join(char if char.isprintable() else " " for char in text)


def _settings(spec: Spec) -> str:
    """Return the settings that were chosen, on one line; the others keep their defaults."""
    return flow(spec.model_dump(exclude_unset=True))


def flow(value: Any) -> str:
    """Return a value in YAML on one line.

    >>> flow({"file": "a.csv", "columns": ["user: id", "{{ x }}", "no"], "sampling": 2.0})
    "{file: a.csv, columns: ['user: id', '{{ x }}', 'no'], sampling: 2}"
    """
    text = yaml.safe_dump(
        _whole(value), default_flow_style=True, sort_keys=False, allow_unicode=True, width=2**31
    )
    return text.removesuffix("...\n").strip()


def _whole(value: Any) -> Any:
    """Write 2.0 as 2."""
    if isinstance(value, Mapping):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
