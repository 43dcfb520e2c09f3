"""A remote file comes whole and checked, whatever the network does, or not at all."""

import hashlib
import socket
import subprocess
import sys

import pytest

from scoup import fetch as fetching
from scoup.datasets import RemoteFile
from scoup.errors import ScoupError
from scoup.fetch import UnreachableError, fetch
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


def fine(path):
    assert path.exists()


def remote(server, *roots, sha256=SHA):
    return RemoteFile("a.bin", tuple(f"{root}/a.bin" for root in (*roots, server.root)), sha256)


def good_names(cache):
    return sorted(path.name for path in cache.iterdir() if not path.name.startswith("."))


def test_good_file_comes_once(server, tmp_path):
    record, old = fetch(remote(server), tmp_path, fine)
    assert (tmp_path / "a.bin").read_bytes() == BODY
    assert (record.sha256, record.bytes, record.address, old) == (
        SHA,
        len(BODY),
        f"{server.root}/a.bin",
        False,
    )
    again, old = fetch(remote(server), tmp_path, fine)
    assert old
    assert again == record
    assert server.asked == ["/a.bin"]


def test_truncated_transfer_is_resumed(server, tmp_path):
    server.tricks["/a.bin"] = [("cut", 300_000), ("cut", 700_000)]
    fetch(remote(server), tmp_path, fine)
    assert (tmp_path / "a.bin").read_bytes() == BODY
    assert server.ranges == [None, "bytes=300000-", "bytes=700000-"]


def test_transfer_that_keeps_breaking_is_an_error_and_goes_on_next_time(server, tmp_path):
    server.tricks["/a.bin"] = [("cut", n * 1000) for n in range(1, 5)]
    with pytest.raises(ScoupError, match=r"a.bin: no address gave the file .*broke off 4 times"):
        fetch(remote(server), tmp_path, fine)
    assert good_names(tmp_path) == []
    fetch(remote(server), tmp_path, fine)
    assert server.ranges[-1] == "bytes=4000-"
    assert (tmp_path / "a.bin").read_bytes() == BODY


def test_changed_file_is_not_put_together_from_two_versions(server, tmp_path):
    server.tricks["/a.bin"] = [("cut", 1000), 500]
    with pytest.raises(ScoupError, match="HTTP 500"):
        fetch(remote(server, sha256=""), tmp_path, fine)
    server.files["/a.bin"] = BODY[::-1]
    fetch(remote(server, sha256=""), tmp_path, fine)
    assert (tmp_path / "a.bin").read_bytes() == BODY[::-1]


def test_flipped_bit_names_file_and_both_checksums_and_leaves_nothing(server, tmp_path):
    server.tricks["/a.bin"] = [("flip", 5000)]
    found = hashlib.sha256(BODY[:5000] + bytes([BODY[5000] ^ 1]) + BODY[5001:]).hexdigest()
    with pytest.raises(
        ScoupError, match=rf"a.bin from .*: expected sha256 {SHA}, got sha256 {found}"
    ):
        fetch(remote(server), tmp_path, fine)
    assert good_names(tmp_path) == []
    assert not (tmp_path / ".a.bin.part").exists()


def test_flipped_bit_in_an_old_part_is_healed(server, tmp_path):
    server.tricks["/a.bin"] = [("cut", 4000), 500]
    with pytest.raises(ScoupError, match="HTTP 500"):
        fetch(remote(server), tmp_path, fine)
    (tmp_path / ".a.bin.part").write_bytes(b"?" * 4000)
    fetch(remote(server), tmp_path, fine)
    assert (tmp_path / "a.bin").read_bytes() == BODY


def test_damaged_cache_is_noticed(server, tmp_path):
    fetch(remote(server), tmp_path, fine)
    (tmp_path / "a.bin").write_bytes(b"short")
    with pytest.raises(
        ScoupError, match=rf"a.bin: expected sha256 {SHA}, got .*; delete it and run again"
    ):
        fetch(remote(server), tmp_path, fine)


def test_server_error_then_mirror(server, tmp_path):
    with serve() as mirror:
        mirror.files["/a.bin"] = BODY
        server.tricks["/a.bin"] = [503]
        both = RemoteFile("a.bin", (f"{server.root}/a.bin", f"{mirror.root}/a.bin"), SHA)
        record, _ = fetch(both, tmp_path, fine)
    assert record.address.startswith(mirror.root)


def test_missing_everywhere_is_not_unreachable(server, tmp_path):
    gone = RemoteFile("b.bin", (f"{server.root}/b.bin",), SHA)
    with pytest.raises(ScoupError, match="HTTP 404") as caught:
        fetch(gone, tmp_path, fine)
    assert not isinstance(caught.value, UnreachableError)


def test_dead_hosts_are_asked_once(server, tmp_path, monkeypatch):
    nowhere = f"http://127.0.0.1:{closed_port()}"
    dead, probes = {}, []
    probe = fetching._probe
    monkeypatch.setattr(
        fetching, "_probe", lambda address: probes.append(address) or probe(address)
    )
    for name in ("a", "b", "c"):
        with pytest.raises(
            UnreachableError, match=r"no host could be reached .*Connection refused"
        ):
            fetch(RemoteFile(name, (f"{nowhere}/{name}",), SHA), tmp_path, fine, dead)
    assert len(probes) == 1


def test_unknown_name(tmp_path):
    with pytest.raises(UnreachableError, match="no host could be reached"):
        fetch(RemoteFile("a", ("https://no-such-host.invalid/a",), SHA), tmp_path, fine)


def test_time_out_of_a_server_that_never_answers(server, tmp_path, monkeypatch):
    monkeypatch.setattr(fetching, "TIMEOUT", 0.2)
    server.tricks["/a.bin"] = ["hang"]
    with pytest.raises(UnreachableError, match=r"no answer within 0.2 s"):
        fetch(remote(server), tmp_path, fine)


def test_files_without_checksum_are_checked_and_held_to_the_first(server, tmp_path):
    def refuse(path):
        raise ScoupError.expected(path.name, "another structure", "this")

    with pytest.raises(ScoupError, match="another structure"):
        fetch(remote(server, sha256=""), tmp_path, refuse)
    assert good_names(tmp_path) == []
    record, _ = fetch(remote(server, sha256=""), tmp_path, fine)
    (tmp_path / "a.bin").unlink()
    server.files["/a.bin"] = BODY[::-1]
    with pytest.raises(ScoupError, match=rf"expected sha256 {record.sha256}"):
        fetch(remote(server, sha256=""), tmp_path, fine)


def test_two_processes_fetch_once(server, tmp_path):
    program = (
        "import sys; from pathlib import Path; from scoup.datasets import RemoteFile; from scoup.fetch import fetch\n"
        "print('ready', flush=True); sys.stdin.readline(); address, sha256, folder = sys.argv[1:]\n"
        "print(int(fetch(RemoteFile('a.bin', (address,), sha256), Path(folder), print)[1]))"
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
