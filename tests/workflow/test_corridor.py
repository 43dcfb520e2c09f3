"""Every plan that an experiment names walks the whole corridor, on every variant and seed."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

from scoup import config, experiments, results
from scoup.shard import shard_tensor
from scoup.tensor import SparseTensor
from tests.planted import planted as planted_data
from tests.test_config import merged
from tests.workflow.conftest import ROOT, TINY, planned, snakemake, succeeded
from tests.workflow.test_runs import digests

STREAMED = "results/merge/events/whole/streamed/seed0.npz"
# The stages of a merge whose passes jobs share.
SHARING = ("cover", "complete", "multiply")


@pytest.fixture(scope="module")
def tiny():
    """The checked tiny configuration."""
    whole = yaml.safe_load((ROOT / "config.yaml").read_text())
    return config.check(merged(whole, yaml.safe_load(TINY.read_text())))


def addresses(tiny):
    """Return (data set, variant, plan, seed) of every model that some experiment names."""
    return {
        (dataset, variant, plan, seed)
        for spec in tiny.experiments.values()
        for dataset in spec.datasets
        for variant in experiments.variants_of(spec)
        for plan in experiments.plans_of(spec)
        for seed in range(spec.seeds)
    }


def test_the_model_of_every_plan_is_in_results_merge(finished, tiny):
    root = finished / "results"
    expected = {
        Path(dataset, variant, plan, f"seed{seed}")
        for dataset, variant, plan, seed in addresses(tiny)
    }
    for stage in ("sample", "merge"):
        folder = root / stage
        assert {p.relative_to(folder).with_suffix("") for p in folder.rglob("*.npz")} == expected


def test_every_repetition_is_fitted_by_a_job(finished, tiny):
    for dataset, variant, plan, seed in addresses(tiny):
        folder = finished / "results" / "fit" / dataset / variant / plan / f"seed{seed}"
        names = {path.stem for path in folder.glob("*.npz")}
        assert names == {f"rep{n}" for n in range(tiny.plans[plan].repetitions)}


def test_a_merged_model_is_that_of_its_plan(finished, tiny):
    for dataset, variant, plan, seed in addresses(tiny):
        path = finished / "results" / "merge" / dataset / variant / plan / f"seed{seed}.npz"
        model = results.read_merged(path)
        assert model.factors.rank == tiny.plans[plan].rank
        assert len(model.report.scores) == tiny.plans[plan].repetitions


def test_whole_is_a_variant_like_any_other(finished):
    data = finished / "results" / "holdout" / "brainq" / "whole" / "seed0.npz"
    original = finished / "results" / "preprocess" / "brainq.npz"
    assert data.read_bytes() == original.read_bytes()
    coords, truth = results.read_truth(data.with_suffix(".truth.npz"))
    assert coords.shape[1] == truth.size == 0


def test_one_command_writes_the_report(finished):
    assert (finished / "results" / "report.html").stat().st_size > 100_000


def test_one_pass_serves_all_repetitions_and_jobs_may_share_it(run, finished):
    for stage in ("extract", "fit", "merge"):
        shutil.rmtree(run / "results" / stage / "events")
    output = succeeded(snakemake(run, "--set-scatter", "parts=3", "--", STREAMED))
    made = [name for name in digests(run) if name.startswith("extract/events/")]
    assert [Path(name).name for name in made] == [f"{number}-of-3.npz" for number in (1, 2, 3)]
    counts = {rule: len(jobs) for rule, jobs in planned(output).items()}
    # Three modes take two rounds; the first begins with the merge, and the last ends in it.
    assert counts == {"extract": 3, "cover": 3, "fit": 2, "complete": 2, "multiply": 6, "merge": 1}
    assert without_parts(run) == without_parts(finished)


@pytest.fixture(scope="module")
def few_shards(tmp_path_factory):
    """A configuration with a tensor in five shards, and a matrix."""
    folder = tmp_path_factory.mktemp("few")
    data, _ = planted_data((20, 6, 4), 2, seed=0, side=3, noise=0.1)
    shard_tensor(SparseTensor.from_dense(np.asarray(data.tensor)), folder / "shards", 96)
    np.save(folder / "matrix.npy", data.matrices[0][0])
    matrix = {"file": str(folder / "matrix.npy"), "mode": 0}
    options = {"tensor": str(folder / "shards"), "matrices": [matrix]}
    dataset = {"kind": "shards", "source": "local", "options": options}
    plan = {"rank": 2, "sampling": 2, "repetitions": 2}
    plans = {"streamed": {**plan, "finish": "complete"}, "refitted": {**plan, "finish": "refit"}}
    config = folder / "config.yaml"
    config.write_text(yaml.safe_dump({"datasets": {"few": dataset}, "plans": plans}))
    return config


def few_jobs(folder, config, parts, *options):
    """Run both plans with so many parts; return how often each stage that shares a pass ran."""
    models = [f"results/merge/few/whole/{plan}/seed0.npz" for plan in ("streamed", "refitted")]
    scatter = ["--set-scatter", f"parts={parts}"]
    output = succeeded(snakemake(folder, *options, *scatter, "--", *models, config=config))
    counts = {rule: len(jobs) for rule, jobs in planned(output).items()}
    return {rule: counts.get(rule, 0) for rule in SHARING}


def test_the_number_of_parts_changes_no_byte_of_a_model(few_shards, tmp_path):
    assert not any(few_jobs(tmp_path / "one", few_shards, 1).values())
    counts = few_jobs(tmp_path / "three", few_shards, 3)
    assert counts == {"cover": 6, "complete": 2, "multiply": 6}
    assert without_parts(tmp_path / "three") == without_parts(tmp_path / "one")


def test_no_more_jobs_share_a_pass_than_there_are_shards(few_shards, tmp_path):
    counts = few_jobs(tmp_path / "run", few_shards, 16, "--dry-run")
    assert counts == {"cover": 10, "complete": 2, "multiply": 10}


def without_parts(folder):
    """Return the digests of results that do not depend on the number of parts."""
    shared = ("extract", *SHARING)
    return {k: v for k, v in digests(folder).items() if k.split("/")[0] not in shared}
