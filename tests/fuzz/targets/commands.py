"""The command line: arguments that are shuffled, misspelt or dangerous, and files that are odd."""

import contextlib
import io

import yaml

from scoup.command import main
from scoup.config import check
from tests.fuzz.mutate import mutated

ARGUMENTS = (
    "inspect", "new", "name", "a b", "../x", "", "t.csv", "m.csv", "m.csv:a", "m.csv:9", "w.csv:0",
    "none.csv", "l.txt", "t.tns", "odd.csv", "--json", "--columns", "a,b,c", "a,,", "--value",
    "value", "b", "--labels", "a=l.txt", "a=", "=", "9=l.txt", "--unknown", "\0", "x" * 300, "-1",
    "user: id", "--version", "--help",
)  # fmt: skip
TABLE = b"user: id,b,c,value\nx,1,1,2\ny,2,2,3\nx,2,1,4\n"


def prepare(folder):
    """Write a few good files."""
    (folder / "t.csv").write_bytes(TABLE.replace(b"user: id", b"a"))
    (folder / "m.csv").write_text("a,q\nx,1\ny,2\n")
    (folder / "w.csv").write_text("a,q1,q2\nx,1,2\ny,2,3\n")
    (folder / "l.txt").write_text("x\ny\n")
    (folder / "t.tns").write_text("1 1 1 2\n2 2 2 3\n")
    return folder


def attempt(rng, folder):
    """Call the command with some arguments; a configuration that it writes must be a good one."""
    (folder / "odd.csv").write_bytes(mutated(rng, TABLE) if rng.random() < 0.8 else TABLE)
    verb = rng.choice(("inspect", "new"))
    arguments = [verb, *(["name"] if verb == "new" else []), rng.choice(("t.csv", "odd.csv"))]
    arguments += rng.sample(ARGUMENTS, rng.randint(0, 3))
    if rng.random() < 0.3:
        arguments = rng.sample(ARGUMENTS, rng.randint(0, 5))
    written = folder / "name.yaml"
    written.unlink(missing_ok=True)
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        try:
            code = main(arguments)
        except SystemExit as stop:  # argparse
            code = stop.code
    if code not in (0, 2) or (code == 2 and not said.getvalue()):
        raise AssertionError(f"exit code {code} of {arguments}: {said.getvalue()!r}")
    if code == 0 and written.exists():
        known = yaml.safe_load(written.read_text())
        known["variants"] = {"whole": {"fraction": 0.0}}
        known["experiments"] = {}
        check(known)
