"""Faults in jobs, of which no product code knows: Python imports this at its start, the folder being on PYTHONPATH.

A fit that starts takes one file from the folder SCOUP_FAULTS, if any is left, and does what its name says.
"""

import os
import signal
import sys
import time


def _claim(folder: str) -> str:
    for name in sorted(os.listdir(folder)):
        try:
            os.rename(
                os.path.join(folder, name), os.path.join(os.path.dirname(folder), f"taken-{name}")
            )
        except FileNotFoundError:
            continue  # another fit was faster
        return name.split("-")[0]
    return ""


if os.environ.get("SCOUP_FAULTS") and any(word.endswith(".fit.py") for word in sys.orig_argv):
    fault = _claim(os.environ["SCOUP_FAULTS"])
    if fault == "die":  # as the kernel does to a job that is out of memory: exit code 137
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep({"hang": 900, "pause": 10}.get(fault, 0))
