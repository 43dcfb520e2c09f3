"""Snakemake whose Slurm executor looks at its jobs every two seconds; by itself it waits longer each time, for minutes.

A cluster with hundreds of users needs that patience, tests of a few jobs do not: nothing else is changed.
"""

from snakemake.cli import main
from snakemake_executor_plugin_slurm import Executor

Executor.next_seconds_between_status_checks = property(lambda self: 2, lambda self, value: None)

if __name__ == "__main__":
    main()
