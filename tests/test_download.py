"""Which source a data set comes from, and that the choice is written down."""

import dataclasses
import hashlib
import os
import socket
import subprocess
import sys
import warnings

import pytest

from scoup import datasets, store
from scoup.datasets import RemoteFile
from scoup.download import obtain
from scoup.errors import ScoupError, ScoupWarning
from scoup.preprocess import preprocess
from scoup.records import Provenance
from tests.loopback import serve


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """No user's folder, a cache of its own, no proxy."""
    monkeypatch.delenv("SCOUP_DATA", raising=False)
    monkeypatch.setenv("SCOUP_CACHE", str(tmp_path / "cache"))
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1,localhost")


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """What the keepers of Facebook might have published: a tiny network."""
    folder = tmp_path_factory.mktemp("published")
    obtain("facebook", "simulate", folder, "tiny", 5)
    return {name: (folder / name).read_bytes() for name in datasets.get("facebook").file_names}


@pytest.fixture
def server():
    with serve() as loopback:
        yield loopback


def publish(monkeypatch, root, files, checked=True):
    """Point the table of data sets at ``root``."""
    source = datasets.get("facebook")
    remote = tuple(
        RemoteFile(
            name, (f"{root}/{name}",), hashlib.sha256(body).hexdigest() if checked else "", 0, kind
        )
        for (name, body), kind in zip(files.items(), ("wall", "links"), strict=True)
    )
    monkeypatch.setitem(datasets.DATASETS, "facebook", dataclasses.replace(source, files=remote))


def nowhere():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_download_then_cache(server, published, monkeypatch, tmp_path):
    publish(monkeypatch, server.root, published)
    server.files = {f"/{name}": body for name, body in published.items()}
    first = obtain("facebook", "download", tmp_path / "a")
    second = obtain("facebook", "auto", tmp_path / "b")
    assert (first.source, second.source) == ("download", "cache")
    assert first.mark == second.mark == "real"
    assert first.files == second.files
    assert first.files[0].address == f"{server.root}/facebook-wall.txt.gz"
    assert len(server.asked) == 2
    for name, body in published.items():
        assert (tmp_path / "b" / name).read_bytes() == body
    assert Provenance(**store.read_json(tmp_path / "b" / "provenance.json")) == second
    assert preprocess("facebook", tmp_path / "b").provenance == second


def test_unreachable_with_auto_falls_back_and_says_so(published, monkeypatch, tmp_path):
    publish(monkeypatch, nowhere(), published)
    with pytest.warns(
        ScoupWarning, match=r"facebook: simulated data is used, since facebook-wall.txt.gz: no host"
    ):
        made = obtain("facebook", "auto", tmp_path / "a", "tiny", 3)
    assert (made.source, made.mark, made.size, made.seed) == ("simulate", "simulated", "tiny", 3)
    assert "no host could be reached" in made.reason
    found = preprocess("facebook", tmp_path / "a").provenance
    assert found == made


