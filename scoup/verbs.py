"""The command line: look at files, write a configuration for them, and run the workflow."""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from textwrap import fill
from typing import Any

from scoup import __version__, store
from scoup.datasets import Traits, kind
from scoup.errors import ScoupError
from scoup.formats import descriptions
from scoup.guess import guess
from scoup.ingest import ingest
from scoup.inspect import inspect, roles_text, text
from scoup.layout import command_name, project_folder
from scoup.new import choose, configuration, question
from scoup.reading import couple_guess
from scoup.records import ROLES
from scoup.run import printable
from scoup.shard import SHARD_CELLS
from scoup.specs import Count, check

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
  scoup new calls calls.csv --roles a=who,b=whom,t=when
  scoup inspect brain.npy answers.csv:0 --columns noun,voxel,subject --labels noun=nouns.csv --json
  scoup shard big.tns.gz -o big.shards          for files that do not fit in memory
  scoup new walls posts.csv links.csv:wall      writes walls.yaml
  scoup run walls.yaml --cores 4                runs it; see scoup run --help

exit codes: 0 all is well, 1 a run failed, 2 bad usage or bad input (one sentence says what)
"""
RUNNING = """The first words that end in .yaml are configurations; without one, the paper's
experiments are run. All other words go to Snakemake: targets and options, which
`python -m snakemake --help` lists. Results are in results/, in this folder or in that of
--directory. On a terminal one line shows the progress; everything that Snakemake and the jobs
write is in results/logs/run.log.

examples:
  scoup run walls.yaml                          on all cores; again, to resume
  scoup run walls.yaml --cores 4 --dry-run      what would be run
  scoup run walls.yaml --verbose                Snakemake's own output instead of the line
  scoup run walls.yaml --workflow-profile slurm
  scoup profile slurm                           writes profiles/slurm/config.yaml, for changes
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    raw = argparse.RawDescriptionHelpFormatter
    top = argparse.ArgumentParser(
        "scoup", description=__doc__, epilog=EXAMPLES, formatter_class=raw
    )
    top.add_argument("--version", action="version", version=f"scoup {__version__}")
    verbs = top.add_subparsers(
        dest="verb", metavar="demo | inspect | new | shard | run | profile | ui"
    )
    verbs.add_parser("demo", help="factorize two small files and draw one figure")
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
    _add_shard(verbs, epilog, raw)
    verbs.add_parser(
        "run",
        help="run the workflow on a configuration",
        usage="scoup run [CONFIG.yaml ...] [--verbose] [targets and options of Snakemake]",
        epilog=RUNNING,
        formatter_class=raw,
    )
    copy = verbs.add_parser("profile", help="copy a profile of the workflow, to be edited")
    copy.add_argument("name", metavar="NAME", choices=profiles(), help=", ".join(profiles()))
    verbs.add_parser("ui", help="browse the runs in MLflow; --results FOLDER, --port NUMBER")
    return top


def profiles() -> list[str]:
    """List the profiles that come with the workflow."""
    return sorted(path.parent.name for path in project_folder().glob("profiles/*/config.yaml"))


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
        "--roles",
        metavar="A=who,B=whom,C=when",
        help=f"what modes are: {', '.join(ROLES)}; else they are guessed",
    )
    verb.add_argument(
        "--labels",
        metavar="MODE=FILE",
        action="append",
        default=[],
        help="labels of a mode; may be repeated",
    )


def _add_shard(verbs: Any, epilog: str, formatter: Any) -> None:
    """Add the verb that writes a file of any size as shards."""
    cut = verbs.add_parser(
        "shard",
        help="write a file that does not fit in memory as sorted Parquet shards",
        epilog=epilog,
        formatter_class=formatter,
    )
    cut.add_argument("file", metavar="FILE", help="a file, or a folder of files of the same tensor")
    cut.add_argument("-o", "--output", metavar="FOLDER", required=True, help="of the shards")
    cut.add_argument("--columns", metavar="A,B,C", help="the modes: columns of a table")
    cut.add_argument("--value", metavar="COLUMN", help="the column of values of a table")
    cut.add_argument("--cells", type=int, default=SHARD_CELLS, help="per shard, %(default)s if not")
    cut.add_argument("--dtype", choices=("float32", "float64"), default="float64")


