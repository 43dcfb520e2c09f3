"""Jobs that are forks and jobs that are not give the same bytes."""

import sys

import pytest

from scoup.job import read_facts, record_of
from tests.workflow.conftest import snakemake, succeeded

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the fork server needs Linux"),
]
FILES = [
    "results/fit/brainq/whole/scoup/seed0/rep0.npz",
    "results/fit/facebook/whole/walls_coupled/seed0/rep0.npz",
]


def test_a_fork_and_a_python_write_the_same_bytes(run, monkeypatch):
    before = {
        file: ((run / file).read_bytes(), read_facts(run / record_of(file))) for file in FILES
    }
    for file in FILES:
        (run / file).unlink()
    monkeypatch.setenv("SCOUP_FORK", "0")
    succeeded(snakemake(run, *FILES))
    for file, (content, facts) in before.items():
        again = read_facts(run / record_of(file))
        assert (run / file).read_bytes() == content
        assert again["started"] > facts["ended"]
        # A fork has imported nothing itself.
        assert 0 < facts["startup"] < again["startup"] / 3
