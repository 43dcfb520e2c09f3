"""A fuzzer that anyone can start: ``python -m tests.fuzz --minutes 10 --seed 0``.

What is attacked is found by listing ``tests/fuzz/targets``. A target declares

- ``prepare(folder)``: whatever its inputs are made from, written once;
- ``attempt(rng, material)``: make one input and try it. A :class:`ScoupError` of one sentence is a
  refusal and good; :class:`AcceptedDamage` or any other exception is a finding.

Inputs run in a forked process with limited memory and an alarm, so a crash, a hang or a large
allocation is a finding too. ``--replay TARGET NUMBER`` tries one input again, unprotected.
"""


class AcceptedDamage(AssertionError):
    """A damaged file was read as if it were whole, with other content."""
