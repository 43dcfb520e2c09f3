"""The Kubernetes profile requests the right jobs, as recorded by a server on loopback."""

import json
import os
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from tests.workflow.conftest import ROOT, succeeded

# Apart from the other packages, see envs/kubernetes.in.
PLUGINS = Path(sys.prefix) / "kubernetes"
TINY, PROFILE = "workflow/configs/tiny.yaml", "workflow/profiles/kubernetes"
# Snakemake copies its sources to the volume with rsync, which a test machine may not have.
RSYNC = '#!/bin/sh\nwhile [ $# -gt 2 ]; do shift; done\nexec cp -r "$1" "$2"\n'

pytestmark = pytest.mark.skipif(
    not PLUGINS.exists(), reason="needs the executor of Kubernetes: make test installs it"
)


class Api(BaseHTTPRequestHandler):
    """The part of the Kubernetes API that the executor calls; every job is reported as failed."""

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/jobs"):
            self.server.jobs.append(body)
        self.answer(body)

    def do_GET(self):
        self.answer({"items": []} if "/pods" in self.path else {"status": {"failed": 1}})

    def do_DELETE(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer({})

    def answer(self, body):
        content = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def api(tmp_path):
    """A server that records the jobs it receives, and a kubeconfig with its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    server.jobs = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    kubeconfig = {
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "users": [{"name": "test", "user": {}}],
        "clusters": [{"name": "test", "cluster": {"server": address}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    }  # fmt: skip
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
    yield server
    server.shutdown()


@pytest.fixture
def code(tmp_path):
    """A copy of the workflow under git: Snakemake packs tracked files for the pods."""
    root = tmp_path / "code"
    for name in ("scoup", "workflow", "envs"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Snakefile", "config.yaml"):
        shutil.copy(ROOT / name, root / name)
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    return root


def run(tmp_path, *options):
    """Run the tiny configuration with the Kubernetes profile; the volume is a temporary folder."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "rsync").write_text(RSYNC)
    (tmp_path / "bin" / "rsync").chmod(0o755)
    environment = {
        **os.environ, "KUBECONFIG": str(tmp_path / "kubeconfig"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONPATH": str(PLUGINS),
        "PATH": os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]]),
    }  # fmt: skip
    command = [
        sys.executable, "-m", "snakemake", "--configfile", TINY, "--workflow-profile", PROFILE,
        "--default-storage-prefix", str(tmp_path / "volume"),
        "--seconds-between-status-checks", "1", *options,
    ]  # fmt: skip
    return subprocess.run(
        command,
        cwd=tmp_path / "code",
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.mark.usefixtures("code")
def test_dry_run(tmp_path):
    output = succeeded(run(tmp_path, "--dry-run", "--quiet", "rules"))
    assert "fit" in output


def test_specification_of_a_job(api, code, tmp_path):
    process = run(tmp_path, "--retries", "1", "--", "results/preprocess/brainq.npz")
    assert process.returncode != 0, process.stderr  # the server fails every job
    assert api.jobs, process.stderr
    first, retry = api.jobs
    pod = first["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert container["image"] == "scoup:local"
    assert container["resources"]["requests"] == {
        "cpu": "950m",
        "memory": "4000M",
        "ephemeral-storage": "10000M",
    }
    assert container["resources"]["limits"] == {
        "cpu": "1000m",
        "memory": "4000M",
        "ephemeral-storage": "10000M",
    }
    assert {"mountPath": "/data", "name": "scoup"} in container["volumeMounts"]
    claims = [volume.get("persistentVolumeClaim") for volume in pod["volumes"]]
    assert {"claimName": "scoup"} in claims
    assert pod["restartPolicy"] == "Never"
    assert first["spec"]["backoffLimit"] == 0  # Snakemake itself retries, with more memory
    command = container["args"][1]
    assert "--allowed-rules download" in command
    assert "--default-storage-provider 'fs'" in command
    assert str(code) not in command  # pods know no paths of the submitting machine
    assert retry["metadata"]["name"] != first["metadata"]["name"]
