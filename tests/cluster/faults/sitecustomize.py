"""Faults in jobs. Product code does not know of them: Python imports this module from PYTHONPATH.

When a job of the stage SCOUP_FAULTY (fit, extract, multiply) starts, it takes a file from the
folder SCOUP_FAULTS, if one is left, and acts out the fault that the file is named after.
"""

import os
import signal
import sys
import time


def _claim_fault(folder: str) -> str:
    parent = os.path.dirname(folder)
    for name in sorted(os.listdir(folder)):
        try:
            os.rename(os.path.join(folder, name), os.path.join(parent, f"triggered-{name}"))
        except FileNotFoundError:
            continue  # another job was faster
        return name.split("-")[0]
    return ""


script = f".{os.environ.get('SCOUP_FAULTY')}.py"
if os.environ.get("SCOUP_FAULTS") and any(word.endswith(script) for word in sys.orig_argv):
    fault = _claim_fault(os.environ["SCOUP_FAULTS"])
    if fault == "die":  # as the kernel kills a job that is out of memory: exit code 137
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep({"hang": 900, "pause": 10}.get(fault, 0))