def test_unreachable_with_download_is_a_clear_error_and_non_zero(tmp_path):
    program = (
        "import sys; from scoup import datasets, download\n"
        "file = datasets.RemoteFile('facebook-wall.txt.gz', (sys.argv[1],), '00')\n"
        "datasets.DATASETS['facebook'] = datasets.DataSource('facebook', 'facebook', (file,), '', '', '')\n"
        "download.obtain('facebook', 'download', sys.argv[2])"
    )
    run = [sys.executable, "-c", program, f"{nowhere()}/x", str(tmp_path / "a")]
    done = subprocess.run(run, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert done.returncode != 0
    assert "facebook-wall.txt.gz: no host could be reached" in done.stderr.splitlines()[-1]
    assert names(tmp_path / "a") == []


@pytest.mark.parametrize("policy", ["auto", "download"])
def test_wrong_checksum_never_falls_back(server, published, monkeypatch, tmp_path, policy):
    publish(monkeypatch, server.root, published)
    server.files = {f"/{name}": body for name, body in published.items()}
    server.tricks["/facebook-links.txt.gz"] = [("flip", 100)]
    with pytest.raises(
        ScoupError, match=r"facebook-links.txt.gz from .*: expected sha256 .*, got sha256"
    ):
        obtain("facebook", policy, tmp_path / "a")
    assert names(tmp_path / "a") == []


def test_server_error_never_falls_back(server, published, monkeypatch, tmp_path):
    publish(monkeypatch, server.root, published)
    with pytest.raises(ScoupError, match="HTTP 404"):
        obtain("facebook", "auto", tmp_path / "a")


def test_malformed_file_without_checksum_never_falls_back(server, published, monkeypatch, tmp_path):
    publish(monkeypatch, server.root, published, checked=False)
    server.files = {f"/{name}": b"1\t2\tmonday\n" for name in published}
    with pytest.raises(ScoupError, match=r"line 1: expected three whole numbers"):
        obtain("facebook", "auto", tmp_path / "a")
    assert not (tmp_path / "cache" / "facebook" / "facebook-wall.txt.gz").exists()


@pytest.mark.parametrize("place", ["", "facebook"])
@pytest.mark.parametrize("how", ["argument", "policy", "environment"])
def test_local_files_are_taken_and_left_alone(published, monkeypatch, tmp_path, place, how):
    publish(monkeypatch, nowhere(), published)
    mine = tmp_path / "mine" / place
    mine.mkdir(parents=True)
    for name, body in published.items():
        (mine / name).write_bytes(body)
    if how == "environment":
        monkeypatch.setenv("SCOUP_DATA", str(tmp_path / "mine"))
    policy = f"local:{tmp_path / 'mine'}" if how == "policy" else "auto"
    local = tmp_path / "mine" if how == "argument" else None
    made = obtain("facebook", policy, tmp_path / "a", local=local)
    assert made.source == "local"
    assert made.files[0].address == str(mine / "facebook-wall.txt.gz")
    with open(tmp_path / "a" / "facebook-wall.txt.gz", "ab") as file:
        file.write(b"more")
    assert (mine / "facebook-wall.txt.gz").read_bytes() == published["facebook-wall.txt.gz"]


def test_local_errors(published, monkeypatch, tmp_path):
    publish(monkeypatch, nowhere(), published)
    with pytest.raises(
        ScoupError,
        match=r"facebook-wall.txt.gz: expected the file in a folder given by local:FOLDER or",
    ):
        obtain("facebook", "local", tmp_path / "a")
    with pytest.raises(ScoupError, match=r"facebook-wall.txt.gz: expected the file in .*mine"):
        obtain("facebook", f"local:{tmp_path / 'mine'}", tmp_path / "a")
    (tmp_path / "facebook-wall.txt.gz").write_bytes(b"other")
    with pytest.raises(
        ScoupError,
        match=r"facebook-wall.txt.gz: expected sha256 .*; replace it by the published file",
    ):
        obtain("facebook", "auto", tmp_path / "a", local=tmp_path)


def test_excerpts_are_never_simulated(tmp_path):
    with pytest.raises(ScoupError, match=r"expected your own copy .*local:FOLDER or SCOUP_DATA"):
        obtain("facebook_excerpt", "auto", tmp_path / "a")
    with pytest.raises(ScoupError, match=r"dataset: expected one that can be simulated"):
        obtain("facebook_excerpt", "simulate", tmp_path / "a")


def test_random_data_is_always_simulated(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert obtain("random", "auto", tmp_path / "a", "tiny").simulated


def test_simulated_twice_is_the_same_record(tmp_path):
    assert obtain("facebook", "simulate", tmp_path / "a", "tiny", 1) == obtain(
        "facebook", "simulate", tmp_path / "b", "tiny", 1
    )


@pytest.mark.parametrize(
    ("name", "policy"), [("facebook", "guess"), ("facebook", "download:x"), ("fakebook", "auto")]
)
def test_wrong_words(tmp_path, name, policy):
    with pytest.raises(
        ScoupError, match=r"(source: expected one of auto, local|dataset: expected one of brainq)"
    ):
        obtain(name, policy, tmp_path / "a")
