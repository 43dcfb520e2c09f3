"""The configuration, checked before the first job; each failure is a sentence that names the key.

``python -m scoup.config`` writes the JSON schema of config.yaml and the page of all settings.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import ceil, prod
from pathlib import Path
from typing import Any

from scoup import datasets, experiments
from scoup.datasets import DatasetSpec
from scoup.errors import ScoupError
from scoup.listing import members, near
from scoup.specs import ExperimentSpec, PlanSpec, Spec, VariantSpec, in_words

Config = Mapping[str, Any]
SECTIONS: dict[str, type[Spec]] = {
    "datasets": DatasetSpec,
    "variants": VariantSpec,
    "plans": PlanSpec,
}
NAME_PATTERN = "^[A-Za-z0-9_]+$"


@dataclass(frozen=True)
class Configuration:
    """A checked configuration: what is defined, what runs, and why some of it does not.

    ``experiments`` are those that are requested, on the data sets that suit them; ``left_out`` has
    a sentence for each data set that does not.
    """

    datasets: Mapping[str, DatasetSpec]
    variants: Mapping[str, VariantSpec]
    plans: Mapping[str, PlanSpec]
    experiments: Mapping[str, Any]
    left_out: tuple[str, ...]

    @property
    def used(self) -> list[str]:
        """Data sets that some experiment uses."""
        return sorted({name for spec in self.experiments.values() for name in spec.datasets})


def check(config: Config) -> Configuration:
    """Refuse a configuration that cannot run: unknown keys, wrong values, names defined nowhere."""
    _check_keys("config", config, [*SECTIONS, "experiments"])
    defined = {section: _section(config, section, kind) for section, kind in SECTIONS.items()}
    requested = _experiments(config)
    for name, spec in requested.items():
        _check_names(f"experiments.{name}", spec, defined)
    used = {name for spec in requested.values() for name in spec.datasets}
    known = {name: _traits(name, defined["datasets"][name]) for name in sorted(used)}
    running, left_out = _suited(requested, known)
    for name, spec in running.items():
        for plan in experiments.plans_of(spec):
            for dataset in spec.datasets:
                modes = known[dataset].names
                shape = datasets.shape(defined["datasets"][dataset])
                _check_plan(f"plans.{plan}", defined["plans"][plan], dataset, modes, shape)
        _check_sampling(f"experiments.{name}.sampling", spec, known)
    return Configuration(**defined, experiments=running, left_out=tuple(left_out))


def _section(config: Config, section: str, kind: type[Spec]) -> dict[str, Any]:
    entries = config.get(section)
    if not isinstance(entries, Mapping) or not entries:
        raise ScoupError.expected(section, "a mapping of names to settings", repr(entries))
    for name in entries:
        if not isinstance(name, str) or not re.fullmatch(NAME_PATTERN, name):
            raise ScoupError.expected(f"{section}: a name", "letters, digits and _", repr(name))
    return {name: _spec(f"{section}.{name}", kind, entry) for name, entry in entries.items()}


def _experiments(config: Config) -> dict[str, ExperimentSpec]:
    """Return the experiments that are requested; one that is set to null is left out."""
    entries = {} if config.get("experiments") is None else config["experiments"]
    _check_keys("experiments", entries, experiments.names())
    return {
        name: _spec(f"experiments.{name}", experiments.declared(name).Spec, entry)
        for name, entry in entries.items()
        if entry is not None
    }


def _spec(key: str, kind: type[Spec], settings: Any) -> Any:
    if not isinstance(settings, Mapping):
        raise ScoupError.expected(key, "a mapping", repr(settings))
    try:
        return kind(**{str(name): value for name, value in settings.items()})
    except ScoupError as error:
        raise ScoupError(f"{key}.{error}") from None


def _check_keys(key: str, entries: Any, known: Iterable[str]) -> None:
    if not isinstance(entries, Mapping):
        raise ScoupError.expected(key, "a mapping", repr(entries))
    for name in entries:
        if name not in known:
            expected = f"one of the keys {', '.join(known)}"
            raise ScoupError.expected(f"{key}.{name}", expected, repr(name), near(name, known))


def _check_names(key: str, spec: ExperimentSpec, defined: Mapping[str, Config]) -> None:
    for section in ("datasets", "variants", "plans"):
        for name in getattr(spec, section, []):
            _check_known(f"{key}.{section}", name, defined[section])
    for setting in experiments.PLAN_SETTINGS:
        if (name := getattr(spec, setting, None)) is not None:
            _check_known(f"{key}.{setting}", name, defined["plans"])


def _check_known(key: str, name: str, known: Iterable[str]) -> None:
    if name not in known:
        raise ScoupError.expected(key, f"one of {', '.join(known)}", repr(name), near(name, known))


def _traits(name: str, spec: DatasetSpec) -> datasets.Traits:
    try:
        for path in datasets.paths(spec):
            if not Path(path).is_file():
                hint = f"relative paths start at {Path.cwd()}"
                raise ScoupError.expected(path, "a file", "no such file", hint)
        return datasets.traits(spec)
    except ScoupError as error:
        raise ScoupError(f"datasets.{name}: {error}") from None


def _suited(
    requested: Mapping[str, Any], known: Mapping[str, datasets.Traits]
) -> tuple[dict[str, Any], list[str]]:
    """Return the experiments on the data sets that suit them, and a sentence for each other."""
    running, left_out = {}, []
    for name, spec in requested.items():
        suits = experiments.declared(name).suits
        reasons = {dataset: suits(known[dataset]) for dataset in spec.datasets}
        left_out += [f"{name} is skipped for {d}: {why}." for d, why in reasons.items() if why]
        suited = [dataset for dataset, why in reasons.items() if not why]
        if suited:
            running[name] = spec.replace(datasets=suited)
    return running, left_out


def _check_plan(
    key: str, plan: PlanSpec, dataset: str, modes: tuple[str, ...], shape: tuple[int, ...] | None
) -> None:
    """Refuse settings of modes that the data lacks, and a rank that a sample cannot tell apart.

    Components can be distinguished when at least two modes keep F indices or more.
    """
    _check_factors(f"{key}.sampling", plan.sampling, dataset, modes)
    for name in plan.constraints if isinstance(plan.constraints, dict) else []:
        if name.isdecimal() and int(name) >= len(modes):
            expected = f"modes of {dataset} from 0 to {len(modes) - 1} ({', '.join(modes)})"
            raise ScoupError.expected(f"{key}.constraints", expected, repr(name))
    if shape is None:
        return
    factors = plan.sampling if isinstance(plan.sampling, list) else [plan.sampling] * len(shape)
    sizes = [ceil(size / factor) for size, factor in zip(shape, factors, strict=True)]
    most = min(sorted(sizes)[-2], prod(sizes))
    if plan.rank > most:
        sample = " x ".join(map(str, sizes))
        factor = plan.to_dict()["sampling"]
        expected = f"at most {most}, since sampling {factor} keeps {sample} of {dataset}"
        hint = f"write rank: {most} or less, or smaller sampling factors"
        raise ScoupError.expected(f"{key}.rank", expected, plan.rank, hint)


def _check_sampling(key: str, spec: Any, known: Mapping[str, datasets.Traits]) -> None:
    """Refuse an experiment's own sampling factors that are not one per mode."""
    for number, factors in enumerate(getattr(spec, "sampling", [])):
        for dataset in spec.datasets:
            _check_factors(f"{key}.{number}", factors, dataset, known[dataset].names)


