"""Images of things: which mode of a dense tensor are the things, and which the subjects.

BrainQ has nouns, voxels and subjects, and answers to questions about the nouns. In other data, the
things are the mode that the only matrix is on, and the subjects the mode with that role.
"""

from dataclasses import replace

import numpy as np

from scoup.block import Block
from scoup.coupled import CoupledData, Dataset
from scoup.errors import ScoupError
from scoup.experiments._suits import SUBJECT
from scoup.records import Array, Labels
from scoup.tensor import SparseTensor


def roles(dataset: Dataset) -> tuple[int, int]:
    """Return the modes of the things and of the subjects (the last other mode if no role says).

    >>> sizes = {"subject": 2, "noun": 3, "voxel": 4, "answer": 5}
    >>> labels = [Labels(name, np.arange(size)) for name, size in sizes.items()]
    >>> roles(Dataset(CoupledData(np.zeros((2, 3, 4)), {1: np.zeros((3, 5))}), labels))
    (1, 0)
    """
    data = dataset.data
    if len(data.blocks) != 2 or data.is_masked or data.blocks[0].is_sparse:
        got = f"{len(data.blocks) - 1} matrices" + (", cells missing" if data.is_masked else "")
        raise ScoupError.expected(
            "data", "a dense tensor without missing cells and one matrix", got
        )
    things = data.blocks[1].factors[0]
    others = [mode for mode in range(data.ndim) if mode != things]
    subjects = [mode for mode in others if dataset.labels[mode].role == SUBJECT]
    return things, (subjects or others)[-1]


def flattened(dataset: Dataset) -> Dataset:
    """Lay data out as (things, features, subjects), all modes in between flattened to features.

    >>> sizes = {"subject": 2, "noun": 3, "voxel": 4, "answer": 5}
    >>> labels = [Labels(name, np.arange(size)) for name, size in sizes.items()]
    >>> data = CoupledData(np.zeros((2, 3, 4)), {1: np.zeros((3, 5))})
    >>> images = flattened(Dataset(data, labels))
    >>> [label.name for label in images.labels], images.data.shape
    (['noun', 'voxel', 'subject', 'answer'], (3, 4, 2))
    """
    things, subjects = roles(dataset)
    between = [mode for mode in range(dataset.data.ndim) if mode not in (things, subjects)]
    if (things, *between, subjects) == (0, 1, 2) and not dataset.data.blocks[1].is_sparse:
        return dataset
    tensor, matrix = (dense(block) for block in dataset.data.blocks)
    tensor = tensor.transpose(things, *between, subjects)
    tensor = np.ascontiguousarray(tensor).reshape(tensor.shape[0], -1, tensor.shape[-1])
    labels = dataset.labels
    features = labels[between[0]]
    if len(between) > 1:
        name = " x ".join(labels[mode].name for mode in between)
        features = Labels(name, np.arange(tensor.shape[1]))
    return replace(
        dataset,
        data=CoupledData(tensor, {0: matrix}),
        labels=(labels[things], features, labels[subjects], labels[-1]),
    )


def dense(block: Block) -> Array:
    """Return the values of a block as a dense array."""
    values = block.values
    return values.to_dense() if isinstance(values, SparseTensor) else np.asarray(values)
