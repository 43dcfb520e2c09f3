"""The one exception of the package: an error that writes its own sentence."""

from __future__ import annotations

from typing import Any


class ScoupError(ValueError):
    """Raised for bad input, with what was wrong, what was expected and what to do.

    >>> raise ScoupError.expected("rank", "an integer of at least 1", 0)
    Traceback (most recent call last):
    ...
    scoup.errors.ScoupError: rank: expected an integer of at least 1, got 0.
    """

    @classmethod
    def expected(cls, name: str, expected: str, got: Any, hint: str = "") -> ScoupError:
        """Build the sentence ``name: expected ..., got ...; hint.``"""
        tail = f"; {hint}" if hint else ""
        return cls(f"{name}: expected {expected}, got {got}{tail}.")


class ScoupWarning(UserWarning):
    """Something a user should know that does not stop the work."""
