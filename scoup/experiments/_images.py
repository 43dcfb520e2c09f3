"""Images of things: which modes of a dense tensor are the things, and which the subjects.

BrainQ has nouns, voxels and subjects, and answers about the nouns. In any other data the things are the mode that the
one matrix is on, and subjects the mode of that name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.coupled import Block, CoupledData, Dataset
from scoup.errors import ScoupError
from scoup.experiments._suits import SUBJECT
from scoup.records import Labels
from scoup.tensor import SparseTensor

Array = NDArray[Any]


def roles(dataset: Dataset) -> tuple[int, int]:
    """Return the mode of the things, which the one matrix is on, and that of the subjects, or the last other one.

    >>> labels = [Labels(name, np.arange(n)) for name, n in (("subject", 2), ("noun", 3), ("voxel", 4), ("answer", 5))]
    >>> roles(Dataset(CoupledData(np.zeros((2, 3, 4)), {1: np.zeros((3, 5))}), labels))
    (1, 0)
    """
    data = dataset.data
    if len(data.blocks) != 2 or data.is_masked or data.blocks[0].is_sparse:
        what = f"{len(data.blocks) - 1} matrices" + (", cells missing" if data.is_masked else "")
        raise ScoupError.expected(
            "data", "a dense tensor without missing cells and one matrix", what
        )
    things = data.blocks[1].factors[0]
    others = [mode for mode in range(data.ndim) if mode != things]
    called = [mode for mode in others if dataset.labels[mode].name == SUBJECT]
    return things, (called or others)[-1]


def flattened(dataset: Dataset) -> Dataset:
    """Lay data out as (things, features, subjects): where several modes lie between, each combination is a feature.

    >>> labels = [Labels(name, np.arange(n)) for name, n in (("subject", 2), ("noun", 3), ("voxel", 4), ("answer", 5))]
    >>> found = flattened(Dataset(CoupledData(np.zeros((2, 3, 4)), {1: np.zeros((3, 5))}), labels))
    >>> [label.name for label in found.labels], found.data.shape
    (['noun', 'voxel', 'subject', 'answer'], (3, 4, 2))
    """
    things, subjects = roles(dataset)
    between = [mode for mode in range(dataset.data.ndim) if mode not in (things, subjects)]
    if (things, *between, subjects) == (0, 1, 2) and not dataset.data.blocks[1].is_sparse:
        return dataset
    tensor, matrix = (dense(block) for block in dataset.data.blocks)
    tensor = tensor.transpose(things, *between, subjects)
    tensor = np.ascontiguousarray(tensor).reshape(tensor.shape[0], -1, tensor.shape[-1])
    label, own = dataset.labels, " x ".join(dataset.labels[mode].name for mode in between)
    middle = label[between[0]] if len(between) == 1 else Labels(own, np.arange(tensor.shape[1]))
    data = CoupledData(tensor, {0: matrix})
    return replace(dataset, data=data, labels=(label[things], middle, label[subjects], label[-1]))


def dense(block: Block) -> Array:
    """Return the values of a block as an array."""
    return (
        block.values.to_dense()
        if isinstance(block.values, SparseTensor)
        else np.asarray(block.values)
    )
