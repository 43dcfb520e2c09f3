"""Labels: what the indices of a mode are called, of any type, mapped to whole numbers."""

import re
from datetime import date, time
from typing import Any

import numpy as np

from scoup.errors import ScoupError
from scoup.records import Array

LONGEST_LABEL = 256  # characters
_WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})")


class Coder:
    """Numbers the labels of one column in order of appearance."""

    def __init__(self) -> None:
        self.known: dict[Any, int] = {}

    def code(self, column: Any) -> Array:
        """Return the code of each line's label, or raise ValueError where a label is missing."""
        _check_kind(column.type)
        encoded = column if hasattr(column, "dictionary") else column.dictionary_encode()
        labels = [_plain(label) for label in encoded.dictionary.to_pylist()]
        if encoded.null_count or None in labels:
            raise ValueError("an empty cell")
        codes = [self.known.setdefault(label, len(self.known)) for label in labels]
        return np.array(codes, np.int32)[encoded.indices.to_numpy(zero_copy_only=False)]


def texts_of(column: Any) -> list[str]:
    """Return the labels of an Arrow column as texts, or raise ValueError where one is missing."""
    _check_kind(column.type)
    labels = [_plain(label) for label in column.to_pylist()]
    if None in labels:
        raise ValueError("an empty cell")
    return list(map(str, labels))


def _check_kind(kind: Any) -> None:
    """Refuse what has no text that names an index: lists, structs, bytes."""
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    is_binary = types.is_binary(kind) or types.is_large_binary(kind)
    if types.is_nested(kind) or is_binary or types.is_fixed_size_binary(kind):
        raise ValueError(f"cells of type {kind}")


def _plain(label: Any) -> Any:
    """Return a label as a number or a text; None for an empty one."""
    if isinstance(label, str):
        return label.strip() or None
    if isinstance(label, (bool, date, time)):
        return str(label)
    if isinstance(label, float) and not np.isfinite(label):
        return None
    return label if label is None or isinstance(label, (int, float)) else str(label)


def sorted_labels(name: str, labels: list[Any]) -> tuple[Array, Array]:
    """Return the labels sorted, as numbers if all of them are, and the new position of each.

    >>> ids, position = sorted_labels("t", ["10", "9", "2"])
    >>> ids.tolist(), position.tolist()
    ([2, 9, 10], [2, 1, 0])
    """
    ids = array_of(name, labels)
    order = np.argsort(ids, kind="stable")
    position = np.empty(len(labels), np.int32)
    position[order] = np.arange(len(labels), dtype=np.int32)
    return ids[order], position


def array_of(name: str, labels: list[Any]) -> Array:
    """Return labels as an array of whole numbers if all of them are, of other numbers, or of texts.

    >>> array_of("t", ["7", "12"]).tolist(), array_of("t", ["7", "007"]).tolist()
    ([7, 12], ['7', '007'])
    """
    texts = [label for label in labels if isinstance(label, str)]
    if any("\0" in text for text in texts):  # numpy drops it at the end of a text
        raise ScoupError.expected(name, "labels of text", "one with a NUL character")
    if len(texts) == len(labels):
        if all(_WHOLE.fullmatch(text) for text in texts) and "-0" not in texts:
            return np.array([int(text) for text in texts], np.int64)
        long = next((text for text in texts if len(text) > LONGEST_LABEL), None)
        if long is not None:
            raise ScoupError.expected(
                name, f"labels of at most {LONGEST_LABEL} characters", repr(long[:40] + "...")
            )
        return np.array(texts, np.str_)
    if texts or any(isinstance(label, int) and abs(label) >= 2**63 for label in labels):
        return array_of(name, [str(label) for label in labels])
    return np.array(labels)
