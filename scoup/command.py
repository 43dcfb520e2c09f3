"""The command line: look at files, and write a configuration for them. The workflow stays the one way to run things."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scoup import __version__, store
from scoup.errors import ScoupError
from scoup.experiments.suited import Traits, traits
from scoup.guess import guess
from scoup.inspect import inspect, text
from scoup.new import configuration, left_out
from scoup.preprocess.files import FilesOptions, couple_files

FILES = """files:
  The first FILE is the tensor, the others are matrices: .npy, .npz, .tns (FROSTT), .csv, .tsv, .txt, .parquet, .mat
  or, for matrices, .mtx; text and .tns also with .gz. A table holds a cell a line, with a column for each mode and
  perhaps one of values (else lines are counted); a matrix may also hold a row a line, its label first.
  A matrix is on the mode with the same labels, or with as many indices as it has rows; FILE:MODE says which.
  A file of labels holds one a line, or is a table with the labels first and facts beside them, such as a category.
"""
EXAMPLES = """examples:
  scoup inspect posts.csv links.csv             a tensor in long form, and a matrix on one of its modes
  scoup inspect ratings.csv --columns user,item,week --value stars
  scoup inspect brain.npy answers.csv:0 --columns noun,voxel,subject --labels noun=nouns.csv --json
  scoup new walls posts.csv links.csv:wall      writes walls.yaml
  snakemake --cores 4 --configfile walls.yaml   runs it

exit codes: 0 all is well, 2 bad usage or bad input (one sentence says what)
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    shape = argparse.RawDescriptionHelpFormatter
    top = argparse.ArgumentParser(
        "scoup", description=__doc__, epilog=EXAMPLES, formatter_class=shape
    )
    top.add_argument("--version", action="version", version=f"scoup {__version__}")
    verbs = top.add_subparsers(dest="verb", metavar="inspect | new")
    look = verbs.add_parser(
        "inspect",
        help="say what files hold and what to try",
        epilog=FILES + EXAMPLES,
        formatter_class=shape,
    )
    look.add_argument("--json", action="store_true", help="print plain facts as JSON")
    make = verbs.add_parser(
        "new", help="write NAME.yaml, ready to run", epilog=FILES + EXAMPLES, formatter_class=shape
    )
    make.add_argument("name", metavar="NAME", help="of the data set: letters, digits and _")
    for verb in (look, make):
        verb.add_argument(
            "files",
            metavar="FILE",
            nargs="+",
            help="the tensor, then matrices, each perhaps as FILE:MODE",
        )
        verb.add_argument(
            "--columns",
            metavar="A,B,C",
            help="the tensor's modes: columns of a table, names for axes",
        )
        verb.add_argument(
            "--value", metavar="COLUMN", help="the column of values of the tensor's table"
        )
        verb.add_argument(
            "--labels",
            metavar="MODE=FILE",
            action="append",
            default=[],
            help="labels of a mode; may be given again",
        )
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    known = parser()
    asked = known.parse_args(arguments)
    if asked.verb is None:
        known.print_help(sys.stderr)
        return 2
    try:
        return _inspect(asked) if asked.verb == "inspect" else _new(asked)
    except ScoupError as error:
        sys.stderr.write(f"scoup: {error}\n")
        return 2


def _read(asked: argparse.Namespace) -> tuple[dict[str, Any], Traits]:
    """Guess how the files hang together, read them, and tell what there is and what the experiments need to know."""
    columns = [name.strip() for name in asked.columns.split(",")] if asked.columns else None
    guessed = guess(asked.files, columns, asked.value, dict(map(_labels, asked.labels)))
    options = guessed.options
    dataset = couple_files(FilesOptions.of(options), content=guessed.content)
    return {**inspect(dataset), "options": options, "hints": guessed.hints}, traits(
        {"kind": "files", "options": options}
    )


def _labels(given: str) -> tuple[str, str]:
    mode, sign, file = given.partition("=")
    if not (mode and sign and file):
        raise ScoupError.expected("--labels", "MODE=FILE", repr(given))
    return mode, file


def _inspect(asked: argparse.Namespace) -> int:
    found, known = _read(asked)
    found["skipped"] = left_out(found, known)
    sys.stdout.write(json.dumps(store.plain(found), indent=2) + "\n" if asked.json else text(found))
    return 0


def _new(asked: argparse.Namespace) -> int:
    if not re.fullmatch(r"[A-Za-z0-9_]+", asked.name):
        raise ScoupError.expected("NAME", "letters, digits and _", repr(asked.name))
    target = Path(f"{asked.name}.yaml")
    if target.exists():
        raise ScoupError(f"{target}: it is there already; remove it or take another name.")
    found, known = _read(asked)
    call = _next(target)
    store.write_text(target, configuration(asked.name, found, known, call))
    sys.stdout.write(
        "".join(f"hint: {hint}\n" for hint in found["hints"])
        + f"wrote {target}; now run\n    {call}\n"
    )
    return 0


def _next(target: Path) -> str:
    """The call of Snakemake; outside of a clone it has to be told where the workflow is."""
    if Path("Snakefile").exists():
        return f"snakemake --cores 4 --configfile {target}"
    ours = Path(__file__).resolve().parent.parent / "Snakefile"
    where = ours if ours.exists() else "path/to/your/clone/Snakefile"
    return f"snakemake --snakefile {where} --cores 4 --configfile {target}"
