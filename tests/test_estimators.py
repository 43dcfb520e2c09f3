"""CMTF and SCOUP as a user meets them."""

import re
import warnings

import numpy as np
import pytest

from scoup import CMTF, SCOUP, CoupledData, ScoupError, ScoupWarning, SparseTensor
from scoup.fit import fit_repetition
from scoup.match import factor_match_score
from scoup.merge import merge
from scoup.records import Labels
from scoup.specs import FitSpec, MergeSpec
from tests.planted import as_sparse, planted


def same_bytes(one, other):
    return all(a.tobytes() == b.tobytes() for a, b in zip(one.flat, other.flat, strict=True))


@pytest.mark.parametrize("finish", ["none", "refit", "complete"])
def test_the_number_of_jobs_changes_nothing(finish):
    data, _ = planted((30, 60, 9), 3, 0, side=20, noise=0.5)
    for form in (data, as_sparse(data)[0]):
        one, four = (
            SCOUP(3, sampling=2, finish=finish, jobs=jobs, seed=7).fit(form) for jobs in (1, 4)
        )
        assert same_bytes(one.factors_, four.factors_)
        assert [f.losses for f in one.report_.fits] == [f.losses for f in four.report_.fits]


def test_repetition_k_does_not_change_when_more_are_asked_for():
    data, _ = planted((30, 60, 9), 3, 0, side=20, noise=0.5)
    few, many = (SCOUP(3, sampling=2, repetitions=r, seed=7).fit(data) for r in (2, 5))
    for one, other in zip(few.fits_, many.fits_, strict=False):
        assert same_bytes(one.factors, other.factors)


def test_repetitions_fitted_one_by_one_elsewhere_merge_to_the_same_bytes():
    data, _ = planted((30, 60, 9), 3, 0, side=20, noise=0.5)
    model = SCOUP(3, sampling=2, seed=7).fit(data)
    apart = [
        fit_repetition(data, sample, FitSpec(rank=3), 7) for sample in reversed(model.samples_)
    ]
    merged = merge(apart[::-1], model.samples_, data, MergeSpec())
    assert same_bytes(merged.factors, model.factors_)


def test_same_seed_same_bytes_other_seed_other_sample():
    data, _ = planted((30, 60, 9), 3, 0, noise=0.5)
    one, again, other = (SCOUP(3, sampling=2, seed=seed).fit(data) for seed in (1, 1, 2))
    assert same_bytes(one.factors_, again.factors_)
    assert not same_bytes(one.factors_, other.factors_)


def test_the_report_says_everything():
    data, _ = planted((30, 60, 9), 3, 0, side=20, noise=0.5)
    report = SCOUP(3, sampling=2, finish="refit").fit(data).report_
    assert report.sample_sizes == ((15, 30, 5, 10),) * 4
    assert len(report.merge.scores) == len(report.fits) == 4
    assert report.merge.rejected == ()
    assert len(report.merge.coverage) == 4
    assert 0 < report.merge.output_size <= 3 * (30 + 60 + 9 + 20)
    assert set(report.block_fits) == {"tensor", "matrix0"}
    assert {"sample", "fit", "merge"} <= set(report.seconds)
    full = CMTF(3).fit(data).report_
    assert full.stop in {"converged", "exact", "max_iter"}
    assert full.iterations == len(full.losses)
    assert full.cost == full.losses[-1]
    assert {"solve", "finish"} <= set(full.seconds)


def test_prediction_expands_questions_to_images():
    data, truth = planted((20, 30, 5), 3, 0, side=12)
    model = CMTF(3, tol=1e-12).fit(data)
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((4, 3))
    questions = latent @ truth[3].T
    slices = np.einsum("nf,jf,kf->njk", latent, truth[1], truth[2])
    np.testing.assert_allclose(model.predict(questions), slices, atol=1e-5)
    np.testing.assert_allclose(model.predict(questions, at={2: 3}), slices[:, :, 3], atol=1e-5)
    np.testing.assert_allclose(model.predict(slices, block="tensor"), questions, atol=1e-5)
    assert model.transform(questions[0]).shape == (1, 3)
    holes = questions.copy()
    holes[:, :4] = np.nan
    np.testing.assert_allclose(model.predict(holes), slices, atol=1e-4)
    paper = model.transform(questions, rule="paper")
    np.testing.assert_allclose(paper, questions @ model.factors_.sides[0][0])


