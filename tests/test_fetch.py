"""A remote file arrives whole and checked, whatever the network does, or not at all."""

import hashlib
import socket
import subprocess
import sys

import pytest

from scoup import _fetch
from scoup._fetch import UnreachableError
from scoup.datasets import RemoteFile
from scoup.errors import ScoupError
from tests.loopback import serve

BODY = bytes(range(256)) * 4000
SHA = hashlib.sha256(BODY).hexdigest()


@pytest.fixture(autouse=True)
def direct(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def server():
    with serve() as loopback:
        loopback.files["/a.bin"] = BODY
        yield loopback


def closed_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def remote(server, sha256=SHA):
    return RemoteFile("a.bin", (f"{server.root}/a.bin",), sha256)


def fetch(remote, cache, check=None, dead_hosts=None):
    return _fetch.fetch(remote, cache, check, {} if dead_hosts is None else dead_hosts)


def is_empty(cache):
    return {path.suffix for path in cache.iterdir()} <= {".lock"}


def test_good_file_comes_once(server, tmp_path):
    record, old = fetch(remote(server), tmp_path)
    assert (tmp_path / "a.bin").read_bytes() == BODY
    assert (record.sha256, record.bytes, record.address, old) == (
        SHA,
        len(BODY),
        f"{server.root}/a.bin",
        False,
    )
    again, old = fetch(remote(server), tmp_path)
    assert old
    assert again == record
    assert server.asked == ["/a.bin"]


def test_transfer_that_breaks_off_once_is_repeated(server, tmp_path):
    server.tricks["/a.bin"] = [("cut", 300_000)]
    fetch(remote(server), tmp_path)
    assert (tmp_path / "a.bin").read_bytes() == BODY
    assert len(server.asked) == 2


@pytest.mark.parametrize("size", [0, 1000])
def test_transfer_that_keeps_breaking_off_is_an_error_and_leaves_nothing(server, tmp_path, size):
    server.tricks["/a.bin"] = [("cut", size)] * 2
    with pytest.raises(
        ScoupError, match=r"a.bin: no address gave the file .*; try again"
    ) as caught:
        fetch(remote(server), tmp_path)
    assert not isinstance(caught.value, UnreachableError)
    assert is_empty(tmp_path)


def test_flipped_bit_names_file_and_both_checksums_and_leaves_nothing(server, tmp_path):
    server.tricks["/a.bin"] = [("flip", 5000)]
    found = hashlib.sha256(BODY[:5000] + bytes([BODY[5000] ^ 1]) + BODY[5001:]).hexdigest()
    with pytest.raises(
        ScoupError, match=rf"a.bin from .*: expected sha256 {SHA}, got sha256 {found}"
    ):
        fetch(remote(server), tmp_path)
    assert is_empty(tmp_path)


@pytest.mark.parametrize("sha256", [SHA, ""])
@pytest.mark.parametrize("damaged", ["a.bin", "a.bin.json"])
def test_damaged_cache_is_repaired(server, tmp_path, damaged, sha256):
    first, _ = fetch(remote(server, sha256), tmp_path)
    for content in (b"", (tmp_path / damaged).read_bytes()[:-2], b'{"name": 1}', b"[]"):
        (tmp_path / damaged).write_bytes(content)
        record, cached = fetch(remote(server, sha256), tmp_path)
        assert (record.sha256, record.bytes, cached) == (SHA, first.bytes, False)
        assert (tmp_path / "a.bin").read_bytes() == BODY
        assert fetch(remote(server, sha256), tmp_path)[1]


def test_damaged_cache_without_network_is_no_reason_to_simulate(server, tmp_path):
    fetch(remote(server), tmp_path)
    (tmp_path / "a.bin").write_bytes(b"short")
    nowhere = RemoteFile("a.bin", (f"http://127.0.0.1:{closed_port()}/a.bin",), SHA)
    with pytest.raises(ScoupError, match=r"a.bin: it is damaged, and .*no host") as caught:
        fetch(nowhere, tmp_path)
    assert not isinstance(caught.value, UnreachableError)


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Length": "abc"},
        {"Content-Length": "-5"},
        {"Location": "http://[bad"},
        {"Location": "http://"},
        {"Location": "ftp://example.org/a"},
        {"Location": "\x00"},
        {"Transfer-Encoding": "chunked"},
        {"Content-Encoding": "gzip"},
    ],
    ids=str,
)
def test_malformed_answers_are_one_sentence_and_leave_nothing(server, tmp_path, headers):
    server.tricks["/a.bin"] = [headers] * 2
    try:
        record, _ = fetch(remote(server), tmp_path)
    except ScoupError as error:
        sentence, record = str(error), None
    assert record.sha256 == SHA if record else "\n" not in sentence and is_empty(tmp_path)


