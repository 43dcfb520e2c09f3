"""The pipeline is sample, fit and merge, one after the other."""

from time import sleep

import numpy as np
import pytest

from scoup import CoupledData, Observed, ScoupError, SparseTensor, machine
from scoup import fit as fitting
from scoup.fit import fit, fit_repetition
from scoup.listing import members
from scoup.machine import kernel_threads, share_out, threads
from scoup.merge import merge
from scoup.pipeline import run
from scoup.sample import densities, draw
from scoup.specs import PlanSpec
from tests.planted import planted

PLAN = PlanSpec(rank=3, sampling=2, repetitions=3)


def same_bytes(one, other):
    return all(a.tobytes() == b.tobytes() for a, b in zip(one.flat, other.flat, strict=True))


@pytest.mark.parametrize("workers", [1, 3])
def test_the_pipeline_equals_its_stages_whatever_the_number_of_workers(workers):
    data, _ = planted((30, 60, 9), 3, 0, side=20, noise=0.5)
    samples = draw(data, PLAN, 7)
    fits = [fit_repetition(data, sample, PLAN, 7) for sample in samples]
    result = run(data, PLAN, 7, workers=workers)
    assert all(same_bytes(a.factors, b.factors) for a, b in zip(fits, result.fits, strict=True))
    assert same_bytes(merge(fits, samples, data, PLAN).factors, result.merged.factors)


@pytest.mark.parametrize(("repetitions", "threads_each"), [(1, 4), (2, 2), (3, 1), (5, 1)])
def test_workers_without_a_repetition_help_inside_the_fits(repetitions, threads_each, monkeypatch):
    seen = []
    monkeypatch.setattr(machine, "max_threads", lambda: 4)
    monkeypatch.setattr(fitting, "fit", lambda *given: seen.append(kernel_threads()) or fit(*given))
    data, _ = planted((30, 60, 9), 3, 0, side=20, noise=0.5)
    plan = PLAN.model_copy(update={"repetitions": repetitions})
    with threads(4):
        shared = run(data, plan, 7, workers=4)
    assert seen[0] == threads_each
    assert min(seen) == threads_each  # the last ones may get more
    assert same_bytes(shared.merged.factors, run(data, plan, 7).merged.factors)


@pytest.mark.parametrize("finish", members("scoup.finishes"))
def test_threads_that_judge_candidates_change_no_byte(finish):
    data, _ = planted((30, 60, 9), 3, 0, side=20, noise=2.0)
    results = []
    for count in (1, 2):
        with threads(count):
            results.append(run(data, PLAN.model_copy(update={"finish": finish}), 7, workers=count))
    one, two = (result.merged for result in results)
    assert same_bytes(one.factors, two.factors)
    assert (one.report.cost, one.report.scores) == (two.report.cost, two.report.scores)


def test_shared_out_work_comes_back_in_order_and_takes_an_item_only_when_a_thread_is_free():
    taken, done = [], []

    def items():
        for number in range(20):
            taken.append(number)
            assert len(taken) - len(done) <= 2
            yield number

    with threads(2):
        assert share_out(lambda n: done.append(n) or -n, items()) == [-n for n in range(20)]


def test_an_error_in_shared_out_work_reaches_the_caller():
    with threads(2), pytest.raises(ZeroDivisionError):
        share_out(lambda number: 1 / number, [3, 2, 1, 0])


def test_after_an_error_nothing_more_is_begun():
    begun = []

    def work(number):
        begun.append(number)
        if number == 0:
            raise KeyboardInterrupt
        sleep(0.2)

    with threads(2), pytest.raises(KeyboardInterrupt):
        share_out(work, range(100))
    assert len(begun) <= 3


@pytest.mark.parametrize("workers", [1, 2])
def test_densities_may_be_passed_and_each_fit_is_reported(workers):
    data, _ = planted((30, 60, 9), 3, 0, side=20, noise=0.5)
    fits = []
    result = run(data, PLAN, 7, workers=workers, density=densities(data), on_fit=fits.append)
    assert sorted(map(id, fits)) == sorted(map(id, result.fits))
    assert same_bytes(result.merged.factors, run(data, PLAN, 7).merged.factors)


@pytest.mark.filterwarnings("ignore::scoup.errors.ScoupWarning")
def test_ratings_so_sparse_that_samples_are_empty_are_merged_all_the_same():
    rng = np.random.default_rng(0)
    coords = np.array([rng.integers(0, size, 600) for size in (100, 100, 30)])
    ratings = SparseTensor(coords, rng.random(600) + 1, (100, 100, 30))
    data = CoupledData(ratings, {0: rng.standard_normal((100, 5))}, Observed(ratings))
    for seed in range(5):
        merged = run(data, PlanSpec(rank=2, sampling=10), seed).merged
        assert all(np.isfinite(factor).all() for factor in merged.factors.flat)


def test_no_workers_are_refused():
    with pytest.raises(ScoupError, match="workers: expected an integer of at least 1, got 0"):
        run(planted((5, 6, 7), 2, 0)[0], PlanSpec(rank=2), 0, workers=0)
