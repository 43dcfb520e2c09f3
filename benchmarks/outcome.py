"""The outcome of one part of the benchmark, as a record and as a file."""

import json
import os
from dataclasses import asdict, dataclass, field
from math import isinf
from pathlib import Path
from typing import Any

from benchmarks.curves import Check, Spread
from benchmarks.machine import load, machine
from benchmarks.measure import Numbers

OUT = Path(__file__).parent / "out"


@dataclass(frozen=True)
class Outcome:
    """Numbers of each contender, the checks made of them, and remarks in words."""

    results: dict[str, Numbers]
    checks: list[Check]
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Stored:
    """An outcome as it was read from its file."""

    part: str
    outcome: Outcome
    machine: dict[str, Any]
    load: list[list[float]]


def write(part: str, outcome: Outcome, before: list[float]) -> Path:
    """Write an outcome and a description of the machine, atomically, with infinities as null."""
    OUT.mkdir(parents=True, exist_ok=True)
    path, unfinished = OUT / f"{part}.json", OUT / f"{part}.json.part"
    checks = [{**asdict(check), "met": check.met} for check in outcome.checks]
    content = {
        "part": part,
        "machine": machine(),
        "load": [before, load()],
        "results": outcome.results,
        "checks": checks,
        "remarks": outcome.remarks,
    }
    unfinished.write_text(json.dumps(_finite(content), indent=1) + "\n")
    os.replace(unfinished, path)
    return path


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and isinf(value) else value


def read(part: str) -> Stored | None:
    """Read the outcome of a part, or None if it has not been run."""
    path = OUT / f"{part}.json"
    if not path.exists():
        return None
    content = json.loads(path.read_text())
    checks = [_check(entry) for entry in content["checks"]]
    outcome = Outcome(content["results"], checks, content["remarks"])
    return Stored(part, outcome, content["machine"], content["load"])


def _check(entry: dict[str, Any]) -> Check:
    numbers = {
        key: float("inf") if value is None else float(value) for key, value in entry["got"].items()
    }
    return Check(entry["what"], Spread(**numbers), entry["sign"], float(entry["goal"]))
