"""A fork of the server runs a script as a Python would, and outlives neither client nor server."""

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scoup.forkserver import ForkServer, is_wanted
from scoup.forkserver import serve as server_module

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fork server needs Linux")


@pytest.fixture(scope="module")
def server():
    server = ForkServer(["numpy"], later=["scoup.machine"])
    yield server
    assert server.stop() > 0
    assert not Path(server.address).parent.exists()


@pytest.fixture
def script(tmp_path):
    """A function that writes a script and returns the words of its call, without the client."""

    def write(text):
        path = tmp_path / "a script.py"
        path.write_text(text)
        return [sys.executable, str(path)]

    return write


def by_client(server, words):
    return [*shlex.split(server.client), *words]


def run(words, **options):
    return subprocess.run(words, capture_output=True, text=True, check=False, **options)


def started(words, folder):
    """Start a script that writes its process id to the file ``pid``; return both processes."""
    process, path = subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE), folder / "pid"
    until(lambda: path.exists() and path.read_text())
    return process, int(path.read_text())


def until(condition, seconds=30.0):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "waited in vain"
        time.sleep(0.01)


def is_running(pid):
    """Whether a process runs; one that has ended but was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


SLEEPING = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(60)"


@pytest.mark.parametrize(
    "text",
    [
        "import os, sys; print(sys.argv, os.getcwd(), os.environ['HERE'], sys.stdin.read())",
        "import sys; print(__name__, __file__, sys.path[0], sys.modules['__main__'].__file__)",
        "import sys; sys.stderr.write('no'); sys.exit(7)",
        "raise SystemExit('a sentence')",
        "import atexit; atexit.register(print, 'last')",
        "import threading; threading.Timer(0.1, print, ['late']).start()",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        "import signal; print([signal.getsignal(n) for n in (signal.SIGINT, signal.SIGCHLD)])",
        "import os, tempfile; print(tempfile.gettempdir(), len(os.environ['HERE']))",
    ],
)
def test_a_fork_does_what_a_python_does(server, script, tmp_path, text):
    words = script(text)
    # A request that is longer than the buffer of a socket.
    environment = {f"HERE{number}": "ä" * 50_000 for number in range(8)}
    environment |= {**os.environ, "HERE": "ä", "TMPDIR": str(tmp_path)}
    options = {"cwd": tmp_path, "env": environment, "input": "what comes in"}
    fork, python = run(by_client(server, words), **options), run(words, **options)
    assert (fork.returncode, fork.stdout, fork.stderr) == (
        python.returncode, python.stdout, python.stderr,
    )  # fmt: skip


def test_a_fork_has_the_modules_of_the_server_and_its_own_seconds(server, script):
    text = (
        "import os, sys, time; assert 'numpy' in sys.modules; assert time.process_time() < 0.2;"
        "print(os.getppid(), os.environ['SCOUP_CLIENT_SECONDS'])"
    )
    parent, seconds = run(by_client(server, script(text))).stdout.split()
    assert int(parent) == server.pid
    assert 0.001 < float(seconds) < 1


def test_a_fork_has_the_threads_of_its_job(server, script):
    text = (
        "from threadpoolctl import threadpool_info; from scoup.machine import threads\n"
        "with threads(2): print([pool['num_threads'] for pool in threadpool_info()])"
    )
    assert run(by_client(server, script(text))).stdout == "[2]\n"


def test_the_fork_of_a_killed_client_is_killed(server, script, tmp_path):
    client, fork = started(by_client(server, script(SLEEPING)), tmp_path)
    client.kill()
    until(lambda: not is_running(fork))
    assert client.wait() == -signal.SIGKILL


def test_an_interrupt_of_the_group_reaches_the_fork(server, script, tmp_path):
    text = f"try: exec({SLEEPING!r})\nexcept KeyboardInterrupt: open('tidy', 'w').close(); raise"
    # Tests that run in the background may have been told to ignore Ctrl-C.
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        client, fork = started(by_client(server, script(text)), tmp_path)
    finally:
        signal.signal(signal.SIGINT, inherited)
    for pid in (client.pid, fork, server.pid):
        os.kill(pid, signal.SIGINT)
    assert client.wait(30) == -signal.SIGINT
    assert (tmp_path / "tidy").exists()
    assert is_running(server.pid)


def test_forks_of_a_killed_server_are_killed_and_the_next_job_is_a_python(script, tmp_path):
    server = ForkServer(["sys"])
    client, fork = started(by_client(server, script(SLEEPING)), tmp_path)
    os.kill(server.pid, signal.SIGKILL)
    assert b"the fork server was killed" in client.communicate(timeout=30)[1]
    assert client.returncode == 1
    until(lambda: not is_running(fork))
    done = run(
        by_client(server, script("import os; print(os.environ.get('SCOUP_CLIENT_SECONDS'))"))
    )
    assert (done.returncode, done.stdout) == (0, "None\n")
    assert server.stop() == 0


def test_nothing_is_left_of_a_killed_starter(script, tmp_path):
    text = (
        "import sys, time; from scoup.forkserver import ForkServer; server = ForkServer(['sys']);"
        "print(server.pid, server.client, flush=True); time.sleep(60)"
    )
    starter = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
    pid, client = starter.stdout.readline().split(maxsplit=1)
    process, fork = started([*shlex.split(client), *script(SLEEPING)], tmp_path)
    starter.kill()
    until(lambda: not is_running(fork) and not is_running(pid))
    assert process.wait(30)
    assert not Path(shlex.split(client)[-1]).parent.exists()


@pytest.mark.parametrize("later", [False, True])
def test_a_thread_in_the_server_ends_forks_but_no_job(script, tmp_path, capfd, later):
    names = ["no_such_module", "time", "tests.test_forkserver:start_thread"]
    server = ForkServer(names[:2], names[2:]) if later else ForkServer(names)
    assert run(by_client(server, script("print('one')"))).stdout == "one\n"
    assert run(by_client(server, script("print('two')"))).stdout == "two\n"
    server.stop()
    assert "started a thread" in capfd.readouterr().err


def start_thread():
    import threading

    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()


def test_only_scripts_of_the_same_python_are_forks(server):
    words = ["/bin/sh", "-c", "echo $PPID"]
    assert int(run(by_client(server, words)).stdout) == os.getpid()


def test_another_user_gets_no_fork(monkeypatch):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert server_module._is_own_user(ours)
        monkeypatch.setattr(os, "getuid", lambda: 12345)
        assert not server_module._is_own_user(ours)


def test_the_socket_is_private(server):
    assert Path(server.address).parent.stat().st_mode & 0o777 == 0o700


def test_forks_can_be_turned_off():
    assert is_wanted({})
    assert not is_wanted({"SCOUP_FORK": "0"})
