"""Run the targets in forked workers, count inputs and gather what went wrong."""

import json
import mmap
import os
import pkgutil
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from importlib import import_module
from pathlib import Path

from scoup.errors import ScoupError
from tests.fuzz import targets

MEMORY_BYTES = 1 << 30
ALARM_SECONDS = 30
TURN_SECONDS = 10.0
MAX_FINDINGS = 1000


def names():
    """Return the names of all targets."""
    return sorted(module.name for module in pkgutil.iter_modules(targets.__path__))


def load(name):
    """Return a target by its name."""
    return import_module(f"tests.fuzz.targets.{name}")


def scratch_folder():
    """Return a folder in memory, if there is one: a million files are written to it."""
    base = "/dev/shm" if os.path.isdir("/dev/shm") else None
    return tempfile.TemporaryDirectory(prefix="scoup-fuzz-", dir=base)


def generator(seed, name, number):
    """Return the random numbers of one input, which make it again."""
    return random.Random(f"{seed}/{name}/{number}")


def judge(module, material, rng):
    """Try one input: "taken", "refused", or the traceback of what went wrong."""
    try:
        module.attempt(rng, material)
        return "taken"
    except ScoupError as error:
        text = str(error)
        if "\n" in text or not text.endswith("."):
            return f"not one sentence: {text!r}"
        return "refused"
    except MemoryError:
        return "MemoryError\n" + traceback.format_exc()
    except Exception:
        return traceback.format_exc()


def fuzz(seconds, seed, only=(), inputs=float("inf"), say=print):
    """Attack the targets in turn for so long; return counts per target, findings and peak bytes.

    With ``inputs``, each target is done after so many: the same ones whatever the machine.
    """
    counts, findings = {name: Counter() for name in only or names()}, []
    for name in counts:
        load(name)  # once, before processes are forked
    numbers, peak, end = dict.fromkeys(counts, 0), 0, time.monotonic() + seconds
    with scratch_folder() as place:
        while time.monotonic() < end and len(findings) < MAX_FINDINGS:
            todo = [name for name in counts if numbers[name] < inputs]
            if not todo:
                break
            for name in todo:
                count = counts[name]
                turn = min(TURN_SECONDS, max(end - time.monotonic(), 0.5))
                outcome = _turn(name, seed, (numbers[name], inputs), turn, Path(place))
                numbers[name] += outcome["tried"]
                count.update(outcome["counts"])
                findings += outcome["findings"]
                peak = max(peak, outcome["peak"])
        for number, name, text in findings:
            say(f"--- {name} {number}\n{text}")
    return counts, findings, peak


def _turn(name, seed, span, seconds, place):
    """Let a forked worker try inputs of a span; whatever ends it is a finding."""
    progress = mmap.mmap(-1, 8)
    report = place / "report.json"
    report.unlink(missing_ok=True)
    worker = os.fork()
    if not worker:
        _work(name, seed, span, seconds, place, progress, report)
    _, status = os.waitpid(worker, 0)
    if status == 0:
        return json.loads(report.read_text())
    number = struct.unpack("q", progress[:8])[0]
    cause = "a hang" if os.WTERMSIG(status) == signal.SIGPROF else f"an end with status {status}"
    tried = number - span[0] + 1
    return {"tried": tried, "counts": {"refused": tried}, "peak": 0,
            "findings": [(number, name, cause)]}  # fmt: skip


def _work(name, seed, span, seconds, place, progress, report):
    try:
        warnings.simplefilter("ignore")
        os.environ["NUMBA_NUM_THREADS"] = "1"
        folder = place / name
        module = load(name)
        folder.mkdir(exist_ok=True)
        os.chdir(folder)
        material = module.prepare(folder)
        # Threads reserve address space; what is used is measured below.
        resource.setrlimit(resource.RLIMIT_DATA, (3 * MEMORY_BYTES, 3 * MEMORY_BYTES))
        counts, findings, end = Counter(), [], time.monotonic() + seconds
        number, last = span
        while time.monotonic() < end and number < last:
            progress[:8] = struct.pack("q", number)
            signal.setitimer(signal.ITIMER_PROF, ALARM_SECONDS)  # of its own time: others may wait
            outcome = judge(module, material, generator(seed, name, number))
            if outcome in ("taken", "refused"):
                counts[outcome] += 1
            else:
                counts["findings"] += 1
                findings.append((number, name, outcome))
            number += 1
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            if peak > MEMORY_BYTES:
                findings.append((number - 1, name, f"{peak / 1e6:.0f} MB of memory"))
                break
        signal.setitimer(signal.ITIMER_PROF, 0)
        facts = {"tried": number - span[0], "counts": counts, "findings": findings, "peak": peak}
        report.write_text(json.dumps(facts))
        sys.stdout.flush()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(70)
