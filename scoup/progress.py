"""One line that shows how far a run is, and a sentence for every job that fails."""

import os
import re
import threading
from collections import Counter
from pathlib import Path
from typing import Any, TextIO

from tqdm import tqdm

REFRESH_SECONDS = 1.0
UNKNOWN_WIDTH = 80  # columns of a terminal that does not say how wide it is
FORMAT = "{n_fmt} of {total_fmt} jobs done{postfix}, {elapsed} so far, about {remaining} left"
_ERROR_LINE = re.compile(r"[\w.]*(?:Error|Exception|Exit|Interrupt|Warning)\w*(?:: (.*))?")


class Progress:
    """How far a run is, on a terminal; elsewhere only failures and remarks are written."""

    def __init__(self, terminal: TextIO) -> None:
        self.terminal = terminal
        self.running: dict[int, str] = {}
        self.bar: Any = None
        self.ended = threading.Event()
        self.clock = threading.Thread(target=self._tick, daemon=True)

    def begin(self, total: int) -> None:
        """Show the line, with the number of jobs."""
        if self.bar is None and self.terminal.isatty():
            width = os.get_terminal_size(self.terminal.fileno()).columns
            self.bar = tqdm(
                total=total,
                file=self.terminal,
                bar_format=FORMAT,
                smoothing=0,
                leave=False,
                ncols=None if width else UNKNOWN_WIDTH,
                dynamic_ncols=width > 0,
            )
            self.clock.start()

    def start(self, job: int, rule: str) -> None:
        """Count a job as running."""
        self.running[job] = rule
        self._show()

    def stop(self, job: int) -> None:
        """Count a job as running no more, whether it has ended well or not."""
        self.running.pop(job, None)
        self._show()

    def advance(self, done: int, total: int) -> None:
        """Set how many jobs are done, of how many."""
        if self.bar is not None:
            self.bar.total = total
            self.bar.n = done
            self.bar.refresh()

    def say(self, text: str) -> None:
        """Write a line above the line of progress."""
        tqdm.write(text, file=self.terminal)
        self.terminal.flush()

    def close(self) -> None:
        """Remove the line."""
        self.ended.set()
        if self.bar is not None:
            self.bar.close()
            self.bar = None

    def _show(self) -> None:
        if self.bar is not None:
            self.bar.set_postfix_str(running_text(self.running.values()), refresh=False)

    def _tick(self) -> None:
        while not self.ended.wait(REFRESH_SECONDS):
            if self.bar is not None:
                self.bar.refresh()


def running_text(rules: Any) -> str:
    """Say what is running.

    >>> running_text(["fit", "merge", "fit"])
    'running: 2 fit, 1 merge'
    """
    counts = Counter(rules)
    return "running: " + (", ".join(f"{counts[rule]} {rule}" for rule in counts) or "none")


def failure(rule: str, outputs: list[str], logs: list[str]) -> str:
    """Say which job failed and why: the last error in its log."""
    name = f"{rule} ({outputs[0]})" if outputs else rule
    text = next((Path(log).read_text() for log in logs if Path(log).is_file()), "")
    tail = f"\n    its log: {logs[0]}" if logs else ""
    return f"failed: {name}: {error_sentence(text)}{tail}"


def error_sentence(log: str) -> str:
    """Return the sentence of the error with which a log ends.

    >>> error_sentence("Traceback ...\\n  ...\\nscoup.errors.ScoupError: rank: got 0.\\n")
    'rank: got 0.'
    """
    for line in reversed(log.splitlines()):
        match = _ERROR_LINE.fullmatch(line.strip())
        if match:
            return match[1] or line.strip()
    return "it ended without a word; it may have been killed, or its computer stopped."
