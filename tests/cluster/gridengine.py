"""A real Grid Engine with one host on this machine, for tests and for trying out its profile.

    python -m tests.cluster.gridengine install    # by apt-get, if available
    eval $(python -m tests.cluster.gridengine up)
    snakemake --configfile workflow/configs/quick.yaml --workflow-profile gridengine
    python -m tests.cluster.gridengine down

Needs root. All files are in /run/scoup-gridengine, and the ports are not the usual ones: a Grid
Engine that this machine already has is left alone. Commands find this one by the variables that
``up`` prints.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from tests.cluster import daemons

HOME = Path("/run/scoup-gridengine")
SHARED = Path("/usr/share/gridengine")
PACKAGED = Path("/var/lib/gridengine")
PROGRAMS = Path("/usr/lib/gridengine")
PACKAGES = ("gridengine-master", "gridengine-exec", "gridengine-client")
COMMANDS = ("sge_qmaster", "sge_execd", "qsub", "qstat", "qacct", "qconf")
VARIABLES = {
    "SGE_ROOT": str(HOME), "SGE_CELL": "default",
    "SGE_QMASTER_PORT": "17044", "SGE_EXECD_PORT": "17045",
}  # fmt: skip
SPOOL = f"{HOME}/default/common;{HOME}/qmaster"
BOOTSTRAP = f"""admin_user none
default_domain none
ignore_fqdn false
spooling_method classic
spooling_lib libspoolc
spooling_params {SPOOL}
binary_path /usr/sbin
qmaster_spool_dir {HOME}/qmaster
security_mode none
listener_threads 2
worker_threads 2
scheduler_threads 1
"""
# Jobs of root are allowed, how a job ended is known at once, and a host that is not heard of for
# seconds is dead: its jobs go back into the queue.
CONFIGURATION = {
    "execd_spool_dir": f"{HOME}/execd", "min_uid": "0", "min_gid": "0",
    "load_report_time": "00:00:01", "max_unheard": "00:00:04", "reschedule_unknown": "00:00:01",
    "reporting_params": "accounting=true reporting=false accounting_flush_time=00:00:00 "
    "flush_time=00:00:01 joblog=false sharelog=00:00:00",
}  # fmt: skip
SCHEDULER = {"schedule_interval": "0:0:1", "flush_submit_sec": "1", "flush_finish_sec": "1"}
HOST = {
    "hostname": "localhost", "load_scaling": "NONE", "complex_values": "NONE",
    "user_lists": "NONE", "xuser_lists": "NONE", "projects": "NONE", "xprojects": "NONE",
    "usage_scaling": "NONE", "report_variables": "NONE",
}  # fmt: skip
# However busy this machine is, four jobs may run.
QUEUE = {
    "qname": "all.q", "hostlist": "localhost", "load_thresholds": "NONE", "pe_list": "smp",
    "slots": "4", "rerun": "TRUE",
}  # fmt: skip


def why_not() -> str:
    """Return why no Grid Engine can be started here, or an empty string."""
    return daemons.why_not("Grid Engine", COMMANDS, "tests.cluster.gridengine")


def install() -> None:
    """Install Grid Engine with apt; its own daemons need not run."""
    daemons.install("Grid Engine", PACKAGES, COMMANDS)


def up() -> None:
    """Start the master and the host; wait until the queue takes jobs."""
    if reason := why_not():
        raise SystemExit(f"No Grid Engine: {reason}.")
    down()
    common = HOME / "default" / "common"
    for folder in (common, HOME / "qmaster" / "job_scripts", HOME / "execd"):
        folder.mkdir(parents=True)
    for name in ("bin", "lib", "util", "utilbin"):
        (HOME / name).symlink_to(PACKAGED / name)
    (common / "bootstrap").write_text(BOOTSTRAP)
    (common / "act_qmaster").write_text("localhost\n")
    # The address of this machine is that of localhost, whatever its name is.
    (common / "host_aliases").write_text(f"localhost {platform.node()}\n")
    configuration = _changed((SHARED / "default-configuration").read_text(), CONFIGURATION)
    _run(PROGRAMS / "spoolinit", "classic", "libspoolc", SPOOL, "init")
    _run(PROGRAMS / "spooldefaults", "configuration", _file("configuration", configuration))
    for kind, folder in (("complexes", "centry"), ("usersets", "usersets")):
        _run(PROGRAMS / "spooldefaults", kind, SHARED / "util" / "resources" / folder)
    _run(PROGRAMS / "spooldefaults", "managers", "root")
    _call("sge_qmaster")
    # On a busy machine the master is back before it listens.
    daemons.until(lambda: not _call("qconf", "-as", "localhost").returncode, "the master", HOME)
    _run("qconf", "-Ae", _file("host", "".join(f"{k} {v}\n" for k, v in HOST.items())))
    _run("qconf", "-Ap", SHARED / "util" / "resources" / "pe" / "smp")
    _run("qconf", "-Aq", _file("queue", _changed(_run("qconf", "-sq"), QUEUE)))
    _run("qconf", "-Msconf", _file("scheduler", _changed(_run("qconf", "-ssconf"), SCHEDULER)))
    start_host()


def start_host() -> None:
    """Start the host, again after it was killed, and wait until the queue takes jobs."""
    _run("sge_execd")
    # The last column lists states such as au: alarm, unknown.
    ready = re.compile(r"^all\.q@localhost +BIP +\S+ +[\d.]+ +lx-\S+ *$", re.M)
    daemons.until(lambda: ready.search(_run("qstat", "-f")), "the host", HOME)


def kill_host() -> None:
    """Kill the host and everything that runs on it, as a power cut would: shepherds go first."""
    ours = [pid for pid in daemons.processes() if _is_ours(pid)]
    order = {"sge_execd": 0, "sge_shepherd": 1}
    for pid in sorted(ours, key=lambda pid: order.get(daemons.program(pid), 2)):
        is_job = any(line.startswith("JOB_ID=") for line in daemons.environment(pid))
        if is_job or daemons.program(pid) in order:
            daemons.end(pid, signal.SIGKILL, HOME)


def down() -> None:
    """End every process of the cluster and remove its files."""
    if not HOME.exists():
        return
    kill_host()
    for pid in daemons.processes():
        if daemons.program(pid) == "sge_qmaster" and _is_ours(pid):
            daemons.end(pid, signal.SIGKILL, HOME)
    shutil.rmtree(HOME, ignore_errors=True)


def jobs() -> list[dict[str, str]]:
    """Return the accounting record of every start of a job that has ended."""
    text = subprocess.run(
        ["qacct", "-j", "*"], env=_environment(), capture_output=True, text=True, check=False
    ).stdout
    records = [record for record in re.split(r"^=+$", text, flags=re.M) if record.strip()]
    return [dict(re.findall(r"^(\w+) +(.*?) *$", record, re.M)) for record in records]


def _is_ours(pid: int) -> bool:
    return f"SGE_ROOT={HOME}" in daemons.environment(pid)


def _environment() -> dict[str, str]:
    return {**os.environ, **VARIABLES}


def _call(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, env=_environment(), capture_output=True, text=True, check=False, timeout=60
    )


def _run(*words: str | Path) -> str:
    done = _call(*words)
    if done.returncode:
        raise SystemExit(f"{words[0]} failed: {done.stdout}{done.stderr}; see {HOME}.")
    return done.stdout


def _file(name: str, content: str) -> Path:
    path = HOME / name
    path.write_text(content)
    return path


def _changed(text: str, settings: dict[str, str]) -> str:
    """Return a file of names and values with some of the values changed."""
    for name, value in settings.items():
        text, count = re.subn(rf"^{name}\s.*$", f"{name} {value}", text, flags=re.M)
        assert count == 1, name
    return text


def _up() -> None:
    up()
    print(f"export {' '.join(f'{name}={value}' for name, value in VARIABLES.items())}")


if __name__ == "__main__":
    verbs = {"install": install, "up": _up, "down": down}
    if len(sys.argv) != 2 or sys.argv[1] not in verbs:
        raise SystemExit(f"usage: python -m tests.cluster.gridengine {'|'.join(verbs)}")
    verbs[sys.argv[1]]()
