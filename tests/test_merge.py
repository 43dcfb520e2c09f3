"""The merges and the finishes: contracts of all, and what is special to each."""

from dataclasses import asdict, replace
from itertools import product

import numpy as np
import pytest

from benchmarks import merging
from scoup import SCOUP, CoupledData
from scoup.constraints import Constraints
from scoup.factors import unwrap, wrap
from scoup.finishes import complete, none, prune, refit
from scoup.finishes._covered import Covered
from scoup.fit import fit
from scoup.listing import load, members
from scoup.match import congruence, factor_match_score, match
from scoup.merge import merge, merge_each
from scoup.merges import _repetitions, authors, joint, paper
from scoup.merges._shared import common_rows, sampled_rows
from scoup.metrics import cost, explained_share, output_size, relative_cost, zero_cost
from scoup.records import Factors, Fit, Sample
from scoup.sample import draw
from scoup.scale import rescale, scaled_cost, scaled_costs
from scoup.solvers import als
from scoup.specs import FitSpec, MergeSpec, SampleSpec
from scoup.terms import grams_of, terms_of
from tests.planted import as_sparse, hide, planted, starts

MERGES, FINISHES = members("scoup.merges"), members("scoup.finishes")


def pieces(data, rank, seed, sampling=2, repetitions=4):
    samples = draw(data, SampleSpec(rank=rank, sampling=sampling, repetitions=repetitions), seed)
    fits = [fit(data.select(sample.indices), FitSpec(rank=rank), seed) for sample in samples]
    return fits, samples


def covered_score(factors, truth):
    masks = factors.coverage
    return factor_match_score(
        [f[m] for f, m in zip(factors.flat, masks, strict=True)],
        [f[m] for f, m in zip(truth, masks, strict=True)],
    )


def components_agree(factors, truth):
    """Whether every factor pairs its columns with the planted ones by the same permutation."""
    orders = [
        match(congruence([f[m]], [t[m]]))[0].tolist()
        for f, t, m in zip(factors.flat, truth, factors.coverage, strict=True)
    ]
    return all(order == orders[0] for order in orders)


@pytest.mark.parametrize("rank", [3, 4, 5])
def test_joint_finds_planted_factors_where_paper_fails(rank, record_property):
    hits = {"joint": 0, "paper": 0}
    for seed in range(40):
        data, truth = planted((60, 80, 9), rank, seed, side=40)
        fits, samples = pieces(data, rank, seed)
        for name in hits:
            factors = merge(fits, samples, data, MergeSpec(merge=name)).factors
            hits[name] += covered_score(factors, truth) > 0.99
            if name == "joint":
                assert components_agree(factors, truth)
    record_property("paper_failure_rate", 1 - hits["paper"] / 40)
    print(f"rank {rank}: joint {hits['joint']}/40, paper {hits['paper']}/40")
    assert hits["joint"] >= 38
    assert hits["paper"] <= hits["joint"]


@pytest.mark.parametrize("noise", [0.0, 0.5, 2.0])
def test_more_repetitions_explain_more(noise):
    counts = (1, 2, 4, 8, 16)
    shares = []
    for seed in range(10):
        data, _ = planted((60, 2000, 9), 3, seed, side=100, noise=noise)
        best, nothing = fit(data, FitSpec(rank=3), seed).report.cost, zero_cost(data)
        fits, samples = pieces(data, 3, seed, sampling=(3, 20, 1), repetitions=16)
        costs = [merge(fits[:r], samples[:r], data, MergeSpec()).report.cost for r in counts]
        shares.append([explained_share(c, best, nothing) for c in costs])
    assert (np.diff(np.median(shares, axis=0)) > 0).all()
    assert sum((np.diff(row) > 0).all() for row in shares) >= 9


