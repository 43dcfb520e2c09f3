"""Run the code of a page, top to bottom.

Python blocks share one namespace; console blocks are commands. A text block that follows a code
block is what the code must print (``...`` stands for anything).
"""

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

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
COMMANDS = {"scoup": [sys.executable, "-m", "scoup"]}


def steps(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield (language, code, expected output) for each block of a page that is run."""
    blocks = FENCE.findall(text)
    for (kind, body), (next_kind, next_body) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if kind in ("python", "console"):
            yield kind, body, next_body if next_kind == "text" else ""


def run(page: str | Path, folder: str | Path) -> dict[str, Any]:
    """Run a page in ``folder`` and return the namespace of its Python blocks."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.chdir(folder):
        for kind, code, expected in steps(Path(page).read_text()):
            output = _python(code, names, page) if kind == "python" else _console(code)
            if expected and not doctest.OutputChecker().check_output(expected, output, FLAGS):
                raise AssertionError(f"{page}: expected\n{expected}\nof\n{code}\ngot\n{output}")
    return names


def _python(code: str, names: dict[str, Any], page: str | Path) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(compile(code, str(page), "exec"), names)
    return output.getvalue()


def _console(code: str) -> str:
    outputs = []
    for line in code.splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        call = [*COMMANDS.get(words[0], [words[0]]), *words[1:]]
        environment = {**os.environ, "XDG_CACHE_HOME": str(Path(".cache").absolute())}
        done = subprocess.run(call, capture_output=True, text=True, env=environment, check=False)
        if done.returncode:
            raise AssertionError(f"{line}: exit code {done.returncode}\n{done.stderr[-2000:]}")
        outputs.append(done.stdout)
    return "".join(outputs)
