"""What every file format promises; a new module in scoup/formats inherits these tests."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoup import ScoupError, SparseTensor
from scoup.formats import Source, descriptions, endings, format_of, formats, is_table, peek, read
from scoup.formats import preview as preview_of
from scoup.seeds import generator

MODES = 3
ALL = {ending: module for module in formats() for ending in endings(module)}
DOCS = Path(__file__).resolve().parent.parent / "docs"


def example(module):
    """A small array with zeros, in which every index of every mode has some cell."""
    modes = min(MODES, getattr(module, "MAX_MODES", MODES))
    dense = generator(0, "test", "formats").poisson(0.7, (5, 4, 3)[:modes]).astype(float) / 4
    for mode in range(modes):
        dense[tuple(slice(None) if n == mode else 0 for n in range(modes))] += 1.5
    return dense


def write(module, ending, folder):
    """Write the example; gzipped, if the ending says so."""
    plain = folder / f"a{ending.removesuffix('.gz')}"
    module.write(str(plain), example(module))
    if not ending.endswith(".gz"):
        return plain
    packed = folder / f"a{ending}"
    packed.write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
    return packed


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A good file for each ending."""
    folder = tmp_path_factory.mktemp("formats")
    return {ending: write(module, ending, folder) for ending, module in ALL.items()}


def test_every_format_declares_itself():
    for module in formats():
        assert module.__doc__
        assert module.DESCRIPTION
        assert "\n" not in module.DESCRIPTION
        assert all(ending == ending.lower() and ending[0] == "." for ending in module.ENDINGS)
    count = sum(len(endings(module)) for module in formats())
    assert len(ALL) == count, "two formats share an ending"


@pytest.mark.parametrize("ending", ALL)
def test_what_is_written_is_read(written, ending):
    content = read(Source(file=str(written[ending])), listed=True)
    values = content.values
    is_sparse = isinstance(values, SparseTensor)
    assert np.array_equal(values.to_dense() if is_sparse else values, example(ALL[ending]))
    assert (content.listed is not None) == is_sparse
    assert tuple(map(len, content.ids)) == values.shape
    assert len(content.names) == len(values.shape)


@pytest.mark.parametrize("ending", ALL)
@pytest.mark.parametrize("transpose", [False, True])
def test_a_peek_agrees_with_what_is_read(written, ending, transpose):
    source = Source(file=str(written[ending]), transpose=transpose)
    head, content = peek(source), read(source)
    assert head.names == content.names
    assert head.order == len(content.names)
    assert head.sparse == isinstance(content.values, SparseTensor)
    assert head.shape in (None, content.values.shape)


@pytest.mark.parametrize("ending", ALL)
def test_names_of_the_axes_are_taken_or_refused(written, ending):
    order = example(ALL[ending]).ndim
    if is_table(written[ending]):
        names = [f"mode{n}" for n in reversed(range(order))]
    else:
        names = [f"axis {n}" for n in range(order)]
    assert read(Source(file=str(written[ending]), columns=names)).names == tuple(names)
    for look in (read, peek):
        with pytest.raises(ScoupError, match="expected"):
            look(Source(file=str(written[ending]), columns=["x"]))


@pytest.mark.parametrize("ending", [ending for ending in ALL if is_table(f"a{ending}")])
def test_a_table_can_be_previewed(written, ending):
    path, array = str(written[ending]), example(ALL[ending])
    assert preview_of(path).rows == []
    assert preview_of(path).names[-1] == "value"
    assert len(preview_of(path, 2).rows) == 2
    rows = np.array(preview_of(path, None).rows, float)
    assert np.array_equal(array[tuple(rows[:, :-1].astype(int).T)], rows[:, -1])
    assert len(rows) == np.count_nonzero(array)


@pytest.mark.parametrize("ending", ALL)
def test_no_such_file_is_one_sentence(tmp_path, ending):
    path = str(tmp_path / f"none{ending}")
    for look in (read, peek):
        with pytest.raises(ScoupError, match=r"none.*: expected .*, got no such file\.$"):
            look(Source(file=path))


def refusal(look, source):
    """What a reader says of a file it refuses, None if it takes it; anything but a sentence of
    ours goes through.
    """
    try:
        look(source)
    except ScoupError as error:
        return str(error)
    return None


@pytest.mark.parametrize("ending", ALL)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused_in_one_sentence(written, tmp_path_factory, ending, data):
    content = bytearray(written[ending].read_bytes())
    cut = data.draw(st.integers(0, len(content)))
    content = content[:cut] if data.draw(st.booleans()) else content
    for position in data.draw(st.lists(st.integers(0, max(len(content) - 1, 0)), max_size=4)):
        if content:
            content[position] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / f"damaged{ending}"
    path.write_bytes(content)
    layouts = ("long", "wide") if is_table(path) else ("long",)
    for layout in layouts:
        for look in (read, peek):
            sentence = refusal(look, Source(file=str(path), layout=layout))
            assert sentence is None or (
                str(path) in sentence and "\n" not in sentence and sentence.endswith(".")
            )


def test_an_unknown_ending_is_refused_with_the_known_ones():
    with pytest.raises(ScoupError, match="expected a name that ends in one of") as error:
        format_of("a.xls")
    assert all(ending in str(error.value) for ending in ALL)


def test_the_table_in_the_documentation_is_the_list():
    rows = [f"| {name} | {description} |" for name, description in descriptions()]
    assert "\n".join(rows) in (DOCS / "files.md").read_text()