def test_server_error_then_mirror(server, tmp_path):
    with serve() as mirror:
        mirror.files["/a.bin"] = BODY
        server.tricks["/a.bin"] = [503]
        both = RemoteFile("a.bin", (f"{server.root}/a.bin", f"{mirror.root}/a.bin"), SHA)
        record, _ = fetch(both, tmp_path)
    assert record.address.startswith(mirror.root)


def test_missing_everywhere_is_not_unreachable(server, tmp_path):
    gone = RemoteFile("b.bin", (f"{server.root}/b.bin",), SHA)
    with pytest.raises(ScoupError, match="HTTP 404") as caught:
        fetch(gone, tmp_path)
    assert not isinstance(caught.value, UnreachableError)


def test_refused_connection(tmp_path):
    nowhere = f"http://127.0.0.1:{closed_port()}"
    with pytest.raises(
        UnreachableError, match=r"no host could be reached .*: Connection refused\)"
    ):
        fetch(RemoteFile("a", (f"{nowhere}/a",), SHA), tmp_path)


def test_hosts_that_do_not_answer_are_asked_once(server, tmp_path, monkeypatch):
    monkeypatch.setattr(_fetch, "TIMEOUT_SECONDS", 0.2)
    dead_hosts = {}
    for name in ("a", "b", "c"):
        server.tricks[f"/{name}"] = ["hang"] * 2
        with pytest.raises(UnreachableError, match=r"no host .*: no answer within 0.2 s\)"):
            fetch(RemoteFile(name, (f"{server.root}/{name}",), SHA), tmp_path, None, dead_hosts)
    assert server.asked == ["/a"]


def test_unknown_host(tmp_path):
    with pytest.raises(UnreachableError, match="no host could be reached"):
        fetch(RemoteFile("a", ("https://no-such-host.invalid/a",), SHA), tmp_path)


def test_files_without_checksum_are_checked_and_held_to_the_first(server, tmp_path):
    def refuse(path):
        raise ScoupError.expected(path.name, "another structure", "this")

    with pytest.raises(ScoupError, match="another structure"):
        fetch(remote(server, sha256=""), tmp_path, refuse)
    assert is_empty(tmp_path)
    record, _ = fetch(remote(server, sha256=""), tmp_path)
    (tmp_path / "a.bin").unlink()
    server.files["/a.bin"] = BODY[::-1]
    with pytest.raises(ScoupError, match=rf"expected sha256 {record.sha256}"):
        fetch(remote(server, sha256=""), tmp_path)


def test_two_processes_fetch_once(server, tmp_path):
    program = (
        "import sys; from pathlib import Path\n"
        "from scoup._fetch import fetch; from scoup.datasets import RemoteFile\n"
        "print('ready', flush=True); sys.stdin.readline(); address, sha256, folder = sys.argv[1:]\n"
        "print(int(fetch(RemoteFile('a.bin', (address,), sha256), Path(folder), None, {})[1]))"
    )
    run = [sys.executable, "-c", program, f"{server.root}/a.bin", SHA, str(tmp_path)]
    two = [
        subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in two:
        assert process.stdout.readline() == "ready\n"
    for process in two:
        process.stdin.write("go\n")
        process.stdin.flush()
    had = sorted(int(process.communicate(timeout=60)[0]) for process in two)
    assert [process.returncode for process in two] == [0, 0]
    assert had == [0, 1]
    assert server.asked == ["/a.bin"]
    assert (tmp_path / "a.bin").read_bytes() == BODY
