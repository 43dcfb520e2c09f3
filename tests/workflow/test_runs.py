"""A second run does nothing, a change reruns what depends on it, cores change no byte."""

import hashlib
import json
import shutil
from pathlib import Path

import jsonschema
import numpy as np

from scoup import results
from scoup.evidence.files import read_metrics
from scoup.job import read_facts
from tests.workflow.conftest import ROOT, planned, snakemake, succeeded

MISSING = ["results/experiments/missing/portion/seed0.json"]
TIMES = {"seconds", "slowdown"}  # measures that no two runs share
# Stages that read the results of many runs.
GATHERING = {"plot", "scorecard", "track", "report", "pages"}
REPEATED = (
    "download",
    "preprocess",
    "holdout",
    "sample",
    "extract",
    "fit",
    "merge",
    "parts",
    "experiments",
    "plot",
)


def digests(folder):
    """Return ``{path: sha256}`` of the results that must be the same bytes: no seconds in them."""
    found = {}
    for path in sorted((folder / "results").rglob("*")):
        name = path.relative_to(folder / "results")
        timed = "speedup" in str(name) or (name.parts[0] == "plot" and name.stem == "missing")
        if path.is_dir() or name.parts[0] not in REPEATED or timed:
            continue
        content = path.read_bytes()
        if path.suffix == ".json" and name.parts[0] == "experiments":
            content = json.dumps(
                [m for m in json.loads(content)["metrics"] if m["name"] not in TIMES]
            ).encode()
        found[str(name)] = hashlib.sha256(content).hexdigest()
    return found


def test_every_metrics_file_follows_the_schema(finished):
    schema = json.loads((ROOT / "workflow" / "schemas" / "metrics.schema.json").read_text())
    files = list((finished / "results" / "experiments").rglob("*.json"))
    assert files
    for path in files:
        jsonschema.validate(json.loads(path.read_text()), schema)


def test_simulated_data_is_called_simulated_in_every_metric(finished):
    for path in (finished / "results" / "experiments").rglob("*.json"):
        assert {metric.provenance for metric in read_metrics(path)} == {"simulated"}


def test_every_job_leaves_log_and_facts(finished):
    def names(ending):
        root = finished / "results" / "logs"
        return {path.relative_to(root).with_suffix("") for path in root.rglob(f"*.{ending}")}

    assert names("json") == {*names("log"), Path("scheduling")}
    for name in names("log"):
        facts = read_facts((finished / "results" / "logs" / name).with_suffix(".json"))
        assert 0 < facts["startup"] < facts["processor"]
        assert facts["memory_mb"] > 10


def test_a_second_run_does_nothing(finished):
    assert "Nothing to be done" in succeeded(snakemake(finished, "--dry-run", cores=4))


def test_a_changed_sample_reruns_only_what_depends_on_it(run):
    path = run / "results" / "sample" / "brainq" / "whole" / "scoup" / "seed0.npz"
    results.write_samples(path, _other(results.read_samples(path)))
    jobs = planned(succeeded(snakemake(run, "--dry-run")))
    # speedup names the same plan, and reads its model too
    assert sorted(jobs["experiments"]) == [
        f"results/experiments/{name}/brainq/seed0.json" for name in ("accuracy", "speedup")
    ]
    assert len(jobs["fit"]) == 3
    for rule in set(jobs) - GATHERING:
        assert all(
            "brainq/whole/scoup/seed0" in output or "brainq/seed0" in output
            for output in jobs[rule]
        )
    figures = {output.rsplit("/", 1)[1].split(".")[0] for output in jobs["plot"]}
    assert figures == {"accuracy", "pinv", "speedup"}


def _other(samples):
    """The same samples with the last index of the longest mode left out of the first repetition."""
    first = samples[0]
    keep = [
        np.union1d(index[:-1], common)
        for index, common in zip(first.indices, first.common, strict=True)
    ]
    return [results.Sample(0, tuple(keep), first.common), *samples[1:]]


def test_a_changed_module_reruns_its_stages(run, tmp_path):
    root, target = tmp_path / "code", "results/scorecard.json"
    for name in ("scoup", "workflow", "envs"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Snakefile", "config.yaml"):
        shutil.copy(ROOT / name, root / name)
    with (root / "config.yaml").open("a") as file:
        file.write("\n# a comment\n")
    assert "Nothing to be done" in succeeded(snakemake(run, target, "--dry-run", root=root))
    with (root / "scoup" / "merges" / "joint.py").open("a") as file:
        file.write("\nADDED = 1\n")
    jobs = planned(succeeded(snakemake(run, target, "--dry-run", root=root)))
    assert {"merge", "experiments"} <= set(jobs)
    assert not {"download", "preprocess", "holdout", "sample", "fit"} & set(jobs)


def test_the_number_of_cores_changes_no_byte(finished, tmp_path):
    targets = ["results/experiments/accuracy/brainq/seed0.json", *MISSING]
    succeeded(snakemake(tmp_path / "run", *targets, cores=4))
    mine, theirs = digests(tmp_path / "run"), digests(finished)
    assert {path.removeprefix("results/") for path in MISSING} < set(mine)
    assert mine == {name: theirs[name] for name in mine}


def test_deleted_results_come_back_to_the_byte(finished, run):
    for name in ("fit/brainq/whole/scoup", "merge/brainq", "experiments/accuracy", "plot"):
        shutil.rmtree(run / "results" / name)
    target = "results/experiments/accuracy/brainq/seed0.json"
    succeeded(snakemake(run, target, cores=1))
    mine, theirs = digests(run), digests(finished)
    assert target.removeprefix("results/") in mine
    assert mine == {name: theirs[name] for name in mine}