def test_transform_of_training_rows_gives_their_factor_rows():
    data, _ = planted((20, 30, 5), 3, 0, side=12)
    model = CMTF(3, tol=1e-12).fit(data)
    np.testing.assert_allclose(
        model.transform(data.matrices[0][0]), model.factors_.modes[0], atol=1e-6
    )
    np.testing.assert_allclose(
        model.transform(data.tensor, block="tensor"), model.factors_.modes[0], atol=1e-6
    )


def test_parameters_by_name():
    model = SCOUP(3, sampling=(2, 3, 1), seed=4)
    assert SCOUP(**model.get_params()).get_params() == model.get_params()
    assert model.set_params(rank=5).rank == 5
    with pytest.raises(ScoupError, match="parameter: expected one of rank"):
        model.set_params(ranks=5)
    assert [repr(CMTF()), repr(CMTF(3, tol=0.1))] == ["CMTF()", "CMTF(rank=3, tol=0.1)"]
    assert repr(model) == "SCOUP(rank=5, sampling=(2, 3, 1), seed=4)"


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (CMTF(0), "rank: expected an integer of at least 1, got 0."),
        (CMTF(2.5), "rank: expected an integer of at least 1, got 2.5."),
        (CMTF(2, solver="svd"), "solver: expected one of als, cd, opt, reference, got 'svd'."),
        (CMTF(2, init="hosvd"), "init: expected one of parafac, random, tucker, got 'hosvd'."),
        (CMTF(2, max_iter=0), "max_iter: expected an integer of at least 1, got 0."),
        (CMTF(2, tol=-1), "tol: expected a number of at least 0, got -1."),
        (CMTF(2, starts=0), "starts: expected an integer from 1 to 10000, got 0."),
        (CMTF(2, starts=10**9), "starts: expected an integer from 1 to 10000, got 1000000000."),
        (CMTF(2, compress="yes"), "compress: expected one of auto, true, false, got 'yes'."),
        (CMTF(2, seed=-1), "seed: expected a non-negative integer, got -1."),
        (
            SCOUP(2, sampling=0.5),
            "sampling: expected a number of at least 1 or a list",
        ),
        (SCOUP(2, shared=2), "shared: expected a number from 0 to 1, got 2."),
        (SCOUP(2, merge="mean"), "merge: expected one of authors, joint, paper, got 'mean'."),
        (
            SCOUP(2, finish="all"),
            "finish: expected one of complete, none, prune, refit, got 'all'.",
        ),
        (SCOUP(2, jobs=0), "jobs: expected an integer of at least 1, got 0."),
    ],
)
def test_bad_parameters_say_what_is_wrong(model, words):
    with pytest.raises(ScoupError) as caught:
        model.fit(planted((6, 7, 8), 2, 0)[0])
    assert str(caught.value).startswith(words)
    assert str(caught.value).endswith(".")


def labelled():
    data, _ = planted((6, 5, 4), 2, 0, side=3)
    labels = [
        list("abcdef"),
        Labels("hour", np.arange(5)),
        None,
        Labels("kind", np.array(["x", "y", "z"])),
    ]
    return CoupledData(data.tensor, data.matrices, labels=labels)