def answer(words: Sequence[str]) -> int:
    """Do what the words of a command ask for, other than to run the workflow or to browse."""
    known = parser()
    request = known.parse_args(words)
    if request.verb is None:
        known.print_help(sys.stderr)
        return 2
    verbs = {
        "inspect": _inspect, "new": _new, "shard": _shard, "demo": _demo, "profile": _profile
    }  # fmt: skip
    return verbs[request.verb](request)


def _read(request: argparse.Namespace) -> tuple[dict[str, Any], Traits]:
    """Guess how the files are coupled, read them, and return facts about them and what experiments
    need to know.
    """
    labels = dict(_pair("--labels", pair, "MODE=FILE") for pair in request.labels)
    roles = dict(_pair("--roles", pair, "MODE=ROLE") for pair in _split(request.roles))
    guessed = guess(request.files, _columns(request), request.value, labels, roles)
    declaration = kind(guessed.kind)
    known = declaration.traits(declaration.Options(**guessed.options))
    facts = {
        "kind": guessed.kind,
        "options": guessed.options,
        "hints": guessed.hints,
        "roles": [asdict(role) for role in guessed.roles],
    }
    return {**inspect(couple_guess(guessed)), **facts}, known


def _split(words: str | None) -> list[str]:
    return [word.strip() for word in words.split(",")] if words else []


def _columns(request: argparse.Namespace) -> list[str] | None:
    return _split(request.columns) or None


def _pair(option: str, argument: str, expected: str) -> tuple[str, str]:
    mode, sign, value = argument.partition("=")
    if not (mode and sign and value):
        raise ScoupError.expected(option, expected, repr(argument))
    return mode, value


def _inspect(request: argparse.Namespace) -> int:
    facts, known = _read(request)
    if facts["kind"] == "files":
        facts["skipped"] = choose("data", facts, known)[1]
        facts["question"] = question(facts, known)
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
    if facts["kind"] != "files":
        hint = "docs/shards.md has a configuration for a tensor on disk"
        raise ScoupError.expected("FILE", "files that fit in memory", "shards", hint)
    if words := question(facts, known):
        raise ScoupError(words)
    call = f"{command_name()} run {target}"
    store.write_text(target, configuration(request.name, facts, known, call))
    said = [*roles_text(facts), *(f"hint: {hint}" for hint in facts["hints"])]
    lines = "".join(f"{line}\n" for line in said)
    sys.stdout.write(printable(f"{lines}wrote {target}; now run\n    {call}\n"))
    return 0


def _shard(request: argparse.Namespace) -> int:
    options = {"columns": _columns(request), "value": request.value}
    cells = check("--cells", request.cells, Count)
    on_terminal = sys.stderr.isatty()
    sharded = ingest(
        request.file, request.output, cells, dtype=request.dtype, progress=on_terminal, **options
    )
    shape = " x ".join(map(str, sharded.shape))
    files = len(sharded.manifest.shards)
    line = f"wrote {request.output}: shape {shape}, {sharded.nnz:,} cells, {files} shards\n"
    sys.stdout.write(printable(line))
    return 0


def _demo(request: argparse.Namespace) -> int:
    from scoup.demo import compiles_first, demo

    if compiles_first():
        sys.stderr.write("scoup: compiling the kernels, this once: about a minute\n")
    sys.stdout.write(demo())
    return 0


def _profile(request: argparse.Namespace) -> int:
    target = Path("profiles", request.name, "config.yaml")
    if target.exists():
        raise ScoupError(f"{target}: it is there already; remove it first to copy it again.")
    source = project_folder() / "profiles" / request.name / "config.yaml"
    target.parent.mkdir(parents=True, exist_ok=True)
    store.write_text(target, source.read_text())
    call = f"{command_name()} run --workflow-profile {request.name}"
    sys.stdout.write(f"wrote {target}; edit it, then run\n    {call}\n")
    return 0
