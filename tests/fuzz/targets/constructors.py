"""Records and Specs of the public interface, from values of any kind."""

import numpy as np

from scoup import CoupledData, HeldOut, Observed, SparseTensor
from scoup.config import SECTIONS
from scoup.formats import Source
from scoup.seeds import check_seed
from scoup.specs import FitSpec, MergeSpec, PlanSpec, SampleSpec
from tests.fuzz.mutate import odd_array, odd_value

SPECS = (*SECTIONS.values(), FitSpec, MergeSpec, SampleSpec, PlanSpec, Source)


def prepare(folder):
    """Return good parts, of which one is replaced."""
    del folder
    coords, values = np.array([[0, 1, 1], [0, 1, 2], [1, 0, 1]]), np.array([1.0, 2.0, 3.0])
    return {"coords": coords, "values": values, "shape": (2, 3, 2)}


def attempt(rng, material):
    """Construct one record with one or two odd arguments."""
    rng.choice((_spec, _sparse, _coupled, _masks, _seed))(rng, material)


def _odd(rng, value, share=0.5):
    if rng.random() > share:
        return value
    return odd_array(rng) if rng.random() < 0.5 else odd_value(rng)


def _spec(rng, material):
    kind = rng.choice(SPECS)
    names = rng.sample(list(kind.model_fields), min(2, len(kind.model_fields)))
    settings = {name: odd_value(rng) for name in names}
    if rng.random() < 0.1:
        settings["unknown"] = 1
    kind(**settings)


def _sparse(rng, material):
    SparseTensor(*(_odd(rng, material[name]) for name in ("coords", "values", "shape")))


def _coupled(rng, material):
    tensor = SparseTensor(**material) if rng.random() < 0.5 else np.ones((2, 3, 2))
    matrices = {rng.choice((0, 1, 2, 3, -1, "a", 0.5)): _odd(rng, np.ones((2, 4)))}
    CoupledData(
        _odd(rng, tensor, 0.2), _odd(rng, matrices, 0.2), _odd(rng, None, 0.2),
        _odd(rng, None, 0.2), _odd(rng, None, 0.2),
    )  # fmt: skip


def _masks(rng, material):
    rng.choice((HeldOut, Observed))(_odd(rng, material["coords"]))


def _seed(rng, material):
    check_seed(odd_value(rng))
