"""Run the code of a page, top to bottom: Python blocks share one namespace, console blocks are commands.

A block of text that follows a block of code is what the code must print (``...`` stands for anything).
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
COMMANDS = {
    "scoup": [sys.executable, "-m", "scoup"],
    "snakemake": [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile")],
}


def steps(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield (language, code, wanted output) for each block of a page that is run."""
    found = [(kind, body) for kind, body in FENCE.findall(text)]
    for place, (kind, body) in enumerate(found):
        follows = found[place + 1 : place + 2]
        wanted = follows[0][1] if follows and follows[0][0] == "text" else ""
        if kind in ("python", "console"):
            yield kind, body, wanted


def run(page: str | Path, folder: str | Path) -> dict[str, Any]:
    """Run a page with ``folder`` as the working folder and return the names that its Python blocks made."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.chdir(folder):
        for kind, code, wanted in steps(Path(page).read_text()):
            told = _python(code, names, page) if kind == "python" else _console(code)
            if wanted and not doctest.OutputChecker().check_output(wanted, told, FLAGS):
                raise AssertionError(f"{page}: expected\n{wanted}\nof\n{code}\ngot\n{told}")
    return names


def _python(code: str, names: dict[str, Any], page: str | Path) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as told:
        exec(compile(code, str(page), "exec"), names)
    return told.getvalue()


def _console(code: str) -> str:
    told = []
    for line in code.splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        call = [*COMMANDS.get(words[0], [words[0]]), *words[1:]]
        environment = {**os.environ, "XDG_CACHE_HOME": str(Path(".cache").absolute())}
        done = subprocess.run(call, capture_output=True, text=True, env=environment, check=False)
        if done.returncode:
            raise AssertionError(f"{line}: exit code {done.returncode}\n{done.stderr[-2000:]}")
        told.append(done.stdout)
    return "".join(told)
