"""How jobs of one machine start: as forks of one process that has imported what they need; no rules."""

import os
from tempfile import TemporaryDirectory

from snakemake.shell import shell

from scoup.forkserver import ForkServer, is_wanted
from scoup.store import VERIFIED_FOLDER

STAGES = ["download", "preprocess", "holdout", "sample", "extract", "fit", "merge", "experiments"]
FORK_SERVERS = []
VERIFIED_FOLDERS = []


def imported_first():
    """Return what all jobs need: the frame that Snakemake gives to a script, and the stages."""
    modules = {module for stage in STAGES for module in modules_of(stage)}
    frame = ["snakemake.logging", "snakemake.iocontainers", "scoup.job:describe_code"]
    return [*frame, *sorted(modules), "scoup.warm:load"]


def imported_later():
    """Return what few jobs need, in the order in which they come."""
    parts = [f"scoup.experiments.{name}" for name in EXPERIMENTS]
    measuring, drawing = ([f"{part}.{kind}" for part in parts] for kind in ("measure", "figure"))
    return [*measuring, *drawing, "scoup.plot:load", *modules_of("report")]


def lift_rate_limit():
    """Let jobs of one machine start at any rate, so that only the end of a job is a reason to look at the queue.

    With a limit, Snakemake sets a timer for one more look after each look: hundreds of them keep a core busy, and the
    last ones keep the run from ending.
    """
    if workflow.is_main_process and workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None


def verify_once():
    """Let jobs of one machine verify a large array once in this run, not each time that one of them reads it."""
    if workflow.is_main_process and workflow.local_exec:
        VERIFIED_FOLDERS.append(TemporaryDirectory(prefix="scoup-verified-"))
        os.environ[VERIFIED_FOLDER] = VERIFIED_FOLDERS[0].name


def start_fork_server():
    """Have a server import what jobs need while Snakemake finds out which of them to run."""
    if not IS_RUN or IS_SUBMITTED or not is_wanted(os.environ):
        return
    try:
        FORK_SERVERS.append(ForkServer(imported_first(), imported_later()))
    except OSError as error:
        logger.warning(f"scoup: jobs start one by one, as the fork server did not: {error}")


def use_fork_server():
    """Have jobs run as forks, where this process starts them itself and in its own environment."""
    if not workflow.local_exec or workflow.deployment_settings.deployment_method:
        return
    for server in FORK_SERVERS:
        # The words that Snakemake puts before a command, here before "python script": its own function
        # for it, so nothing of Snakemake is replaced. With exec, a signal for the job reaches the client.
        client = server.client.replace("{", "{{").replace("}", "}}")
        shell.prefix(f"set -euo pipefail; exec {client} ")


def stop_fork_servers():
    """End the fork server, if there is one, and return its processor seconds."""
    return sum(server.stop() for server in FORK_SERVERS)


start_fork_server()


onstart:
    lift_rate_limit()
    verify_once()
    use_fork_server()


onerror:
    stop_fork_servers()
