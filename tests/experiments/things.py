"""Images of things of four categories, and answers about them."""

import numpy as np

from scoup.coupled import CoupledData, Dataset
from scoup.records import Labels
from scoup.seeds import generator

GRID, CATEGORIES, THINGS_EACH = (4, 5, 6), 4, 6
THINGS = CATEGORIES * THINGS_EACH


def nouns():
    """Nouns of four categories; three latent numbers per category make images and answers."""
    rng = generator(0, "test", "clusters")
    kinds = np.repeat(np.arange(CATEGORIES), THINGS_EACH)
    latent = 2 * rng.standard_normal((CATEGORIES, 3))[kinds]
    latent = latent + 0.2 * rng.standard_normal((THINGS, 3))
    size = int(np.prod(GRID))
    voxels, subjects = rng.standard_normal((size, 3)), 1 + rng.random((2, 3))
    images = np.einsum("if,jf,kf->ijk", latent, voxels, subjects)
    images += 0.5 * rng.standard_normal(images.shape) + 1.0
    answers = latent @ rng.standard_normal((3, 20)) + 0.1 * rng.standard_normal((THINGS, 20))
    x, y, z = np.unravel_index(np.arange(size), GRID)
    categories = np.array([f"kind{kind}" for kind in kinds])
    labels = [
        Labels("noun", np.array([f"noun{n}" for n in range(THINGS)]), {"category": categories}),
        Labels("voxel", np.arange(size), {"x": x, "y": y, "z": z}),
        Labels("subject", np.array(["P1", "P2"])),
        Labels("question", np.array([f"IS IT {n}?" for n in range(20)])),
    ]
    facts = {"grid": GRID, "voxel_mm": [3.0, 3.0, 6.0]}
    return Dataset(CoupledData(images, {0: answers}), labels, facts=facts)


def dishes():
    """The same in the words of a user: four modes, subjects first, and dishes instead of nouns."""
    dataset = nouns()
    images, answers = (np.asarray(block.values) for block in dataset.data.blocks)
    images = np.moveaxis(images, 2, 0).reshape(2, THINGS, 30, 4)
    names = np.array([f"dish{n}" for n in range(THINGS)])
    labels = [
        dataset.labels[2],
        Labels("dish", names, dataset.labels[0].columns),
        Labels("sensor", np.arange(30)),
        Labels("hour", np.arange(4)),
        Labels("taste", np.array([f"Taste{n} in $" for n in range(20)])),
    ]
    return Dataset(CoupledData(images, {1: answers}), labels)
