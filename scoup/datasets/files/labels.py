"""Files of labels: what the indices of a mode are called, and facts about them."""

import numpy as np

from scoup.errors import ScoupError
from scoup.formats import preview
from scoup.formats._arrays import refusing
from scoup.formats._labels import array_of
from scoup.records import Array
from scoup.text import lines

DELIMITERS = '\t;,"'


def read_labels(
    path: str, own: Array | None = None, keyed: bool = True
) -> tuple[Array, dict[str, Array]]:
    """Read the labels of a mode in its order: one per line, or a table with the labels first and
    facts about them.

    ``own`` are the labels that the mode has so far, or its positions if they are not ``keyed``:
    they tell whether the first line of a table of one column is its heading.
    """
    name = path.lower().removesuffix(".gz")
    if name.endswith(".npy"):
        with refusing(path, "a whole .npy file of labels"):
            ids = np.load(path, allow_pickle=False)
        if ids.ndim != 1 or ids.dtype.kind not in "biufU":
            raise ScoupError.expected(path, "a list of labels", f"shape {ids.shape} of {ids.dtype}")
        return ids, {}
    if name.endswith((".txt", ".csv", ".tsv")):
        texts = [_text(path, number, line) for number, line in lines(path)]
        if name.endswith(".txt"):
            return array_of(path, [text for text in texts if text]), {}
        if not any(set(DELIMITERS) & set(text) for text in texts):
            return array_of(path, _below_heading(path, [t for t in texts if t], own, keyed)), {}
    table = preview(path, None)
    if not table.rows:
        raise ScoupError.expected(path, "lines below the heading", "none")
    columns = [array_of(path, list(cells)) for cells in zip(*table.rows, strict=True)]
    return columns[0], dict(zip(table.names[1:], columns[1:], strict=True))


def _below_heading(path: str, texts: list[str], own: Array | None, keyed: bool) -> list[str]:
    """Drop the first line of one column, unless it is a label: of a mode with labels, one of them;
    of a mode with positions, one of as many as there are positions.
    """
    if not texts:
        raise ScoupError.expected(path, "labels, one per line", "none")
    if own is None:
        is_label = False
    elif keyed:
        is_label = texts[0] in set(np.asarray(own).astype(str).tolist())
    else:
        is_label = len(texts) <= len(own)
    if not (is_label or texts[1:]):
        raise ScoupError.expected(path, "lines below the heading", "none")
    return texts if is_label else texts[1:]


def _text(path: str, number: int, line: bytes) -> str:
    try:
        return line.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        got = repr(line[:40].decode("utf-8", "replace"))
        raise ScoupError.expected(f"{path}, line {number}", "text in UTF-8", got) from None
