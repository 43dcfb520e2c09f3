"""Exceptions and warnings of the package."""

from __future__ import annotations

from typing import Any

MAX_SHOWN = 300  # characters


class ScoupError(ValueError):
    """Bad input: one sentence with what was expected, what was found and what to do.

    >>> raise ScoupError.expected("rank", "an integer of at least 1", 0)
    Traceback (most recent call last):
    ...
    scoup.errors.ScoupError: rank: expected an integer of at least 1, got 0.
    """

    @classmethod
    def expected(cls, name: str, expected: str, got: Any, hint: str = "") -> ScoupError:
        """Build the sentence ``name: expected ..., got ...; hint.``"""
        tail = f"; {hint}" if hint else ""
        words = " ".join(str(got).split())  # an array is printed on several lines
        shown = words[:MAX_SHOWN] + ("..." if len(words) > MAX_SHOWN else "")
        return cls(f"{name}: expected {expected}, got {shown}{tail}.")


class DamagedFileError(ScoupError):
    """A result file is damaged; ``path`` names it, so that it can be removed and rebuilt."""

    def __init__(self, path: str, kind: str, why: Any) -> None:
        super().__init__(
            f"{path}: expected a whole {kind} file, got a damaged one ({why}); "
            "delete it and run again."
        )
        self.path = path


class NotFittedError(ScoupError, AttributeError):
    """An estimator was used before ``fit``.

    An AttributeError, too, so that ``hasattr`` is False for what ``fit`` sets.
    """

    @classmethod
    def of(cls, estimator: Any) -> NotFittedError:
        """Name the estimator and what to do.

        >>> str(NotFittedError.of("model"))
        'str is not fitted yet; call fit first.'
        """
        return cls(f"{type(estimator).__name__} is not fitted yet; call fit first.")


class ScoupWarning(UserWarning):
    """Something the user should know that is not an error."""
