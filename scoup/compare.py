"""Compare the metrics of two results folders, number by number: ``python -m scoup.compare A B``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from scoup.errors import ScoupError
from scoup.store import read_json

PLACE = ["experiment", "dataset", "variant", "plan", "name", "at"]
DIRECTION_SIGNS = {"higher": 1.0, "lower": -1.0, "none": 0.0}
VERDICTS = {1.0: "better", -1.0: "worse", 0.0: "other"}
ROUNDING_ERROR = 1e-9


def read(folder: str | Path) -> pd.DataFrame:
    """Read every metrics file under ``folder/experiments``, at any depth: one row per number."""
    contents = [read_json(path) for path in sorted(Path(folder, "experiments").rglob("*.json"))]
    rows = [row for content in contents for row in content.get("metrics", [])]
    if not rows:
        hint = "name the folder that holds experiments/, such as results"
        raise ScoupError.expected(
            str(folder), "a results folder", "one without metrics files", hint
        )
    return table(rows)


def table(rows: Sequence[dict]) -> pd.DataFrame:
    """Return metrics as a table, with the coordinates ``at`` as sorted text."""
    frame = pd.DataFrame(rows)
    # 3 and 3.0 are the same coordinate.
    frame["at"] = [
        ", ".join(
            f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}"
            for key, value in sorted(at.items())
        )
        for at in frame["at"]
    ]
    return frame[[*PLACE, "seed", "value", "direction"]].drop_duplicates()


def compare(
    first: pd.DataFrame, second: pd.DataFrame, tolerance: float = ROUNDING_ERROR
) -> pd.DataFrame:
    """Match numbers by place and seed; add their relative difference and whether it matters.

    >>> metric = dict.fromkeys(PLACE, "x") | {"at": {}, "seed": 0, "direction": "lower"}
    >>> two, one = (table([metric | {"value": value}]) for value in (2.0, 1.0))
    >>> compare(two, one)[["difference", "verdict"]].values.tolist()
    [[0.5, 'better']]
    """
    second = second.drop(columns="direction")
    both = first.merge(
        second, "outer", [*PLACE, "seed"], suffixes=("_first", "_second"), indicator="folders"
    )
    left, right = both.value_first, both.value_second
    size = np.maximum(left.abs(), right.abs())
    both["difference"] = (left - right).abs() / size.where(size > 0, 1.0)
    sign = np.sign(right - left) * both.direction.map(DIRECTION_SIGNS)
    both["verdict"] = sign.map(VERDICTS).mask(both.difference <= tolerance, "same")
    names = {"left_only": "only first", "right_only": "only second"}
    both["verdict"] = both.folders.map(names).astype(object).fillna(both.verdict)
    return both


def describe(both: pd.DataFrame) -> str:
    """Return what differs, what is in one folder only, and a summary per experiment and metric."""
    matched = both.folders == "both"
    changed = both[matched & (both.verdict != "same")].groupby(PLACE, sort=False)
    values = {"value_first": "median", "value_second": "median", "difference": "max"}
    single = both[~matched].groupby(["verdict", *PLACE[:-1]]).size()
    counts = pd.crosstab([both.experiment, both.name], both.verdict)
    counts["largest difference"] = both.groupby(["experiment", "name"]).difference.max()
    parts = {
        "Numbers that differ, medians over the seeds that do": changed.agg(
            values | {"verdict": "first"}
        ),
        "Numbers in one folder only": single.reset_index(name="numbers").set_index("verdict"),
        "Summary": counts,
    }
    return "\n\n".join(
        f"{title}:\n{part.to_string(float_format='{:.6g}'.format)}"
        for title, part in parts.items()
        if len(part)
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the comparison; with ``--tolerance`` return 1 unless all numbers are the same."""
    parser = argparse.ArgumentParser(prog="python -m scoup.compare", description=__doc__)
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument(
        "--tolerance", type=float, help="fail if a number differs by more, relative to its size"
    )
    options = parser.parse_args(arguments)
    tolerance = ROUNDING_ERROR if options.tolerance is None else options.tolerance
    try:
        both = compare(read(options.first), read(options.second), tolerance)
    except ScoupError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    same = int((both.verdict == "same").sum())
    print(f"{describe(both)}\n\n{same} of {len(both)} numbers are the same to {tolerance:g}.")
    return int(options.tolerance is not None and same < len(both))


if __name__ == "__main__":
    sys.exit(main())
