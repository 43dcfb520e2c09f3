"""Snakemake's ``--logger scoup``: what Snakemake tells about a run becomes a line of progress.

Snakemake finds the plugin by the name of this package. ``scoup run`` uses it, and gives it the
terminal by the number of its file, as Snakemake's own output goes to a log.
"""

import os
import sys
from dataclasses import dataclass, field
from logging import WARNING, LogRecord

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase

from scoup.progress import Progress, failure


@dataclass
class LogHandlerSettings(LogHandlerSettingsBase):
    """Settings of the plugin: ``--logger-scoup-terminal``."""

    terminal: int | None = field(
        default=None,
        metadata={"help": "number of the open file to write to, else standard error", "type": int},
    )


class LogHandler(LogHandlerBase):
    """Show progress, failures and remarks of scoup; Snakemake goes on writing its own output."""

    writes_to_stream = False
    writes_to_file = False
    has_filter = True
    has_formatter = True
    needs_rulegraph = False

    def __post_init__(self) -> None:
        number = self.settings.terminal if self.settings else None
        terminal = sys.stderr if number is None else os.fdopen(number, "w")
        self.progress = Progress(terminal)

    def emit(self, record: LogRecord) -> None:
        """Show one event."""
        event, facts = getattr(record, "event", None), vars(record)
        if event == LogEvent.RUN_INFO:
            self.progress.begin(facts["stats"]["total"])
        elif event == LogEvent.JOB_INFO:
            self.progress.start(facts["jobid"], facts["rule_name"])
        elif event == LogEvent.JOB_FINISHED:
            self.progress.stop(facts["job_id"])
        elif event == LogEvent.PROGRESS:
            self.progress.advance(facts["done"], facts["total"])
        elif event == LogEvent.JOB_ERROR:
            self.progress.stop(facts["jobid"])
            self.progress.say(failure(facts["rule_name"], facts["output"], facts["log"]))
        elif record.levelno >= WARNING and record.getMessage().startswith("scoup: "):
            self.progress.say(record.getMessage())

    def close(self) -> None:
        """Remove the line of progress at the end of the run."""
        self.progress.close()
        super().close()
