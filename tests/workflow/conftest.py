"""How tests run the workflow; each works on a copy of the one tiny run that all share."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
TINY = ROOT / "workflow" / "configs" / "tiny.yaml"


def command(folder, *options, root=ROOT, cores=2):
    """Return the call of Snakemake on the tiny configuration in ``folder``."""
    return [
        sys.executable, "-m", "snakemake", "--snakefile", str(root / "Snakefile"),
        "--directory", str(folder),
        "--configfile", str(root / "workflow" / "configs" / "tiny.yaml"), "--cores", str(cores),
        "--workflow-profile", str(root / "workflow" / "profiles" / "default"), *options,
    ]  # fmt: skip


def snakemake(folder, *options, root=ROOT, cores=2, config=None):
    """Run Snakemake and return the finished process, its output as text."""
    call = command(folder, *options, root=root, cores=cores)
    if config is not None:
        call[call.index("--configfile") + 1] = str(config)
    folder.mkdir(parents=True, exist_ok=True)
    # The source cache is in the home folder by default: runs side by side would share it.
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder.parent / f"{folder.name}-cache")}
    # Python looks for scoup in the working folder first: a copy of the project runs its own.
    return subprocess.run(
        call, cwd=root, capture_output=True, text=True, env=environment, timeout=1200, check=False
    )


def succeeded(done):
    """Return the output of a run that must have ended well."""
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout + done.stderr


@pytest.fixture
def run(finished, tmp_path):
    """A copy of the finished run that a test may change."""
    folder = tmp_path / "run"
    shutil.copytree(finished, folder, symlinks=True)
    return folder


def planned(output):
    """Return ``{rule: [first output of each job]}`` of a dry run."""
    jobs, rule = {}, None
    for line in output.splitlines():
        if line.startswith(("rule ", "localrule ")):
            rule = line.split()[1].rstrip(":")
        elif line.strip().startswith("output: ") and rule:
            jobs.setdefault(rule, []).append(line.split("output: ")[1].split(", ")[0])
    return jobs
