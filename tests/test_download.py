"""Where the raw files of a data set come from, and that the choice is recorded."""

import dataclasses
import gzip
import hashlib
import os
import socket
import subprocess
import sys
import warnings

import pytest

from scoup import store
from scoup.datasets import DatasetSpec, RemoteFile, facebook
from scoup.download import obtain
from scoup.errors import ScoupError, ScoupWarning
from scoup.preprocess import preprocess
from scoup.records import Provenance
from tests.loopback import serve


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """No local copies, a separate cache, no proxy."""
    monkeypatch.delenv("SCOUP_DATA", raising=False)
    monkeypatch.setenv("SCOUP_CACHE", str(tmp_path / "cache"))
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1,localhost")


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Files that might have been published: a tiny network."""
    folder = tmp_path_factory.mktemp("published")
    obtain(network("simulate", size="tiny", seed=5), folder)
    return {name: (folder / name).read_bytes() for name in facebook.SOURCE.file_names}


@pytest.fixture
def server():
    with serve() as loopback:
        yield loopback


def network(source="auto", **settings):
    return DatasetSpec(kind="facebook", source=source, **settings)


def publish(monkeypatch, root, files, checked=True):
    """Let the declared files of Facebook have addresses under ``root``."""
    remote = tuple(
        RemoteFile(
            name,
            (f"{root}/{name}",),
            sha256=hashlib.sha256(body).hexdigest() if checked else "",
            reader=reader,
        )
        for (name, body), reader in zip(files.items(), ("read_wall", "read_links"), strict=True)
    )
    monkeypatch.setattr(facebook, "SOURCE", dataclasses.replace(facebook.SOURCE, files=remote))


def nowhere():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_download_then_cache(server, published, monkeypatch, tmp_path):
    publish(monkeypatch, server.root, published)
    server.files = {f"/{name}": body for name, body in published.items()}
    first = obtain(network("download"), tmp_path / "a")
    second = obtain(network(), tmp_path / "b")
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
        made = obtain(network(size="tiny", seed=3), tmp_path / "a")
    assert (made.source, made.mark, made.size, made.seed) == ("simulate", "simulated", "tiny", 3)
    assert "no host could be reached" in made.reason
    found = preprocess("facebook", tmp_path / "a").provenance
    assert found == made


def test_unreachable_with_download_is_a_clear_error_and_non_zero(tmp_path):
    program = (
        "import sys; from scoup.datasets import DatasetSpec, DataSource, RemoteFile, facebook\n"
        "from scoup.download import obtain\n"
        "file = RemoteFile('facebook-wall.txt.gz', (sys.argv[1],), '00')\n"
        "facebook.SOURCE = DataSource('facebook', (file,), '', '', '')\n"
        "obtain(DatasetSpec(kind='facebook', source='download'), sys.argv[2])"
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
        obtain(network(policy), tmp_path / "a")
    assert names(tmp_path / "a") == []


def test_server_error_never_falls_back(server, published, monkeypatch, tmp_path):
    publish(monkeypatch, server.root, published)
    with pytest.raises(ScoupError, match="HTTP 404"):
        obtain(network(), tmp_path / "a")


def test_malformed_file_without_checksum_never_falls_back(server, published, monkeypatch, tmp_path):
    publish(monkeypatch, server.root, published, checked=False)
    server.files = {f"/{name}": gzip.compress(b"1\t2\tmonday\n") for name in published}
    words = r"^facebook-wall.txt.gz from http.*, line 1: expected three whole numbers"
    with pytest.raises(ScoupError, match=words):
        obtain(network(), tmp_path / "a")
    assert not (tmp_path / "cache" / "facebook" / "facebook-wall.txt.gz").exists()


@pytest.mark.parametrize("subfolder", ["", "facebook"])
@pytest.mark.parametrize("named_by", ["source", "environment"])
def test_local_files_are_copied_and_never_changed(
    published, monkeypatch, tmp_path, subfolder, named_by
):
    publish(monkeypatch, nowhere(), published)
    folder = tmp_path / "mine" / subfolder
    folder.mkdir(parents=True)
    for name, body in published.items():
        (folder / name).write_bytes(body)
    if named_by == "environment":
        monkeypatch.setenv("SCOUP_DATA", str(tmp_path / "mine"))
    source = f"local:{tmp_path / 'mine'}" if named_by == "source" else "auto"
    provenance = obtain(network(source), tmp_path / "a")
    assert provenance.source == "local"
    assert provenance.files[0].address == str(folder / "facebook-wall.txt.gz")
    with open(tmp_path / "a" / "facebook-wall.txt.gz", "ab") as file:
        file.write(b"more")
    assert (folder / "facebook-wall.txt.gz").read_bytes() == published["facebook-wall.txt.gz"]


def test_local_errors(published, monkeypatch, tmp_path):
    publish(monkeypatch, nowhere(), published)
    words = r"facebook-wall.txt.gz: expected the file in a folder named by local:FOLDER or"
    with pytest.raises(ScoupError, match=words):
        obtain(network("local"), tmp_path / "a")
    with pytest.raises(ScoupError, match=r"facebook-wall.txt.gz: expected the file in .*mine"):
        obtain(network(f"local:{tmp_path / 'mine'}"), tmp_path / "a")
    (tmp_path / "facebook-wall.txt.gz").write_bytes(b"other")
    words = r"facebook-wall.txt.gz: expected sha256 .*; replace it with the published file"
    with pytest.raises(ScoupError, match=words):
        obtain(network(f"local:{tmp_path}"), tmp_path / "a")


def test_excerpts_are_never_simulated(tmp_path):
    with pytest.raises(ScoupError, match=r"expected a local copy .*local:FOLDER or SCOUP_DATA"):
        obtain(DatasetSpec(kind="facebook_excerpt"), tmp_path / "a")
    with pytest.raises(ScoupError, match=r"kind: expected one that can be simulated"):
        obtain(DatasetSpec(kind="facebook_excerpt", source="simulate"), tmp_path / "a")


def test_random_data_is_always_simulated(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert obtain(DatasetSpec(kind="random", size="tiny"), tmp_path / "a").simulated


def test_simulated_twice_is_the_same_record(tmp_path):
    spec = network("simulate", size="tiny", seed=1)
    assert obtain(spec, tmp_path / "a") == obtain(spec, tmp_path / "b")


def test_user_supplied_files_are_recorded_where_they_are(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    spec = DatasetSpec(kind="files", options={"tensor": "posts.csv"})
    with pytest.raises(ScoupError, match=r"posts.csv: expected a file, got no such file"):
        obtain(spec, tmp_path / "a")
    (tmp_path / "posts.csv").write_text("wall,poster,day\n1,2,1\n")
    provenance = obtain(spec, tmp_path / "a")
    assert provenance.source == "local"
    assert [file.address for file in provenance.files] == ["posts.csv"]
    assert names(tmp_path / "a") == ["provenance.json"]
