"""Break runs of the workflow in every way and count how many end in the bytes of a clean one.

``python -m tests.faults --damage 3 --kills 100 --disks 10 --pairs 10 --seed 0`` prints a table; the
configuration is tests/workflow/small.yaml. Full disks are small tmpfs mounts and need root. It
takes hours on a small machine, so ``make test`` runs a few of these faults only (tests/workflow).
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from scoup import store
from tests.workflow.conftest import ROOT
from tests.workflow.test_faults import children
from tests.workflow.test_runs import digests

SMALL = ROOT / "tests" / "workflow" / "small.yaml"
TARGETS = ("results/scorecard.json", "results/plot/accuracy.svg", "results/pages/rank/random/seed0")
MANNERS = ("flip", "cut", "empty")
REFUSAL = "expected one run at a time in a folder"


def call(folder, *targets):
    """Return the call of Snakemake on the small configuration; ``FAULTS_CORES`` is 2 if not set."""
    cores = os.environ.get("FAULTS_CORES", "2")
    return [
        sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"),
        "--directory", str(folder), "--configfile", str(SMALL), "--cores", cores,
        "--workflow-profile", str(ROOT / "workflow" / "profiles" / "default"), *targets,
    ]  # fmt: skip


def start(folder, *targets, cache=None):
    """Start a run in a process group of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    cache = cache or folder.parent / "cache"
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "SCOUP_CACHE": str(cache / "scoup")}
    return subprocess.Popen(
        call(folder, *targets), cwd=ROOT, env=environment, start_new_session=True, text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip


def finish(process):
    """Wait for a run; return its exit code and what it said."""
    said = process.communicate()[1]
    return process.returncode, said


def bytes_of(folder):
    """Return the digests of all results that hold no seconds, pages and scorecard included."""
    results = folder / "results"
    files = [*results.glob("scorecard.*"), *(results / "pages").rglob("*.*")]
    files = [path for path in files if path.is_file() and path.name[0] != "."]
    found = {str(path.relative_to(results)): store.digests(path)[""] for path in files}
    # A killed writer leaves its temporary file, which is hidden and never read.
    whole = {name: sha256 for name, sha256 in digests(folder).items() if "/." not in name}
    return {**whole, **found}


def is_clean(folder, clean, partial=False):
    """Whether all results have the bytes of a clean run; ``partial``: those that are there."""
    found = bytes_of(folder)
    wanted = {name: clean[name] for name in found} if partial else clean
    return found == wanted


def damage(path, manner, rng):
    """Damage a file in place, keeping its time of change: as a failing disk would."""
    content, status = bytearray(path.read_bytes()), path.stat()
    if manner == "flip":
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.chmod(0o644)
    path.write_bytes({"flip": content, "cut": content[: len(content) // 2], "empty": b""}[manner])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def kinds(folder):
    """Return one result file per kind: per stage and ending, and the records of the jobs."""
    results, chosen = folder / "results", {}
    for path in sorted(results.rglob("*")):
        name = path.relative_to(results)
        if name.parts[0] == "logs" and name.parts[:2] != ("logs", "fit"):
            continue  # a damaged record takes its results with it, which are to be damaged, too
        if (
            path.is_file()
            and not path.is_symlink()
            and path.suffix != ".log"
            and path.name[0] != "."
        ):
            chosen.setdefault((name.parts[0], path.suffix), path)
            if name.parts[0] == "logs":
                chosen["logs", path.suffix] = path  # not of the fit that is damaged itself
    return {f"{stage}{'' if '.' in stage else ending}": path
            for (stage, ending), path in chosen.items()}  # fmt: skip


def try_damage(scratch, clean, finished, rng, count):
    """Damage every kind of file, run the same command, compare."""
    outcomes = []
    for manner in (MANNERS * count)[:count]:
        folder = scratch / f"damaged-{manner}"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(finished, folder, symlinks=True)
        files = kinds(folder)
        for path in files.values():
            damage(path, manner, rng)
        code, said = finish(start(folder))
        named = {name: f"{path.relative_to(folder)}: " for name, path in files.items()}
        unnamed = [name for name, words in named.items() if f"scoup: {words}" not in said]
        again = subprocess.run([*call(folder), "--dry-run"], capture_output=True, text=True,
                               cwd=ROOT, check=False)  # fmt: skip
        good = code == 0 and is_clean(folder, clean) and "Nothing to be done" in again.stdout
        print(f"damage {manner}: {len(files)} kinds, unnamed {unnamed}, clean {good}", flush=True)
        if not good:
            print(said[-3000:], again.stdout[-1000:], flush=True)
        outcomes += [good] * len(files)
    return outcomes


def try_kills(scratch, clean, seconds, rng, count):
    """Kill runs at random moments until ``count`` kills; every file left must be a clean one."""
    outcomes, folder, number = [], scratch / "killed", 0
    while len(outcomes) < count:
        process = start(folder, *TARGETS)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=rng.uniform(0.05, 0.6) * seconds)
        if process.poll() is None:
            kind = ("group", "job", "main")[number % 3]
            number += 1
            _kill(process, kind, rng)
            finish(process)
            good = is_clean(folder, clean, partial=True)
            outcomes.append(good)
            print(f"kill {len(outcomes)} ({kind}): clean {good}", flush=True)
            continue
        if process.returncode == 0:
            outcomes[-1:] = [outcomes[-1] and is_clean(folder, clean)] if outcomes else []
            time.sleep(1)
            shutil.rmtree(folder, ignore_errors=True)
    code, _ = finish(start(folder, *TARGETS))
    return [*outcomes[:-1], outcomes[-1] and code == 0 and is_clean(folder, clean)]


def _kill(process, kind, rng):
    if kind == "main":  # its jobs go on, next to those of the next run
        process.kill()
        return
    jobs = children(process.pid)
    if kind == "job" and jobs:
        with suppress(ProcessLookupError):
            os.kill(rng.choice(jobs), signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=300)
            return
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def try_disks(scratch, clean, used, count):
    """Run on disks of growing size, all too small, then on one that is large enough."""
    outcomes = []
    for number in range(count):
        disk = scratch / f"disk{number}"
        disk.mkdir()
        size = used * (number + 1) // (count + 2)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            print("no disks: mounting a tmpfs needs root", flush=True)
            return outcomes
        try:
            code, said = finish(start(disk / "run", *TARGETS, cache=scratch / "cache"))
            whole = is_clean(disk / "run", clean, partial=True)
            subprocess.run(["mount", "-o", "remount,size=500m", str(disk)], check=True)
            second, _ = finish(start(disk / "run", *TARGETS, cache=scratch / "cache"))
            good = whole and second == 0 and is_clean(disk / "run", clean)
            full = "make room" in said or "no space left" in said.lower()
            print(f"disk {size}: ended {code}, said so {full}, clean {good}", flush=True)
            outcomes.append(good and (code == 0 or full))
        finally:
            subprocess.run(["umount", "-l", str(disk)], check=False)
    return outcomes


def try_pairs(scratch, clean, count):
    """Start two runs at once: in one folder, or in two that share a cache."""
    outcomes = []
    for number in range(count):
        shared = number % 2 == 0
        folders = [scratch / f"pair{number}" / name for name in ("a", "a" if shared else "b")]
        runs = [start(folder, *TARGETS, cache=scratch / "cache") for folder in folders]
        ends = [finish(run) for run in runs]
        # In one folder the second run is refused, unless the first one has ended by then.
        words = ["ended well" if code == 0 else "refused" if REFUSAL in said else "failed"
                 for code, said in ends]  # fmt: skip
        expected = {"ended well", "refused"} if shared else {"ended well"}
        as_promised = "ended well" in words and set(words) <= expected
        good = as_promised and all(is_clean(folder, clean) for folder in folders)
        where = "one folder" if shared else "two"
        print(f"pair in {where}: {words}, clean {good}", flush=True)
        if not good:
            print(*(said[-3000:] for _, said in ends), flush=True)
        outcomes.append(good)
    return outcomes


def main():
    parser = argparse.ArgumentParser("python -m tests.faults", description=__doc__)
    for name in ("damage", "kills", "disks", "pairs", "seed"):
        parser.add_argument(f"--{name}", type=int, default=0)
    request = parser.parse_args()
    rng = random.Random(request.seed)
    table = {}
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        finished, part = scratch / "clean", scratch / "part"
        if request.damage:
            assert finish(start(finished))[0] == 0, "a clean run failed"
            whole = bytes_of(finished)
            table["damage"] = try_damage(scratch, whole, finished, rng, request.damage)
        if request.kills or request.disks or request.pairs:
            begun = time.monotonic()
            assert finish(start(part, *TARGETS))[0] == 0, "a clean run failed"
            seconds, clean = time.monotonic() - begun, bytes_of(part)
            print(f"a clean run took {seconds:.0f} s", flush=True)
        if request.kills:
            table["kills"] = try_kills(scratch, clean, seconds, rng, request.kills)
        if request.disks:
            used = sum(path.stat().st_size for path in part.rglob("*") if path.is_file())
            table["disks"] = try_disks(scratch, clean, used, request.disks)
        if request.pairs:
            table["pairs"] = try_pairs(scratch, clean, request.pairs)
    for name, outcomes in table.items():
        print(f"{name}: {sum(outcomes)} of {len(outcomes)} ended in the bytes of a clean run")
    return 0 if all(all(outcomes) for outcomes in table.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
