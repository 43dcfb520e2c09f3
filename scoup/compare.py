"""Check that two results folders hold the same numbers: ``python -m scoup.compare A B``.

To see how runs differ, compare them in MLflow (docs/mlflow.md).
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from scoup.errors import ScoupError
from scoup.store import read_json

PLACE = ["experiment", "dataset", "variant", "plan", "seed", "name", "at"]
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
    return frame[[*PLACE, "value"]].drop_duplicates()


def differences(
    first: pd.DataFrame, second: pd.DataFrame, tolerance: float = ROUNDING_ERROR
) -> pd.DataFrame:
    """Return the numbers that differ by more than ``tolerance``, relative to the larger one.

    A number that only one table has differs by infinity.

    >>> metric = dict.fromkeys(PLACE, "x") | {"at": {}}
    >>> two, one = (table([metric | {"value": value}]) for value in (2.0, 1.0))
    >>> differences(two, one).difference.tolist()
    [0.5]
    """
    both = first.merge(second, "outer", PLACE, suffixes=("_first", "_second"))
    size = np.maximum(both.value_first.abs(), both.value_second.abs())
    change = (both.value_first - both.value_second).abs() / size.where(size > 0, 1.0)
    both["difference"] = change.where(both.value_first.notna() & both.value_second.notna(), np.inf)
    return both[both.difference > tolerance]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the numbers that differ; return 1 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m scoup.compare", description=__doc__)
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument(
        "--tolerance",
        type=float,
        default=ROUNDING_ERROR,
        help=f"relative difference that counts as none ({ROUNDING_ERROR:g})",
    )
    options = parser.parse_args(arguments)
    try:
        first, second = read(options.first), read(options.second)
    except ScoupError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    different = differences(first, second, options.tolerance)
    if len(different):
        print(different.to_string(index=False, float_format="{:.6g}".format))
    print(f"{len(different)} numbers differ by more than {options.tolerance:g}.")
    return int(len(different) > 0)


if __name__ == "__main__":
    sys.exit(main())
