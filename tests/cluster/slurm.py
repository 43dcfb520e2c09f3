"""A real Slurm with two nodes on this machine, for tests and for trying out profiles. Needs root.

    python -m tests.cluster.slurm install    # by apt-get, if available
    python -m tests.cluster.slurm up
    snakemake --workflow-profile workflow/profiles/slurm --configfile workflow/configs/quick.yaml
    python -m tests.cluster.slurm down

Each node is a separate slurmd on a separate port. There is no accounting and no cgroup: memory is
reserved, but limits are not enforced. Every Slurm command looks for its configuration in
/etc/slurm/slurm.conf; a file there that this script did not write is never touched.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.cluster import daemons

CONFIG = Path("/etc/slurm/slurm.conf")
HOME = Path("/run/scoup-slurm")
MARK = "# Written by tests/cluster/slurm.py of scoup; overwritten and deleted without asking."
NODES = {"n1": 17001, "n2": 17002}
PACKAGES = ("slurm-wlm", "slurmd", "slurmctld", "slurm-client", "munge")
COMMANDS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol")

# Short timeouts: a dead node is noticed within seconds (SlurmdTimeout), and a requeued job restarts
# as soon (cred_expire). MinJobAge keeps finished jobs visible to squeue. With LLN, jobs go to the
# least loaded node, so that both nodes are used.
TEMPLATE = """{mark}
ClusterName=scoup
SlurmctldHost=localhost
SlurmctldPort=17000
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={home}/munge.socket,cred_expire=20
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/%n
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/%n.pid
SlurmctldLogFile={home}/slurmctld.log
SlurmdLogFile={home}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
SlurmdTimeout=6
KillWait=2
MinJobAge=600
JobRequeue=1
{nodes}
PartitionName=all Nodes={names} Default=YES LLN=YES MaxTime=INFINITE State=UP
"""


def why_not() -> str:
    """Return why no cluster can be started here, or an empty string."""
    if reason := daemons.why_not("Slurm", COMMANDS, "tests.cluster.slurm"):
        return reason
    if CONFIG.exists() and not CONFIG.read_text().startswith(MARK):
        return f"this machine has a Slurm already ({CONFIG})"
    return ""


def install() -> None:
    """Install Slurm with apt, or print why the tests will be skipped."""
    daemons.install("Slurm", PACKAGES, COMMANDS)


def up() -> None:
    """Start the key server, the controller and both nodes; wait until the nodes are idle."""
    reason = why_not()
    if reason:
        raise SystemExit(f"No Slurm: {reason}.")
    down()
    for folder in ("state", *NODES):
        (HOME / folder).mkdir(parents=True)
    HOME.chmod(0o755)  # munged refuses a socket in a folder that others cannot enter
    nodes = "\n".join(
        f"NodeName={name} NodeHostname=localhost Port={port} CPUs=4 RealMemory=16000"
        for name, port in NODES.items()
    )
    CONFIG.parent.mkdir(exist_ok=True)
    CONFIG.write_text(TEMPLATE.format(mark=MARK, home=HOME, nodes=nodes, names=",".join(NODES)))
    _start_munge()
    start_controller()
    for name in NODES:
        start_node(name)
    _until(
        lambda: sorted(run("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").split()) == sorted(NODES),
        "idle nodes",
    )


def down() -> None:
    """End every process of the cluster and remove its files."""
    if not HOME.exists():
        return
    for name in ("slurmctld", *NODES):
        kill(name)
    for pid in daemons.processes():
        if daemons.program(pid).startswith("slurmstepd"):  # it has outlived its job
            _end(pid, signal.SIGKILL)
    _end(_pid("munge"), signal.SIGTERM)
    if CONFIG.exists() and CONFIG.read_text().startswith(MARK):
        CONFIG.unlink()
    shutil.rmtree(HOME, ignore_errors=True)


def run(*words: str) -> str:
    """Return the output of a Slurm command; nothing if it fails, as when the controller is down."""
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def jobs() -> list[dict[str, str]]:
    """Return id, state, node, time limit, reason and name of every job the controller knows."""
    fields = ("id", "state", "node", "limit", "reason", "name")
    lines = run("squeue", "--states=all", "--noheader", "--format=%i|%T|%N|%l|%r|%j").splitlines()
    return [dict(zip(fields, line.split("|"), strict=True)) for line in lines]


def start_controller() -> None:
    """Start the controller from its saved state, if there is one."""
    subprocess.run(["slurmctld", "-f", str(CONFIG)], check=True, stderr=subprocess.DEVNULL)
    _until(lambda: "UP" in run("scontrol", "ping"), "the controller")


def stop_controller() -> None:
    """Stop the controller cleanly, as for a restart: it saves its state."""
    _end(_pid("slurmctld"), signal.SIGTERM)


def start_node(name: str) -> None:
    """Start one node."""
    subprocess.run(["slurmd", "-N", name, "-f", str(CONFIG)], check=True, stderr=subprocess.DEVNULL)


def kill(name: str) -> None:
    """Kill the controller, or a node and everything that runs on it, as a power cut would."""
    _end(_pid(name), signal.SIGKILL)
    if name in NODES:
        for process in _on_node(name):
            _end(process, signal.SIGKILL)


def _start_munge() -> None:
    key = HOME / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    files = {
        "key-file": key, "socket": HOME / "munge.socket", "pid-file": HOME / "munge.pid",
        "log-file": HOME / "munge.log", "seed-file": HOME / "munge.seed",
    }  # fmt: skip
    options = [f"--{option}={path}" for option, path in files.items()]
    subprocess.run(["munged", "--force", *options], check=True, stderr=subprocess.DEVNULL)


def _pid(name: str) -> int | None:
    """Return the process id of a server; None if it has ended, even if its id was reused."""
    try:
        pid = int((HOME / f"{name}.pid").read_text())
    except (OSError, ValueError):
        return None
    return pid if daemons.program(pid).startswith(("slurm", "munge")) else None


def _end(pid: int | None, number: signal.Signals) -> None:
    daemons.end(pid, number, HOME)


def _on_node(name: str) -> list[int]:
    """Return the slurmstepd processes of a node's jobs, then the jobs, known by their environment.

    Those that outlive their job would report how it ended, which a dead node cannot: they go first.
    """
    parents, step_daemons, jobs_here = {}, set(), []
    for pid in daemons.processes():
        folder = Path(f"/proc/{pid}")
        try:
            parents[pid] = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if (folder / "cmdline").read_bytes().startswith(b"slurmstepd"):
                step_daemons.add(pid)
            elif f"SLURMD_NODENAME={name}" in daemons.environment(pid):
                jobs_here.append(pid)
        except OSError:
            continue  # it has ended
    return [*({parents[pid] for pid in jobs_here} & step_daemons), *jobs_here]


def _until(condition: Callable[[], object], what: str) -> None:
    daemons.until(condition, what, HOME)


if __name__ == "__main__":
    verbs = {"install": install, "up": up, "down": down}
    if len(sys.argv) != 2 or sys.argv[1] not in verbs:
        raise SystemExit(f"usage: python -m tests.cluster.slurm {'|'.join(verbs)}")
    verbs[sys.argv[1]]()
