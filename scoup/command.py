"""The command line: look at files, and write a configuration for them. Snakemake runs it."""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from scoup import __version__, store
from scoup.datasets import Traits
from scoup.datasets.files import Options, traits
from scoup.datasets.files.couple import couple_files
from scoup.errors import ScoupError
from scoup.formats import descriptions
from scoup.guess import guess
from scoup.inspect import inspect, text
from scoup.new import choose, configuration

FILES = """files:
  The first FILE is the tensor, the others are matrices on its modes. Formats:
{formats}
  A matrix is on the mode with the same labels, or with as many indices as it has rows; FILE:MODE
  says which. A file of labels holds one label per line, or is a table with the labels first and
  facts about them, such as a category.

"""
EXAMPLES = """examples:
  scoup inspect posts.csv links.csv             a tensor in long form and a matrix on a mode
  scoup inspect ratings.csv --columns user,item,week --value stars
  scoup inspect brain.npy answers.csv:0 --columns noun,voxel,subject --labels noun=nouns.csv --json
  scoup new walls posts.csv links.csv:wall      writes walls.yaml
  snakemake --cores 4 --configfile walls.yaml   runs it

exit codes: 0 all is well, 2 bad usage or bad input (one sentence says what)
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    raw = argparse.RawDescriptionHelpFormatter
    top = argparse.ArgumentParser(
        "scoup", description=__doc__, epilog=EXAMPLES, formatter_class=raw
    )
    top.add_argument("--version", action="version", version=f"scoup {__version__}")
    verbs = top.add_subparsers(dest="verb", metavar="inspect | new")
    epilog = FILES.format(formats="\n".join(map(_format_help, descriptions()))) + EXAMPLES
    look = verbs.add_parser(
        "inspect", help="say what files hold and what to try", epilog=epilog, formatter_class=raw
    )
    look.add_argument("--json", action="store_true", help="print plain facts as JSON")
    make = verbs.add_parser(
        "new", help="write NAME.yaml, ready to run", epilog=epilog, formatter_class=raw
    )
    make.add_argument("name", metavar="NAME", help="of the data set: letters, digits and _")
    for verb in (look, make):
        _add_files(verb)
    return top


def _format_help(described: tuple[str, str]) -> str:
    endings, description = described
    words = description.replace("`", "")
    return fill(f"{endings}: {words}", 96, initial_indent="    ", subsequent_indent="      ")


def _add_files(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "files", metavar="FILE", nargs="+", help="the tensor, then matrices, each perhaps FILE:MODE"
    )
    verb.add_argument(
        "--columns", metavar="A,B,C", help="the tensor's modes: columns of a table, names for axes"
    )
    verb.add_argument(
        "--value", metavar="COLUMN", help="the column of values of the tensor's table"
    )
    verb.add_argument(
        "--labels",
        metavar="MODE=FILE",
        action="append",
        default=[],
        help="labels of a mode; may be repeated",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    known = parser()
    request = known.parse_args(arguments)
    if request.verb is None:
        known.print_help(sys.stderr)
        return 2
    try:
        return _inspect(request) if request.verb == "inspect" else _new(request)
    except (ScoupError, OSError, MemoryError) as error:
        sys.stderr.write(f"scoup: {printable(str(error))}\n")
        return 2


def printable(words: str) -> str:
    """Return text without control characters: a label might steer the terminal.

    >>> printable("\\x1b[2Jbear")
    '\\\\x1b[2Jbear'
    """
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in words)


def _read(request: argparse.Namespace) -> tuple[dict[str, Any], Traits]:
    """Guess how the files are coupled, read them, and return facts about them and what experiments
    need to know.
    """
    columns = [name.strip() for name in request.columns.split(",")] if request.columns else None
    guessed = guess(request.files, columns, request.value, dict(map(_labels, request.labels)))
    options = Options(**guessed.options)
    dataset = couple_files(options, content=guessed.content)
    facts = {**inspect(dataset), "options": guessed.options, "hints": guessed.hints}
    return facts, traits(options)


def _labels(argument: str) -> tuple[str, str]:
    mode, sign, file = argument.partition("=")
    if not (mode and sign and file):
        raise ScoupError.expected("--labels", "MODE=FILE", repr(argument))
    return mode, file


def _inspect(request: argparse.Namespace) -> int:
    facts, known = _read(request)
    facts["skipped"] = choose("data", facts, known)[1]
    as_json = json.dumps(store.plain(facts), indent=2) + "\n"
    sys.stdout.write(as_json if request.json else printable(text(facts)))
    return 0


def _new(request: argparse.Namespace) -> int:
    if not re.fullmatch(r"[A-Za-z0-9_]+", request.name):
        raise ScoupError.expected("NAME", "letters, digits and _", repr(request.name))
    target = Path(f"{request.name}.yaml")
    if target.exists():
        raise ScoupError(f"{target}: it is there already; remove it or take another name.")
    facts, known = _read(request)
    call = _call(target)
    store.write_text(target, configuration(request.name, facts, known, call))
    hints = "".join(f"hint: {hint}\n" for hint in facts["hints"])
    sys.stdout.write(f"{hints}wrote {target}; now run\n    {call}\n")
    return 0


def _call(target: Path) -> str:
    """Return the call of Snakemake; outside of a clone it has to be told where the workflow is."""
    if Path("Snakefile").exists():
        return f"snakemake --cores 4 --configfile {target}"
    ours = Path(__file__).resolve().parent.parent / "Snakefile"
    where = ours if ours.exists() else "path/to/your/clone/Snakefile"
    return f"snakemake --snakefile {where} --cores 4 --configfile {target}"