def test_labels_of_the_data_name_the_loadings():
    data = labelled()
    assert [label.name for label in data.labels] == ["mode0", "hour", "mode2", "kind"]
    part = data.select([[1, 2], [0, 4], [3], [0]])
    assert [label.ids.tolist() for label in part.labels] == [["b", "c"], [0, 4], [3], ["x"]]
    kept = data.with_weights("balanced").with_tensor_mask(np.ones(data.shape))
    assert [label.name for label in kept.labels] == [label.name for label in data.labels]
    model = CMTF(2).fit(data)
    frame = model.to_xarray()
    assert frame["factor_kind"].sel(kind="y", component=1) == model.factors_.sides[0][0][1, 0]
    strongest = model.top("mode0", 2, count=3)
    assert model.top(0, 2, count=3).equals(strongest)
    loadings = dict(zip("abcdef", np.abs(model.factors_.modes[0][:, 1]), strict=True))
    assert list(strongest.index) == sorted(loadings, key=loadings.get, reverse=True)[:3]
    assert model.top(3, 1).index.name == "kind"
    for arguments, words in [
        ((4, 1), "mode: expected a number from 0 to 3, got 4."),
        (("day", 1), "mode: expected one of mode0, hour, mode2, kind, got 'day'."),
        ((0, 0), "component: expected a number from 1 to 2, got 0."),
    ]:
        with pytest.raises(ScoupError, match=re.escape(words)):
            model.top(*arguments)
    for wrong, words in [
        (
            [["a", "b"]],
            "labels: expected one entry per factor, of sizes (6, 5, 4), got ['mode0: 2']",
        ),
        ({0: "abcdef"}, "labels: expected a list with one entry per factor, got dict"),
        ([5, None, None], "labels of mode0: expected a list of ids or None, got 5"),
    ]:
        with pytest.raises(ScoupError, match=re.escape(words)):
            CoupledData(data.tensor, labels=wrong)
    assert CoupledData(data.tensor, labels=None).labels == ()


def test_rows_that_were_never_sampled_are_not_among_the_strongest():
    data, _ = planted((30, 20, 9), 2, 0)
    model = SCOUP(2, sampling=4, shared=1.0, repetitions=1).fit(data)
    sampled = np.flatnonzero(model.factors_.coverage[1])
    assert sorted(model.top(1, 1, count=100).index) == sampled.tolist()
    assert f"mode1: 20 ({len(sampled)} sampled)" in repr(model.factors_)


def test_data_print_their_shapes():
    data, _ = planted((30, 20, 9), 2, 0)
    holes = CoupledData(
        np.where(np.arange(5400).reshape(30, 20, 9) % 4 == 0, np.nan, data.tensor), {0: np.eye(30)}
    )
    sparse = CoupledData(SparseTensor.from_dense(np.eye(6).reshape(6, 3, 2)))
    assert repr(holes) == "CoupledData(tensor: 30 x 20 x 9, 25% missing; matrix0: 30 x 30)"
    assert repr(sparse) == "CoupledData(tensor: 6 x 3 x 2, 6 non-zeros)"


def test_more_starts_are_suggested_when_two_end_apart():
    rng = np.random.default_rng(1)
    noise = rng.standard_normal((8, 8, 8))  # many local minima
    with pytest.warns(
        ScoupWarning, match=r"of 2 starts the best explains .*; try more, such as starts=10"
    ):
        model = CMTF(3, init="random", starts=2, seed=0).fit(noise)
    costs = sorted(model.report_.starts)
    assert costs[1] - costs[0] > 0.001 * np.sum(noise**2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CMTF(1, starts=2).fit(planted((6, 7, 8), 1, 0)[0])


def test_scoup_on_sparse_data_equals_scoup_on_the_same_dense_data():
    data, _ = planted((30, 40, 9), 3, 0, side=20, noise=0.2)
    dense = SCOUP(3, sampling=2, seed=3).fit(data)
    sparse = SCOUP(3, sampling=2, seed=3).fit(as_sparse(data)[0])
    assert dense.report_.sample_sizes == sparse.report_.sample_sizes
    assert factor_match_score(dense.factors_.flat, sparse.factors_.flat) > 0.99


def test_scoup_with_missing_cells_finds_planted_factors():
    data, truth = planted((30, 40, 9), 3, 0, side=20)
    rng = np.random.default_rng(0)
    holes = CoupledData(np.where(rng.random(data.shape) < 0.3, np.nan, data.tensor), data.matrices)
    model = SCOUP(3, sampling=(2, 2, 1), finish="complete", seed=1, tol=1e-10, max_iter=1000).fit(
        holes
    )
    assert factor_match_score(model.factors_.flat, truth) > 0.99


def test_progress_bars_go_to_the_error_stream(capsys):
    SCOUP(2, sampling=2, progress=True).fit(planted((10, 12, 8), 2, 0)[0])
    CMTF(2, progress=True).fit(planted((10, 12, 8), 2, 0)[0])
    captured = capsys.readouterr()
    assert "SCOUP repetitions" in captured.err
    assert "CMTF als" in captured.err
    assert captured.out == ""
