"""FROSTT files come back as the tensor that was written, or are refused with the line that is
wrong.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoup.errors import ScoupError
from scoup.formats.tns import parse_tns, read_tns, write_tns
from scoup.tensor import SparseTensor

values = st.floats(-1e300, 1e300).filter(lambda value: value != 0)
cells = st.integers(2, 5).flatmap(
    lambda order: st.lists(
        st.tuples(st.tuples(*[st.integers(0, 2**31 - 2)] * order), values), min_size=1, max_size=20
    )
)


@settings(max_examples=100, deadline=None)
@given(cells=cells)
def test_what_is_written_is_read(tmp_path_factory, cells):
    path = tmp_path_factory.getbasetemp() / "a.tns"
    path.write_text(
        "# a comment\n" + "".join(" ".join(str(i + 1) for i in c) + f" {v!r}\n" for c, v in cells)
    )
    coords, found = parse_tns(path)
    np.testing.assert_array_equal(coords.T, [c for c, _ in cells])
    np.testing.assert_array_equal(found, [v for _, v in cells])


def test_tensor_from_tns(tmp_path):
    (tmp_path / "a.tns").write_text("1 1 2 1.5\r\n2 3 1 -2e0\n\n1 1 2 1\n")
    X = read_tns(tmp_path / "a.tns")
    assert X.shape == (2, 3, 2)
    assert X.to_dense()[0, 0, 1] == 2.5
    assert X.to_dense()[1, 2, 0] == -2
    assert read_tns(tmp_path / "a.tns", (4, 4, 4)).shape == (4, 4, 4)


@pytest.mark.parametrize("name", ["a.tns", "a.tns.gz"])
def test_a_tensor_is_written_and_read(tmp_path, name):
    dense = np.array([[[0, 0.1], [2, 0]], [[0, 0], [0, -1e-300]]])
    write_tns(tmp_path / name, SparseTensor.from_dense(dense))
    assert np.array_equal(read_tns(tmp_path / name).to_dense(), dense)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("0 1 1 2", "'0 1 1 2'"),
        ("-1 1 1 2", "'-1 1 1 2'"),
        ("1.5 1 1 2", r"'1.5 1 1 2'"),
        ("1 1 2", "'1 1 2'"),
        ("1 1 1 1 2", "'1 1 1 1 2'"),
        ("1 1 1 nan", "'1 1 1 nan'"),
        ("1 1 1 1e999", "'1 1 1 1e999'"),
        ("1 1 1 --2", "'1 1 1 --2'"),
        ("a b c d", "'a b c d'"),
    ],
)
def test_bad_lines_are_named(tmp_path, line, shown):
    (tmp_path / "a.tns").write_text(f"1 1 1 2\n{line}\n1 1 1 2\n")
    with pytest.raises(
        ScoupError, match=rf"a.tns, line 2: expected indices from 1 and a value, .*, got {shown}"
    ):
        parse_tns(tmp_path / "a.tns")


def test_index_too_large(tmp_path):
    (tmp_path / "a.tns").write_text("1 1 2147483648 2\n")
    with pytest.raises(
        ScoupError, match=r"a.tns: expected indices up to 2147483647, got 2147483648"
    ):
        parse_tns(tmp_path / "a.tns")
