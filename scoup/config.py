"""Checks of the workflow's configuration before the first job, each failure a sentence that names the key."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from math import ceil, prod
from pathlib import Path
from typing import Any

import jsonschema

from scoup.datasets import SUBJECTS
from scoup.errors import ScoupError
from scoup.experiments.suited import traits, why_not
from scoup.preprocess.files import FilesOptions
from scoup.raw.brainq import NOUNS
from scoup.simulate import brainq, facebook, random
from scoup.specs import FitSpec, MergeSpec, SampleSpec

Config = Mapping[str, Any]
KINDS = {
    "object": "a mapping", "array": "a list", "string": "a word", "integer": "a whole number",
    "number": "a number", "boolean": "true or false", "null": "null",
}  # fmt: skip


def check(config: Config, schema: str | Path) -> None:
    """Refuse a configuration that cannot run: unknown keys, wrong types, names that are defined nowhere."""
    validator = jsonschema.Draft202012Validator(json.loads(Path(schema).read_text()))
    for error in sorted(validator.iter_errors(config), key=lambda error: error.json_path):
        raise _explain(error)
    for name, experiment in experiments(config).items():
        _check_names(config, f"experiments.{name}", experiment)
    for name, plan in config["plans"].items():
        _check_plan(f"plans.{name}", plan)
    for name in used(config):
        _check_files(name, config["datasets"][name])


def experiments(config: Config) -> dict[str, Config]:
    """Return the experiments that are asked for; one that is set to null is left out."""
    return {
        name: settings for name, settings in config["experiments"].items() if settings is not None
    }


def leave_out(config: Config) -> tuple[dict[str, Config], list[str]]:
    """Return the experiments with the data sets for which they make sense, and a sentence for each other one."""
    kept: dict[str, Config] = {}
    left_out: list[str] = []
    known = {name: traits(config["datasets"][name]) for name in used(config)}
    for name, settings in experiments(config).items():
        reasons = {dataset: why_not(name, known[dataset]) for dataset in settings["datasets"]}
        left_out += [
            f"{name} is skipped for {dataset}: {why}." for dataset, why in reasons.items() if why
        ]
        suited = [dataset for dataset, why in reasons.items() if not why]
        if suited:
            kept[name] = {**settings, "datasets": suited}
    return kept, left_out


def check_modes(config: Config, asked: Mapping[str, Config]) -> None:
    """Refuse sampling factors that are not one for each mode of a data set that some experiment of ``asked`` uses."""
    for name, settings in asked.items():
        given = {
            f"plans.{plan}.sampling": config["plans"][plan]["sampling"] for plan in _plans(settings)
        }
        own = {
            f"experiments.{name}.sampling.{n}": factors
            for n, factors in enumerate(settings.get("sampling", []))
        }
        # An experiment that names factors of its own takes the rest of its plan only; rank takes all indices.
        factors = own or (given if name != "rank" else {})
        for dataset in settings["datasets"]:
            modes = traits(config["datasets"][dataset]).names
            for key, values in factors.items():
                if isinstance(values, list) and len(values) != len(modes):
                    wanted = (
                        f"one factor, or {len(modes)}, one a mode of {dataset} ({', '.join(modes)})"
                    )
                    raise ScoupError.expected(key, wanted, values)


def used(config: Config) -> list[str]:
    """Return the data sets that some experiment uses."""
    return sorted(
        {name for settings in experiments(config).values() for name in settings["datasets"]}
    )


def own_files(dataset: Config) -> list[str]:
    """Return the user's own files that a data set is made of; none where it is not made of such."""
    return FilesOptions.of(dataset["options"]).paths if dataset["kind"] == "files" else []


def _check_files(name: str, dataset: Config) -> None:
    try:
        for path in own_files(dataset):
            if not Path(path).is_file():
                hint = f"relative paths start at {Path.cwd()}"
                raise ScoupError.expected(path, "a file", "no such file", hint)
        traits(dataset)
    except ScoupError as error:
        raise ScoupError(f"datasets.{name}: {error}") from None


def sample_spec(plan: Config) -> dict[str, Any]:
    """Return the settings of a plan that say how indices are drawn, as :class:`SampleSpec` takes them."""
    spec = _part(plan, SampleSpec)
    sides = plan["side_sampling"]
    return spec | {"side_sampling": sides and {int(mode): factor for mode, factor in sides.items()}}


def fit_spec(plan: Config) -> dict[str, Any]:
    """Return the settings of a plan that say how a sample is fitted, as :class:`FitSpec` takes them."""
    return _part(plan, FitSpec)


def merge_spec(plan: Config) -> dict[str, Any]:
    """Return the settings of a plan that say how repetitions are merged, as :class:`MergeSpec` takes them."""
    return _part(plan, MergeSpec)


def shapes(asked: Config) -> dict[str, tuple[int, ...]]:
    """Return the sizes of the tensor of each data set that are known before it is made."""
    return {name: shape for name, dataset in asked.items() if (shape := _shape(dataset))}


