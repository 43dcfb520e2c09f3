"""Snakemake whose Slurm executor checks its jobs every two seconds; nothing else is changed.

By default the executor waits longer after every check, up to minutes. A busy cluster needs that
patience, tests of a few jobs do not.
"""

from snakemake.cli import main
from snakemake_executor_plugin_slurm import Executor

Executor.next_seconds_between_status_checks = property(lambda self: 2, lambda self, value: None)

if __name__ == "__main__":
    main()
