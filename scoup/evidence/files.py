"""The only reader and writer of what experiments measure: metrics, claims, material, parts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from scoup import store
from scoup.errors import ScoupError
from scoup.evidence import Metric
from scoup.records import Array
from scoup.store import PathLike

Arrays = dict[str, Array]

MATERIAL, PART = "material", "part"


def write_part(path: PathLike, arrays: Mapping[str, Array]) -> None:
    """Write what one of an experiment's independent jobs computed."""
    store.write_archive(path, PART, {}, arrays)


def read_part(path: PathLike) -> Arrays:
    """Read what :func:`write_part` wrote."""
    return store.read_archive(path, PART)[1]


def write_material(path: PathLike, facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write what an experiment's figure and page are made from; ``facts`` are plain JSON."""
    store.write_archive(path, MATERIAL, facts, arrays)


def read_material(path: PathLike) -> tuple[dict[str, Any], Arrays]:
    """Read what :func:`write_material` wrote: facts and arrays."""
    return store.read_archive(path, MATERIAL)


def write_metrics(
    path: PathLike, metrics: Iterable[Metric], notes: Mapping[str, Any] | None = None
) -> None:
    """Write metrics; ``notes`` are plain facts about all of them, such as the settings."""
    rows = [asdict(metric) for metric in metrics]
    if not rows:
        raise ScoupError.expected("metrics", "at least one", "none", f"{path} would say nothing")
    store.write_json(path, {"metrics": rows, "notes": dict(notes or {})})


def read_metrics(*paths: PathLike) -> list[Metric]:
    """Read the metrics of one file or more."""
    rows = [row for path in paths for row in _read_section(path, "metrics")]
    return [Metric(**{**row, "range": tuple(row["range"])}) for row in rows]


def read_notes(path: PathLike) -> dict[str, Any]:
    """Read the notes of a metrics file."""
    return _read_section(path, "notes")


def write_claims(path: PathLike, claims: Sequence[Mapping[str, Any]]) -> None:
    """Write the rows of the scorecard."""
    store.write_json(path, {"claims": claims})


def read_claims(path: PathLike) -> list[dict[str, Any]]:
    """Read what :func:`write_claims` wrote."""
    return _read_section(path, "claims")


def _read_section(path: PathLike, name: str) -> Any:
    content = store.read_json(path)
    if name not in content:
        raise ScoupError.expected(str(path), f"a file of {name}", "another JSON file")
    return content[name]
