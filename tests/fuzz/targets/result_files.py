"""Result files: damage is noticed, or changes nothing that is read."""

import numpy as np

from scoup import store
from scoup.errors import ScoupError
from tests.fuzz import AcceptedDamage
from tests.fuzz.mutate import mutated

ARRAYS = {"a": np.arange(6.0).reshape(2, 3), "b": np.array(["x", "yz"]), "c": np.zeros(0, np.int32)}
META = {"shape": [2, 3], "name": "ü", "value": 0.25}


def prepare(folder):
    """Write one file of each kind and return how it is read."""
    large = {"a": np.arange(140_000.0)}
    store.write_archive(folder / "good.npz", "fit", META, ARRAYS)
    store.write_archive(folder / "large.npz", "fit", META, large)
    store.write_json(folder / "good.json", {"metrics": [META, META], "notes": {"a": None}})
    return [
        ((folder / "good.npz").read_bytes(), folder / "bad.npz", _archive),
        ((folder / "large.npz").read_bytes(), folder / "bad-large.npz", _archive),
        ((folder / "good.json").read_bytes(), folder / "bad.json", store.read_json),
        ((folder / "good.json").read_bytes(), folder / "bad.json", store.read_json),
    ], {}


def attempt(rng, material):
    """Damage a file and read it: an error that names it, or the same content as before."""
    files, known = material
    number = rng.choices(range(len(files)), (6, 1, 6, 6))[0]
    content, path, read = files[number]
    if number not in known:
        path.write_bytes(content)
        known[number] = repr(read(path))
    damaged = mutated(rng, content)
    path.write_bytes(damaged)
    try:
        found = repr(read(path))
    except ScoupError as error:
        if str(path) not in str(error):
            raise AssertionError(f"the file is not named: {error}") from None
        raise
    if found != known[number]:
        raise AcceptedDamage(found[:500])


def _archive(path):
    meta, arrays = store.read_archive(path, "fit")
    return meta, {
        name: (array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()
    }