def _check_factors(key: str, factors: Any, dataset: str, modes: tuple[str, ...]) -> None:
    if isinstance(factors, list) and len(factors) != len(modes):
        expected = f"one factor, or {len(modes)}, one per mode of {dataset} ({', '.join(modes)})"
        raise ScoupError.expected(key, expected, factors)


def schema() -> dict[str, Any]:
    """Return the JSON schema of a whole configuration, put together from the Specs."""
    sections = {
        section: {
            "type": "object",
            "propertyNames": {"pattern": NAME_PATTERN},
            "additionalProperties": _inlined(kind),
        }
        for section, kind in SECTIONS.items()
    }
    listed = {
        name: {"anyOf": [_inlined(experiments.declared(name).Spec), {"type": "null"}]}
        for name in experiments.names()
    }
    choices = {"type": "object", "additionalProperties": False, "properties": listed}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "config.yaml",
        "type": "object",
        "additionalProperties": False,
        "properties": {**sections, "experiments": choices},
    }


def _inlined(kind: type[Spec]) -> dict[str, Any]:
    content = kind.model_json_schema()
    shared = content.pop("$defs", {})

    def resolve(value: Any) -> Any:
        if isinstance(value, dict):
            if "$ref" in value:
                return resolve(shared[value["$ref"].rpartition("/")[2]])
            return {key: resolve(item) for key, item in value.items()}
        return [resolve(item) for item in value] if isinstance(value, list) else value

    return resolve(content)


def settings_page() -> str:
    """Return the page of all settings as Markdown: one table per section and experiment."""
    lines = ["# Settings", "", "Written from the Specs by `make settings`; do not edit.", ""]
    named = {f"`{section}`": kind for section, kind in SECTIONS.items()}
    for name in members("scoup.datasets"):
        named[f"`options` of kind `{name}`"] = datasets.kind(name).Options
    named |= {f"`experiments.{n}`": experiments.declared(n).Spec for n in experiments.names()}
    for title, kind in named.items():
        lines += [f"## {title}", "", *_table(kind), ""]
    return "\n".join(lines)


def _table(kind: type[Spec]) -> Iterator[str]:
    if not kind.model_fields:
        yield "No settings."
        return
    yield from ("| key | what | value | default |", "|---|---|---|---|")
    content = _inlined(kind)
    for name, entry in content["properties"].items():
        default = json.dumps(entry["default"]) if "default" in entry else "required"
        words = (entry.get("description", ""), in_words(entry), f"`{default}`")
        yield "| " + " | ".join([f"`{name}`", *(word.replace("|", r"\|") for word in words)]) + " |"


def main(root: str = ".") -> None:
    """Write the schema and the page of settings under ``root``."""
    text = json.dumps(schema(), indent=2, sort_keys=False) + "\n"
    Path(root, "workflow", "schemas", "config.schema.json").write_text(text)
    Path(root, "docs", "settings.md").write_text(settings_page())


if __name__ == "__main__":
    main(*sys.argv[1:2])
