"""A few seconds of the fuzzer; ``python -m tests.fuzz --minutes 10`` runs for longer."""

import pytest

from scoup import ScoupError
from tests.fuzz import AcceptedDamage
from tests.fuzz.run import fuzz, judge, names

MAX_SECONDS, INPUTS = 60, 150


@pytest.mark.parametrize("name", names())
def test_nothing_but_sentences_comes_out(name, tmp_path):
    counts, findings, peak = fuzz(MAX_SECONDS, seed=0, only=[name], inputs=INPUTS)
    assert findings == []
    assert sum(counts[name].values()) > 0
    assert peak < 1 << 30


class Target:
    """Raises what it is told to."""

    def __init__(self, error):
        self.error = error

    def attempt(self, rng, material):
        raise self.error


def test_what_counts_as_a_finding():
    assert judge(Target(ScoupError("a: expected b, got c.")), None, None) == "refused"
    for error in (ValueError("x"), MemoryError(), AcceptedDamage(), ScoupError("two\nlines.")):
        assert judge(Target(error), None, None) not in ("taken", "refused")
