"""CMTF and SCOUP as a user meets them."""

import numpy as np
import pytest

from scoup import CMTF, SCOUP, CoupledData, ScoupError
from scoup.factors import factor_match_score
from scoup.fit import fit_repetition
from scoup.merge import merge
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
    assert {"start", "solve"} <= set(full.seconds)


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
    assert repr(CMTF(2)).startswith("CMTF(rank=2, solver='als'")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (CMTF(0), "rank: expected an integer of at least 1, got 0."),
        (CMTF(2.5), "rank: expected an integer of at least 1, got 2.5."),
        (CMTF(2, solver="svd"), "solver: expected one of als, cd, opt, reference, got 'svd'."),
        (CMTF(2, init="hosvd"), "init: expected one of parafac, random, got 'hosvd'."),
        (CMTF(2, max_iter=0), "max_iter: expected an integer of at least 1, got 0."),
        (CMTF(2, tol=-1), "tol: expected a number of at least 0, got -1."),
        (CMTF(2, starts=0), "starts: expected an integer of at least 1, got 0."),
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


def test_anything_but_coupled_data_is_refused():
    with pytest.raises(ScoupError, match="data: expected a CoupledData"):
        CMTF(2).fit(np.ones((2, 2, 2)))
    with pytest.raises(ScoupError, match="CMTF is not fitted yet"):
        CMTF(2).transform(np.ones((1, 3)))


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
