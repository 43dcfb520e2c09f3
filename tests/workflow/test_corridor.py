"""Every plan that an experiment names walks the whole corridor, on every variant and seed."""

import shutil
from pathlib import Path

import pytest
import yaml

from scoup import config, experiments, results
from tests.test_config import merged
from tests.workflow.conftest import ROOT, TINY, planned, snakemake, succeeded
from tests.workflow.test_runs import digests


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
    model = "results/merge/events/whole/streamed/seed0.npz"
    output = succeeded(snakemake(run, "--set-scatter", "parts=2", "--", model))
    made = [name for name in digests(run) if name.startswith("extract/events/")]
    assert [Path(name).name for name in made] == ["1-of-2.npz", "2-of-2.npz"]
    counts = {rule: len(jobs) for rule, jobs in planned(output).items()}
    assert counts == {"extract": 2, "fit": 2, "merge": 1}
    assert without_extracted(run) == without_extracted(finished)


def without_extracted(folder):
    """Return the digests of results that do not depend on the number of parts."""
    return {name: sha for name, sha in digests(folder).items() if not name.startswith("extract/")}
