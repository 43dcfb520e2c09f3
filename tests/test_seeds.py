"""Generators by name."""

import pytest

from scoup import ScoupError
from scoup.seeds import generator


def test_each_name_has_a_separate_stream():
    paths = [(), ("a",), ("b",), ("a", 0), ("a", 1), ("a", "0"), (0, "a")]
    draws = [tuple(generator(7, *path).integers(2**60, size=3)) for path in paths]
    assert len(set(draws)) == len(paths)
    assert draws == [tuple(generator(7, *path).integers(2**60, size=3)) for path in paths]


@pytest.mark.parametrize("seed", [-1, 1.5, "0", True, None])
def test_bad_seeds_are_refused(seed):
    with pytest.raises(ScoupError, match="seed: expected a non-negative integer"):
        generator(seed)
