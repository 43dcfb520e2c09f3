"""The fork server: jobs of one machine that start in milliseconds.

A job is a Python process, and importing numpy, scipy, numba and scoup takes longer than most jobs
work. The fork server is one process that has imported them. Snakemake starts :mod:`.client` in
place of a Python; the client asks the server for a copy of itself (a fork), which has the
client's arguments, folder, environment and standard streams, and runs the job's script as a Python
would. A fork shares the imported modules and nothing else with other jobs.

Where there is no server, or no answer, the client becomes the ordinary Python: same bytes, later.
``multiprocessing`` has a fork server too, but only for children of the process that started it.
"""

import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

CLIENT = Path(__file__).with_name("client.py")
# Threads do not survive a fork. The BLAS of a job gets as many as its rule has, after the fork;
# the last is of pandas' pyarrow, whose allocator would clean up in the background.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}


def is_wanted(environment: Mapping[str, str]) -> bool:
    """Whether jobs should be forks: on Linux, unless ``SCOUP_FORK`` is 0.

    On Linux a fork ends with the server, and the peer of a socket is known.
    """
    return sys.platform == "linux" and environment.get("SCOUP_FORK") != "0"


class ForkServer:
    """A running server, as seen by the process that started it; it ends when that process does."""

    def __init__(self, first: Sequence[str], later: Sequence[str] = ()) -> None:
        """Start a server that imports modules: the ``first`` before any fork, others ``later``."""
        self._folder = TemporaryDirectory(prefix="scoup-")  # mode 700
        self.address = str(Path(self._folder.name, "socket"))
        # Bound here, so that a client that comes before the modules are imported waits.
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.address)
            listener.listen(socket.SOMAXCONN)
            number, names = listener.fileno(), (",".join(first), ",".join(later))
            # -P: modules are found as an ordinary job finds them, not in the working folder.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "scoup.forkserver.serve", str(number), *names],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=(number,),
                env={**os.environ, **ONE_THREAD},
            )

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return self._process.pid

    @property
    def client(self) -> str:
        """The words of a shell command that, put before a Python and a script, run it in a fork."""
        return shlex.join([sys.executable, "-I", "-S", str(CLIENT), self.address])

    def stop(self) -> float:
        """End the server and the forks that still run; return its own processor seconds."""
        answer, _ = self._process.communicate()
        self._folder.cleanup()
        return float((answer.split() or [b"0"])[-1])
