"""Run the code of a page: Python blocks share a namespace, console blocks are commands.

A text block after a code block is the expected output (``...`` stands for anything).
"""

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
COMMANDS = {
    "scoup": [sys.executable, "-m", "scoup"],
    "snakemake": [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile")],
}


def steps(text: str) -> list[tuple[str, str, str]]:
    """Return (language, code, expected output) for each block of a page that is run."""
    blocks = [*FENCE.findall(text), ("", "")]
    return [
        (language, code, output if kind == "text" else "")
        for (language, code), (kind, output) in pairwise(blocks)
        if language in ("python", "console")
    ]


def run(page: str | Path, folder: str | Path) -> dict[str, Any]:
    """Run a page with ``folder`` as the working directory; return the names it defines."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.chdir(folder):
        for language, code, expected in steps(Path(page).read_text()):
            with contextlib.redirect_stdout(io.StringIO()) as stdout:
                if language == "python":
                    exec(compile(code, str(page), "exec"), names)
                else:
                    _console(code)
            got = stdout.getvalue()
            if expected and not doctest.OutputChecker().check_output(expected, got, FLAGS):
                raise AssertionError(f"{page}: expected\n{expected}\nof\n{code}\ngot\n{got}")
    return names


def _console(code: str) -> None:
    for line in code.splitlines():
        program, *arguments = shlex.split(line.removeprefix("$ "), comments=True)
        call = [*COMMANDS.get(program, [program]), *arguments]
        environment = {**os.environ, "XDG_CACHE_HOME": str(Path(".cache").absolute())}
        done = subprocess.run(call, capture_output=True, text=True, env=environment, check=False)
        if done.returncode:
            raise AssertionError(f"{line}: exit code {done.returncode}\n{done.stderr[-2000:]}")
        print(done.stdout, end="")
