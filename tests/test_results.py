"""Result files come back as they were written, to the byte where they must."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from scoup import results
from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.fit import fit_repetition
from scoup.merge import merge
from scoup.sample import draw
from scoup.seeds import generator
from scoup.specs import FitSpec, MergeSpec, SampleSpec


@pytest.fixture(scope="module")
def run():
    rng = generator(0, "test")
    A, B, C, D = (rng.standard_normal((size, 2)) for size in (12, 14, 6, 8))
    data = CoupledData(np.einsum("if,jf,kf->ijk", A, B, C), {0: A @ D.T})
    samples = draw(data, SampleSpec(rank=2, sampling=[2, 2, 1], repetitions=2), seed=0)
    fits = [fit_repetition(data, sample, FitSpec(rank=2, max_iter=5), seed=0) for sample in samples]
    return data, samples, fits, merge(fits, samples, data, MergeSpec())


def test_samples_come_back(tmp_path, run):
    results.write_samples(tmp_path / "s.npz", run[1])
    back = results.read_samples(tmp_path / "s.npz")
    for written, read in zip(run[1], back, strict=True):
        assert written.repetition == read.repetition
        for name in ("indices", "common"):
            for left, right in zip(getattr(written, name), getattr(read, name), strict=True):
                np.testing.assert_array_equal(left, right)


def test_fits_and_merged_models_come_back_without_their_seconds(tmp_path, run):
    results.write_fit(tmp_path / "f.npz", run[2][0])
    results.write_merged(tmp_path / "m.npz", run[3])
    for written, read in (
        (run[2][0], results.read_fit(tmp_path / "f.npz")),
        (run[3], results.read_merged(tmp_path / "m.npz")),
    ):
        for left, right in zip(written.factors.flat, read.factors.flat, strict=True):
            np.testing.assert_array_equal(left, right)
        assert asdict(replace(written.report, seconds={})) == asdict(read.report)


def test_a_fit_is_not_read_as_a_merged_model(tmp_path, run):
    results.write_fit(tmp_path / "f.npz", run[2][0])
    with pytest.raises(ScoupError, match="expected a merged file, got a fit file"):
        results.read_merged(tmp_path / "f.npz")


def test_the_same_fit_is_the_same_bytes_whatever_it_took(tmp_path, run):
    fit = run[2][0]
    slower = replace(fit, report=replace(fit.report, seconds={"solve": 99.0}))
    results.write_fit(tmp_path / "a.npz", fit)
    results.write_fit(tmp_path / "b.npz", slower)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_truth_comes_back(tmp_path):
    coords, truth = np.array([[0, 1], [2, 3], [4, 5]]), np.array([0.5, -1.0])
    results.write_truth(tmp_path / "t.npz", coords, truth)
    back = results.read_truth(tmp_path / "t.npz")
    np.testing.assert_array_equal(back[0], coords)
    np.testing.assert_array_equal(back[1], truth)
