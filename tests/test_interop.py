"""Factors leave for other libraries and come back the same, with their labels."""

import gzip
import sys

import nibabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoup import Factors, ScoupError, interop
from scoup.factors import matrix_of, tensor_of
from scoup.records import Labels


def some(seed=0, rank=2, sides=True):
    rng = np.random.default_rng(seed)
    modes = tuple(rng.standard_normal((n, rank)) for n in (4, 5, 6))
    beside = (
        {0: rng.standard_normal((3, rank)), 2: [rng.standard_normal((n, rank)) for n in (2, 7)]}
        if sides
        else {}
    )
    return Factors(rng.uniform(1, 2, rank), modes, beside)


def labels_of(factors):
    names = ["noun", "voxel", "subject", "question", "age", "voxel"][: len(factors.flat)]
    return [
        Labels(
            name, np.array([f"{name}{n}" for n in range(len(f))]), {"half": np.arange(len(f)) / 2}
        )
        for name, f in zip(names, factors.flat, strict=True)
    ]


def same(one, other):
    assert set(one.sides) == set(other.sides)
    np.testing.assert_array_equal(one.weights, other.weights)
    for mine, theirs in zip(
        [*one.flat, *one.coverage], [*other.flat, *other.coverage], strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 4), st.booleans())
def test_tables_come_back_the_same(seed, rank, sides):
    factors = some(seed, rank, sides)
    back, labels = interop.from_frames(interop.to_frames(factors, labels_of(factors)))
    same(factors, back)
    assert [label.name for label in labels][:3] == ["noun", "voxel", "subject"]
    assert labels[0].ids.tolist() == [f"noun{n}" for n in range(4)]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 4), st.booleans())
def test_xarray_comes_back_the_same_with_its_labels(seed, rank, sides):
    factors = some(seed, rank, sides)
    back, labels = interop.from_xarray(interop.to_xarray(factors, labels_of(factors)))
    same(factors, back)
    for mine, theirs in zip(labels_of(factors), labels, strict=True):
        assert mine.ids.tolist() == theirs.ids.tolist()
        assert mine.columns["half"].tolist() == theirs.columns["half"].tolist()


def test_a_table_is_asked_by_label_and_component():
    factors = some()
    frame = interop.to_frames(factors, labels_of(factors))["noun"]
    assert frame.loc["noun2", 1] == factors.modes[0][2, 0]
    found = interop.to_xarray(factors, labels_of(factors))
    assert found["factor_voxel"].sel(voxel="voxel3", component=2).item() == factors.modes[1][3, 1]


def test_two_factors_of_one_name_keep_apart():
    frames = interop.to_frames(some(), labels_of(some()))
    assert "voxel" in frames
    assert "voxel_5" in frames


def test_rows_that_were_never_sampled_are_missing_there_and_uncovered_here():
    factors = some(sides=False)
    seen = tuple(np.arange(len(f)) > 0 for f in factors.flat)
    zeroed = [f * s[:, None] for f, s in zip(factors.flat, seen, strict=True)]
    factors = Factors(factors.weights, tuple(zeroed), {}, seen)
    frames = interop.to_frames(factors)
    assert frames["mode0"].iloc[0].isna().all()
    same(factors, interop.from_frames(frames)[0])
    same(factors, interop.from_xarray(interop.to_xarray(factors))[0])


def test_a_coupled_model_of_tensorly_comes_back_the_same():
    factors = some()
    back = interop.from_tensorly(
        interop.to_tensorly(factors), {0: interop.to_tensorly(factors, mode=0)}
    )
    np.testing.assert_allclose(tensor_of(back), tensor_of(factors))
    np.testing.assert_allclose(matrix_of(back, 0), matrix_of(factors, 0))
    second = interop.to_tensorly(factors, mode=2, position=1)
    np.testing.assert_allclose(second[1][0] @ second[1][1].T, matrix_of(factors, 2, 1))


def test_the_scale_of_a_matrix_goes_to_its_side_factor():
    factors = some(sides=False)
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
        (lambda: interop.from_tensorly(interop.to_tensorly(some()), {7: 0}), "modes from 0 to 2"),
        (
            lambda: interop.from_tensorly(
                interop.to_tensorly(some()), {0: interop.to_tensorly(some(1), 0)}
            ),
            "up to the scale",
        ),
        (lambda: interop.to_tensorly(some(), mode=1), "a coupled mode among [0, 2]"),
        (lambda: interop.from_frames({}), "one called 'weights'"),
        (
            lambda: interop.to_frames(some(), [Labels("x", np.arange(3))]),
            "labels: expected one entry a factor",
        ),
        (
            lambda: interop.volumes(np.ones((1, 1)), Labels("voxel", np.arange(1)), (1, 1, 1)),
            "columns x, y and z",
        ),
    ],
)
def test_what_cannot_be_converted_is_refused_in_a_sentence(call, words):
    with pytest.raises(ScoupError) as caught:
        call()
    assert words in str(caught.value)


def test_a_library_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ScoupError, match="xarray is not installed; install it"):
        interop.to_xarray(some())


def voxels(count=4):
    return Labels(
        "voxel",
        np.arange(count),
        {"x": np.arange(count), "y": np.zeros(count, int), "z": np.arange(count) % 2},
    )


def test_a_nifti_file_gives_back_places_sizes_and_warning():
    column = np.arange(1, 5, dtype=np.float32)
    grid = interop.volumes(column[:, None], voxels(), (5, 1, 2))[0]
    content = interop.to_nifti(grid, [3.0, 3.0, 6.0], "component1")
    np.testing.assert_array_equal(interop.from_nifti(content, voxels()), column)
    image = nibabel.Nifti1Image.from_bytes(gzip.decompress(content))
    assert image.shape == (5, 1, 2)
    assert [float(size) for size in image.header.get_zooms()] == [3.0, 3.0, 6.0]
    assert b"no registration" in bytes(image.header["descrip"])
    assert interop.to_nifti(grid, [3.0, 3.0, 6.0], "component1") == content