@pytest.mark.parametrize("noise", [0.0, 0.5, 2.0])
def test_complete_reaches_the_cost_of_the_full_fit(noise):
    good = 0
    for seed in range(20):
        data, _ = planted((60, 2000, 9), 3, seed, side=100, noise=noise)
        best = fit(data, FitSpec(rank=3), seed).report.cost
        mine = SCOUP(3, sampling=(3, 20, 1), finish="complete", seed=seed).fit(data).report_.cost
        good += relative_cost(mine, best, zero_cost(data)) <= 1.005
    assert good >= 19


def test_paper_merge_is_algorithm_3_as_printed():
    """On non-negative data without noise matching factor by factor is right, and both agree."""
    data, truth = planted((30, 40, 9), 3, 0, side=20, signed=False)
    fits, samples = pieces(data, 3, 0)
    for rule in (paper, joint):
        flat, matching = rule.merge(fits, samples, data, MergeSpec(finish="complete"))
        masks = Covered(data, matching.rows).expand(flat)
        assert matching.consistent
        assert covered_score(wrap(flat, data, masks), truth) > 0.99


@pytest.mark.parametrize("constraints", [None, "nonnegative"])
@pytest.mark.parametrize("hidden", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_sweeps_over_covered_rows_are_those_of_the_plain_path(seed, hidden, constraints):
    data, _ = planted((12, 40, 9), 3, seed, noise=0.5)
    rng = np.random.default_rng(seed)
    rows = tuple(np.sort(rng.choice(n, 1 + n // 2, replace=False)) for n in data.sizes)
    flat = [np.abs(rng.standard_normal((len(index), 3))) for index in rows]
    for form in (data, *as_sparse(data)) if not hidden else (hide(data, hidden, seed),):
        covered = Covered(form, rows, Constraints.of(constraints, form))
        swept, plain = list(flat), list(flat)
        covered.sweep(swept, 3)
        grams = grams_of(plain)
        for _ in range(3):
            als.sweep(covered.terms, plain, grams, update=covered.updates)
        assert not np.allclose(swept[0], flat[0])
        for one, other in zip(swept, plain, strict=True):
            assert np.allclose(one, other, rtol=1e-7, atol=1e-9 * np.abs(other).max())


def test_paper_merge_by_hand():
    """Two repetitions of one factor: greedy, signed, first repetition wins each row."""
    rows = [np.array([0, 1, 2]), np.array([0, 1, 3])]
    common = np.array([0, 1])
    one = np.array([[3.0, 0.0], [0.0, 4.0], [6.0, 8.0]])
    two = np.array([[0.0, 3.0], [4.0, 0.0], [8.0, 9.0]])  # columns swapped
    data = CoupledData(np.ones((4, 2, 2)))

    def fitted(first):
        ones = np.eye(2)
        return Fit(wrap([first, ones, ones], data), fit(data, FitSpec(rank=1, max_iter=1)).report)

    samples = [
        Sample(k, (rows[k], np.arange(2), np.arange(2)), (common, np.arange(2), np.arange(2)))
        for k in range(2)
    ]
    flat, _ = paper.merge([fitted(one), fitted(two)], samples, data, MergeSpec())
    # Row 2 comes from the first repetition and row 3 from the second, each over its common norm.
    order = np.argmax(np.abs(flat[0][:2]), axis=0)
    assert sorted(order.tolist()) == [0, 1]
    expected = {0: (6 / 3, 9 / 3), 1: (8 / 4, 8 / 4)}
    for column, component in enumerate(order):
        scale = flat[0][component, column]
        np.testing.assert_allclose(flat[0][2:, column] / scale, expected[int(component)])


def test_one_repetition_of_everything_is_left_as_it_is():
    data, _ = planted((10, 12, 8), 3, 0, noise=0.5)
    fits, samples = pieces(data, 3, 0, sampling=1, repetitions=1)
    for name in ("joint", "paper"):
        merged = merge(fits, samples, data, MergeSpec(merge=name))
        assert merged.report.cost == pytest.approx(fits[0].report.cost, rel=1e-8)
        assert merged.report.coverage == (1.0,) * 4


def test_a_repetition_that_does_not_match_is_rejected_and_reported():
    data, truth = planted((40, 50, 9), 3, 0, side=30)
    fits, samples = pieces(data, 3, 0, repetitions=5)
    rng = np.random.default_rng(0)
    part = data.select(samples[2].indices)
    nonsense = Fit(wrap([rng.standard_normal((n, 3)) for n in part.sizes], part), fits[2].report)
    spoilt = [*fits[:2], nonsense, *fits[3:]]
    merged = merge(spoilt, samples, data, MergeSpec())
    assert merged.report.rejected == (2,)
    assert merged.report.scores[2] < 0.5
    assert covered_score(merged.factors, truth) > 0.99


def test_a_column_without_a_common_part_is_never_divided_by_zero():
    data, _ = planted((20, 30, 9), 2, 0)
    fits, samples = pieces(data, 2, 0)
    dead = [f.copy() for f in fits[1].factors.flat]
    dead[0][samples[1].common_rows[0], 1] = 0.0
    spoilt = [fits[0], Fit(fits[1].factors.replace_flat(dead), fits[1].report), *fits[2:]]
    for name in ("joint", "paper"):
        merged = merge(spoilt, samples, data, MergeSpec(merge=name))
        assert all(np.isfinite(factor).all() for factor in merged.factors.flat)


def test_rows_never_sampled_are_zero_and_known_to_be():
    data, _ = planted((40, 200, 9), 3, 0)
    fits, samples = pieces(data, 3, 0, sampling=(2, 20, 1), repetitions=2)
    for finish, full in (("none", False), ("refit", False), ("complete", True)):
        factors = merge(fits, samples, data, MergeSpec(finish=finish)).factors
        for factor, mask in zip(factors.flat, factors.coverage, strict=True):
            assert not factor[~mask].any()
            assert mask.all() or not full
        assert bool(factors.modes[1].any(axis=1).all()) is full


def test_each_finish_costs_no_more_than_the_one_before():
    for noise in (0.0, 1.0):
        data, _ = planted((40, 200, 9), 3, 0, noise=noise)
        fits, samples = pieces(data, 3, 0, sampling=(2, 10, 1))
        ends = [
            merge(fits, samples, data, MergeSpec(finish=f)) for f in ("none", "refit", "complete")
        ]
        costs = [end.report.cost for end in ends]
        assert (np.diff(costs) <= 1e-12 * costs[0]).all()
        assert (
            ends[0].report.output_size
            == output_size(ends[0].factors)
            < output_size(ends[2].factors)
        )
        for end in ends:
            assert end.report.cost == pytest.approx(
                cost(data, end.factors), rel=1e-6, abs=1e-8 * zero_cost(data)
            )


def test_rescale_is_the_best_scale():
    data, truth = planted((10, 12, 8), 3, 0, noise=0.3)
    rng = np.random.default_rng(0)
    wrong = [
        factor * rng.uniform(0.1, 10, size=3) * rng.choice([-1, 1], size=3) for factor in truth
    ]
    best = rescale(terms_of(data), wrong, 3)
    floor = cost(data, wrap(best, data))
    for _ in range(10):
        nudged = [f * (1 + 0.01 * rng.standard_normal(3)) for f in best]
        assert cost(data, wrap(nudged, data)) >= floor - 1e-9 * zero_cost(data)


def test_scaled_cost_is_what_rescaling_leaves():
    for seed, missing in product(range(3), (0.0, 0.3)):
        data, truth = planted((10, 12, 8), 3, seed, noise=0.3)
        rng = np.random.default_rng(seed)
        if missing:
            data = CoupledData(data.tensor, data.matrices, rng.random((10, 12, 8)) > missing)
        wrong = [factor * rng.uniform(0.1, 10, size=3) for factor in truth]
        best = wrap(rescale(terms_of(data), wrong, 3), data)
        assert scaled_cost(terms_of(data), wrong) == pytest.approx(cost(data, best))


def test_models_judged_together_cost_what_they_cost_alone():
    data, _ = planted((10, 12, 8), 3, 0, side=5, noise=0.3)
    models, masked = [starts(data, 3, seed) for seed in range(4)], hide(data, 0.3, 0)
    for kind in (data, as_sparse(data)[0], masked, *as_sparse(masked)):
        terms = terms_of(kind)
        assert scaled_costs(terms, models) == [scaled_cost(terms, model) for model in models]


@pytest.mark.parametrize("finish", ["none", "refit"])
def test_a_further_repetition_never_raises_the_cost_of_joint(finish):
    """Even if samples are too small for the noise, and one repetition is of other data."""
    for seed in range(10):
        data, _ = planted((30, 60, 9), 3, seed, side=20, noise=1.0)
        fits, samples = pieces(data, 3, seed, sampling=(3, 10, 1), repetitions=6)
        strange, _ = planted((30, 60, 9), 3, 100 + seed, side=20, noise=1.0)
        fits[seed % 6] = fit(strange.select(samples[seed % 6].indices), FitSpec(rank=3), seed)
        spec = MergeSpec(merge="joint", finish=finish)
        costs = [merged.report.cost for merged in merge_each(fits, samples, data, spec)]
        assert (np.diff(costs) <= 1e-12 * costs[0]).all()
        assert costs[-1] < costs[0]


@pytest.mark.parametrize("finish", ["none", "refit"])
@pytest.mark.parametrize("name", MERGES)
def test_merging_one_repetition_after_another_gives_the_same_bytes(name, finish):
    """Even if a repetition is of other data, and another is empty."""
    spec = MergeSpec(merge=name, finish=finish)
    data, _ = planted((30, 60, 9), 3, 0, side=20, noise=1.0)
    fits, samples = pieces(data, 3, 0, sampling=(3, 10, 1), repetitions=5)
    strange, _ = planted((30, 60, 9), 3, 100, side=20, noise=1.0)
    fits[1] = fit(strange.select(samples[1].indices), FitSpec(rank=3), 0)
    empty = [np.zeros_like(factor) for factor in fits[3].factors.flat]
    fits[3] = replace(fits[3], factors=fits[3].factors.replace_flat(empty))
    for count, merged in enumerate(merge_each(fits, samples, data, spec), start=1):
        alone = merge(fits[:count], samples[:count], data, spec)
        for ours, theirs in zip(merged.factors.flat, alone.factors.flat, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        assert asdict(merged.report) | {"seconds": {}} == asdict(alone.report) | {"seconds": {}}
    assert count == len(fits)


def test_refit_and_complete_never_raise_the_cost():
    data, _ = planted((20, 60, 6), 2, 0, noise=0.5)
    fits, samples = pieces(data, 2, 0, sampling=(2, 5, 1))
    flat, matching = joint.merge(fits, samples, data, MergeSpec(finish="complete"))
    flat = rescale(Covered(data, matching.rows).terms, flat, 3)
    costs = []
    for finish in (none, refit, complete):
        covered, finished = Covered(data, matching.rows), list(flat)
        costs.append(sum(finish.finish(covered, finished, MergeSpec())))
        covered.expand(finished)
        assert cost(data, wrap(finished, data)) == pytest.approx(costs[-1])
    assert (np.diff(costs) <= 0).all()


@pytest.mark.parametrize("finish", FINISHES)
@pytest.mark.parametrize("name", MERGES)
def test_every_merge_and_finish_reports_the_cost_of_its_factors(name, finish):
    data, _ = planted((20, 60, 6), 2, 0, noise=0.5)
    fits, samples = pieces(data, 2, 0, sampling=(2, 5, 1))
    merged = merge(fits, samples, data, MergeSpec(merge=name, finish=finish))
    assert merged.report.cost == pytest.approx(cost(data, merged.factors), rel=1e-6)
    assert len(merged.report.scores) == len(fits)
    assert [len(factor) for factor in merged.factors.flat] == list(data.sizes)
    assert all(np.isfinite(factor).all() for factor in merged.factors.flat)
    assert load("scoup.merges", name).LABEL
    assert load("scoup.finishes", finish).LABEL


def test_authors_merge_by_hand():
    """The first factor decides for all; only zeros are filled; scales are averaged."""
    common, swap = np.arange(2), np.array([[0.0, 1.0], [1.0, 0.0]])
    data = CoupledData(np.ones((4, 4, 2)))
    report = fit(data, FitSpec(rank=1, max_iter=1)).report

    def repetition(number, columns, extra):
        rows = np.array([0, 1, 2 + number])
        first = np.vstack([np.eye(2), extra]) @ columns
        flat = [first, np.vstack([np.eye(2), [[5.0, 7.0]]]), np.eye(2)]
        sample = Sample(number, (rows, rows, common), (common,) * 3)
        return Fit(Factors(np.ones(2), tuple(flat)), report), sample

    fits, samples = zip(
        repetition(0, np.eye(2), [[2.0, 3.0]]), repetition(1, swap, [[4.0, 6.0]]), strict=True
    )
    flat, matching = authors.merge(fits, samples, data, MergeSpec(merge="authors"))
    np.testing.assert_allclose(flat[0], [[1, 0], [0, 1], [2, 3], [4, 6]])
    # The second factor follows the first, although its own columns need no change.
    np.testing.assert_allclose(flat[1], [[1, 1], [1, 1], [5, 7], [7, 5]])
    assert matching.consistent


def test_a_repetition_without_mass_is_left_out():
    data, truth = planted((30, 40, 9), 3, 0, side=20)
    fits, samples = pieces(data, 3, 0)
    empty = Fit(
        Factors(np.zeros(3), tuple(np.zeros_like(f) for f in fits[0].factors.modes),
                {0: np.zeros_like(fits[0].factors.sides[0][0])}),
        replace(fits[0].report, block_fits={"tensor": 1.0, "matrix0": 1.0}),
    )  # fmt: skip
    spoilt = [empty, *fits[1:]]
    for name in MERGES:
        report = merge(spoilt, samples, data, MergeSpec(merge=name)).report
        assert report.rejected == (0,)
        assert report.reference != 0
    merged = merge(spoilt, samples, data, MergeSpec())
    assert covered_score(merged.factors, truth) > 0.99
    everything = [empty] * len(fits)
    assert merge(everything, samples, data, MergeSpec()).report.cost == zero_cost(data)


@pytest.mark.parametrize(("weights", "least"), [("paper", 0.95), ("balanced", 0.4)])
def test_matrices_of_noise_do_not_lower_the_match(weights, least):
    """Balanced, the noise counts as much as the tensor and does change what the samples find."""
    rng = np.random.default_rng(0)
    clean, _ = planted((40, 60, 9), 3, 0)
    for count in (0, 6):
        noise = {1: [rng.standard_normal((60, 30)) for _ in range(count)]} if count else {}
        data = CoupledData(clean.tensor, {**clean.matrices, **noise}, weights=weights)
        fits, samples = pieces(data, 3, 0)
        report = merge(fits, samples, data, MergeSpec(finish="complete")).report
        commons = [
            common_rows(f.factors.flat, sample) for f, sample in zip(fits, samples, strict=True)
        ]
        plain = [factor_match_score(commons[report.reference], common) for common in commons]
        assert min(report.scores) > least
        assert (np.array(report.scores) >= np.array(plain) - 1e-9).all()
        assert not count or min(report.scores) > 2 * min(plain)
        assert report.rejected == ()


@pytest.mark.parametrize("finish", ["refit", "complete", "prune"])
def test_a_finish_that_sweeps_sets_every_sampled_row(finish):
    """Alignment needs matching repetitions; coverage does not."""
    data, _ = planted((40, 50, 9), 3, 0, side=30, noise=0.1)
    fits, samples = pieces(data, 3, 0, repetitions=4)
    rng = np.random.default_rng(0)
    nonsense = [rng.standard_normal(factor.shape) for factor in fits[3].factors.flat]
    spoilt = [*fits[:3], Fit(fits[3].factors.replace_flat(nonsense), fits[3].report)]
    factors = merge(spoilt, samples, data, MergeSpec(finish=finish)).factors
    for mask, rows in zip(factors.coverage, sampled_rows(samples), strict=True):
        assert mask[rows].all()
    good = merge(fits, samples, data, MergeSpec(finish=finish)).report.cost
    assert cost(data, factors) <= 1.02 * good


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize(("sampling", "noise_matrices"), [(2, 0), (16, 6), (32, 1)])
def test_joint_is_never_worse_than_what_it_could_have_been(kind, sampling, noise_matrices):
    """A part of ``python -m benchmarks.merging``: one repetition, fewer, other merges."""
    broken = merging.study(kind, sampling, noise_matrices, seed=0, finishes=("none", "refit"))
    for finish, excess in broken.items():
        assert max(asdict(excess).values()) <= merging.ROUNDING_SHARE, (finish, excess)


def test_admission_does_not_depend_on_the_number_of_referees(monkeypatch):
    data, _ = planted((30, 60, 9), 3, 0, side=20, noise=1.0)
    fits, samples = pieces(data, 3, 0, sampling=(3, 10, 1), repetitions=6)
    monkeypatch.setattr(_repetitions, "MAX_REFEREES", 1)
    costs = [merge(fits[:r], samples[:r], data, MergeSpec()).report.cost for r in range(1, 7)]
    assert (np.diff(costs) <= 1e-12 * costs[0]).all()


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_pruning_keeps_its_bound_and_drops_more_when_it_may(missing):
    data, _ = planted((20, 60, 6), 2, 0, noise=0.3)
    if missing:
        observed = np.random.default_rng(0).random((20, 60, 6)) > missing
        data = CoupledData(data.tensor, data.matrices, observed)
    fits, samples = pieces(data, 2, 0, sampling=(2, 5, 1))
    completed = merge(fits, samples, data, MergeSpec(finish="complete")).report
    sizes = [completed.output_size]
    for rise in (0.0, 0.01, 0.1, 10.0):
        merged = merge(fits, samples, data, MergeSpec(finish="prune", rise=rise))
        assert merged.report.cost <= (1 + rise) * completed.cost * (1 + 1e-12)
        assert merged.report.cost == pytest.approx(cost(data, merged.factors), rel=1e-6)
        sizes.append(merged.report.output_size)
    assert (np.diff(sizes) <= 0).all()
    assert sizes[-1] < sizes[0] / 2


def test_the_update_of_kept_entries_is_least_squares_on_them():
    rng = np.random.default_rng(0)
    design, target = rng.standard_normal((30, 4)), rng.standard_normal((30, 50))
    factor = rng.standard_normal((50, 4)) * (rng.random((50, 4)) < 0.6)
    solution = prune.least_squares_of_kept(design.T @ design, target.T @ design, factor)
    for row, kept in enumerate(factor != 0):
        expected = np.zeros(4)
        expected[kept] = np.linalg.lstsq(design[:, kept], target[:, row], rcond=None)[0]
        np.testing.assert_allclose(solution[row], expected, atol=1e-10)


def test_the_energy_of_an_entry_is_the_rise_of_the_cost_without_it():
    data, _ = planted((8, 9, 7), 2, 0, noise=0.3)
    flat = unwrap(fit(data, FitSpec(rank=2, max_iter=2000, tol=0)).factors)
    energies, least = prune.entry_energies(terms_of(data), flat), cost(data, wrap(flat, data))
    for position, (row, column) in product(range(4), [(0, 0), (5, 1)]):
        without = [factor.copy() for factor in flat]
        without[position][row, column] = 0.0
        rise = cost(data, wrap(without, data)) - least
        assert rise == pytest.approx(energies[position][row, column], rel=1e-3, abs=1e-6)
