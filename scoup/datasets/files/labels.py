"""Files of labels: what the indices of a mode are called, and facts about them."""

import numpy as np

from scoup.errors import ScoupError
from scoup.formats import preview
from scoup.formats._arrays import refusing
from scoup.formats._labels import array_of
from scoup.records import Array
from scoup.text import lines


def read_labels(path: str) -> tuple[Array, dict[str, Array]]:
    """Read the labels of a mode in its order: one per line, or a table with the labels first and
    facts about them.
    """
    name = path.lower().removesuffix(".gz")
    if name.endswith(".npy"):
        with refusing(path, "a whole .npy file of labels"):
            ids = np.load(path, allow_pickle=False)
        if ids.ndim != 1 or ids.dtype.kind not in "biufU":
            raise ScoupError.expected(path, "a list of labels", f"shape {ids.shape} of {ids.dtype}")
        return ids, {}
    if name.endswith(".txt"):
        texts = [_text(path, number, line) for number, line in lines(path)]
        return array_of(path, [text for text in texts if text]), {}
    table = preview(path, None)
    if not table.rows:
        raise ScoupError.expected(path, "lines below the heading", "none")
    columns = [array_of(path, list(cells)) for cells in zip(*table.rows, strict=True)]
    return columns[0], dict(zip(table.names[1:], columns[1:], strict=True))


def _text(path: str, number: int, line: bytes) -> str:
    try:
        return line.decode().strip()
    except UnicodeDecodeError:
        got = repr(line[:40].decode("utf-8", "replace"))
        raise ScoupError.expected(f"{path}, line {number}", "text in UTF-8", got) from None