def _shape(dataset: Config) -> tuple[int, ...] | None:
    size, options = dataset["size"], dataset["options"]
    if dataset["kind"] == "brainq" and options.get("grid", "paper") == "paper":
        wide, long, high = brainq.SIZES[size].grid
        voxels = wide * long * (high + options.get("extra_slices", 2))
        return len(NOUNS), voxels, len(options.get("subjects", SUBJECTS))
    if dataset["kind"] == "facebook":
        network = facebook.SIZES[size]
        return network.users, network.users, network.days
    return random.SIZES[size].sizes[:3] if dataset["kind"] == "random" else None


def check_ranks(config: Config, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse a plan whose rank is above its sample size on a data set of known shape.

    Columns can be told apart when at least two modes keep F indices or more.

    >>> plan = {"rank": 9, "sampling": 10}
    >>> asked = {"datasets": ["d"], "plans": ["p"]}
    >>> check_ranks({"plans": {"p": plan}, "experiments": {"accuracy": asked}}, {"d": (60, 500, 20)})
    Traceback (most recent call last):
    ...
    scoup.errors.ScoupError: plans.p.rank: expected at most 6, since sampling 10 keeps 6 x 50 x 2 of d, got 9; ...
    """
    for experiment in experiments(config).values():
        for plan in _plans(experiment):
            for dataset in experiment["datasets"]:
                if dataset in shapes:
                    _check_rank(
                        f"plans.{plan}.rank", config["plans"][plan], dataset, shapes[dataset]
                    )


def _check_rank(key: str, plan: Config, dataset: str, shape: tuple[int, ...]) -> None:
    given = plan["sampling"]
    factors = given if isinstance(given, list) else [given] * len(shape)
    if len(factors) != len(shape):
        raise ScoupError.expected(
            key.replace("rank", "sampling"),
            f"one factor, or {len(shape)}, one a mode of {dataset}",
            given,
        )
    sizes = [ceil(size / factor) for size, factor in zip(shape, factors, strict=True)]
    most = min(sorted(sizes)[-2], prod(sizes))
    if plan["rank"] > most:
        kept = " x ".join(map(str, sizes))
        hint = f"write rank: {most} or less, or smaller sampling factors"
        wanted = f"at most {most}, since sampling {given} keeps {kept} of {dataset}"
        raise ScoupError.expected(key, wanted, plan["rank"], hint)


def _part(plan: Config, record: type) -> dict[str, Any]:
    return {item.name: plan[item.name] for item in fields(record)}


def _check_plan(key: str, plan: Config) -> None:
    try:
        SampleSpec(**sample_spec(plan))
        FitSpec(**fit_spec(plan))
        MergeSpec(**merge_spec(plan))
    except ScoupError as error:
        raise ScoupError(f"{key}.{error}") from None


def _plans(experiment: Config) -> list[str]:
    single = [experiment[key] for key in ("plan", "baseline") if key in experiment]
    return [*experiment.get("plans", []), *single]


def _check_names(config: Config, key: str, experiment: Config) -> None:
    for section in ("datasets", "variants", "plans"):
        for name in experiment.get(section, []):
            _check_known(f"{key}.{section}", name, config[section])
    for setting in ("plan", "baseline"):
        if setting in experiment:
            _check_known(f"{key}.{setting}", experiment[setting], config["plans"])


def _check_known(key: str, name: str, known: Iterable[str]) -> None:
    if name not in known:
        raise ScoupError.expected(
            key, "one of " + ", ".join(known), repr(name), _guess(name, known)
        )


def _guess(name: Any, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(str(name), list(known), n=1, cutoff=0.5)
    return f"perhaps {near[0]!r} was meant" if near else ""


def _explain(error: jsonschema.ValidationError) -> ScoupError:
    """Turn a validator's finding into one sentence: the key, what was expected, what came, what to write."""
    while error.validator == "anyOf" and error.context:
        error = _closest(error)
    key = ".".join(map(str, error.absolute_path)) or "config"
    wanted, got = error.validator_value, error.instance
    if error.validator == "additionalProperties":
        known = list(error.schema.get("properties", {}))
        name = next(name for name in got if name not in known)
        return ScoupError.expected(
            f"{key}.{name}", f"one of the keys {', '.join(known)}", repr(name), _guess(name, known)
        )
    if error.validator == "required":
        name = next(name for name in wanted if name not in got)
        return ScoupError.expected(
            f"{key}.{name}", "a value", "nothing", f"write '{name}:' under {key}"
        )
    if error.validator == "enum":
        words = list(map(str, wanted))
        return ScoupError.expected(key, f"one of {', '.join(words)}", repr(got), _guess(got, words))
    return ScoupError.expected(key, _wanted(error.validator, wanted) or error.message, repr(got))


def _wanted(validator: str, value: Any) -> str:
    if validator == "type":
        return " or ".join(KINDS[kind] for kind in (value if isinstance(value, list) else [value]))
    words = {"minimum": "at least {}", "maximum": "at most {}", "minItems": "a list of {} or more"}
    return words[validator].format(value) if validator in words else ""


def _closest(error: jsonschema.ValidationError) -> jsonschema.ValidationError:
    """Of the branches of an anyOf, the one that failed deepest: the one that was meant."""
    return max(
        error.context, key=lambda branch: (len(branch.absolute_path), branch.validator != "type")
    )
