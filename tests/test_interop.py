"""Factors for other libraries, with their labels."""

import gzip
import sys

import nibabel
import numpy as np
import pytest

from scoup import Factors, ScoupError, interop
from scoup.factors import matrix_of, tensor_of
from scoup.records import Labels


def random_factors(seed=0, rank=2, coupled=True):
    rng = np.random.default_rng(seed)
    modes = tuple(rng.standard_normal((n, rank)) for n in (4, 5, 6))
    sides = {
        0: rng.standard_normal((3, rank)),
        2: [rng.standard_normal((n, rank)) for n in (2, 7)],
    }
    return Factors(rng.uniform(1, 2, rank), modes, sides if coupled else {})


def labels_of(factors):
    names = ["noun", "voxel", "subject", "question", "age", "voxel"][: len(factors.flat)]
    return [
        Labels(
            name, np.array([f"{name}{n}" for n in range(len(f))]), {"half": np.arange(len(f)) / 2}
        )
        for name, f in zip(names, factors.flat, strict=True)
    ]


def test_values_are_found_by_label_and_component():
    factors = random_factors()
    frame = interop.to_frames(factors, labels_of(factors))["noun"]
    assert frame.loc["noun2", 1] == factors.modes[0][2, 0]
    dataset = interop.to_xarray(factors, labels_of(factors))
    value = dataset["factor_voxel"].sel(voxel="voxel3", component=2).item()
    assert value == factors.modes[1][3, 1]
    assert dataset["noun_half"].sel(noun="noun3").item() == 1.5
    assert dataset["weights"].values.tolist() == factors.weights.tolist()


def test_two_factors_with_the_same_name_are_distinguished():
    frames = interop.to_frames(random_factors(), labels_of(random_factors()))
    assert "voxel" in frames
    assert "voxel_5" in frames


def test_rows_that_were_never_sampled_are_nan():
    factors = random_factors(coupled=False)
    seen = tuple(np.arange(len(f)) > 0 for f in factors.flat)
    zeroed = [f * s[:, None] for f, s in zip(factors.flat, seen, strict=True)]
    factors = Factors(factors.weights, tuple(zeroed), {}, seen)
    frame, dataset = interop.to_frames(factors)["mode0"], interop.to_xarray(factors)
    assert frame.iloc[0].isna().all()
    assert frame.iloc[1:].notna().all().all()
    np.testing.assert_array_equal(dataset["factor_mode0"], frame)


def test_a_coupled_model_of_tensorly_comes_back_the_same():
    factors = random_factors()
    back = interop.from_tensorly(
        interop.to_tensorly(factors), {0: interop.to_tensorly(factors, mode=0)}
    )
    np.testing.assert_allclose(tensor_of(back), tensor_of(factors))
    np.testing.assert_allclose(matrix_of(back, 0), matrix_of(factors, 0))
    second = interop.to_tensorly(factors, mode=2, position=1)
    np.testing.assert_allclose(second[1][0] @ second[1][1].T, matrix_of(factors, 2, 1))


def test_the_scale_of_a_matrix_goes_to_its_side_factor():
    factors = random_factors(coupled=False)
    weights, modes = interop.to_tensorly(factors)
    side = np.random.default_rng(1).standard_normal((5, 2))
    back = interop.from_tensorly(
        (weights, modes), {1: (np.array([2.0, 3.0]), [modes[1] * [-1.0, 4.0], side])}
    )
    np.testing.assert_allclose(matrix_of(back, 1), (modes[1] * [-2.0, 12.0]) @ side.T)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: interop.from_tensorly(3), "tensor: expected a pair"),
        (
            lambda: interop.from_tensorly(interop.to_tensorly(random_factors()), {7: 0}),
            "modes from 0 to 2",
        ),
        (
            lambda: interop.from_tensorly(
                interop.to_tensorly(random_factors()),
                {0: interop.to_tensorly(random_factors(1), 0)},
            ),
            "up to the scale",
        ),
        (lambda: interop.to_tensorly(random_factors(), mode=1), "one of [0, 2], got 1"),
        (
            lambda: interop.to_tensorly(random_factors(), 2, position=2),
            "position: expected a matrix of mode 2 from 0 to 1, got 2",
        ),
        (
            lambda: interop.to_frames(random_factors(), [Labels("x", np.arange(3))]),
            "labels: expected one entry per factor",
        ),
        (
            lambda: interop.volumes(np.ones((1, 1)), Labels("voxel", np.arange(1)), (1, 1, 1)),
            "columns x, y and z",
        ),
    ],
)
def test_what_cannot_be_converted_is_refused_in_one_sentence(call, words):
    with pytest.raises(ScoupError) as caught:
        call()
    assert words in str(caught.value)


def test_a_library_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ScoupError, match="xarray is not installed; install it"):
        interop.to_xarray(random_factors())


def voxels(count=4):
    return Labels(
        "voxel",
        np.arange(count),
        {"x": np.arange(count), "y": np.zeros(count, int), "z": np.arange(count) % 2},
    )


def test_a_nifti_file_holds_positions_sizes_and_warning():
    column = np.arange(1, 5, dtype=np.float32)
    grid = interop.volumes(column[:, None], voxels(), (5, 1, 2))[0]
    content = interop.to_nifti(grid, [3.0, 3.0, 6.0], "component1")
    image = nibabel.Nifti1Image.from_bytes(gzip.decompress(content))
    x, y, z = (voxels().columns[axis] for axis in "xyz")
    np.testing.assert_array_equal(image.get_fdata()[x, y, z], column)
    assert image.shape == (5, 1, 2)
    assert [float(size) for size in image.header.get_zooms()] == [3.0, 3.0, 6.0]
    assert b"no registration" in bytes(image.header["descrip"])
    assert interop.to_nifti(grid, [3.0, 3.0, 6.0], "component1") == content
