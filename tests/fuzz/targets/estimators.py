"""The estimators: odd data, odd parameters, odd questions to a fitted one."""

import contextlib
import inspect
import io
from numbers import Real

import numpy as np

from scoup import CMTF, SCOUP, CoupledData
from tests.fuzz.mutate import odd_array, odd_value


def prepare(folder):
    """Return good data and a fitted estimator."""
    del folder
    rng = np.random.default_rng(0)
    tensor, matrix = rng.random((4, 5, 3)), rng.random((4, 2))
    return tensor, matrix, CMTF(rank=2, max_iter=3).fit(CoupledData(tensor, {0: matrix}))


def attempt(rng, material):
    """Fit an estimator with one odd parameter or odd data, or ask a fitted one."""
    tensor, matrix, fitted = material
    if rng.random() < 0.4:
        ask = rng.choice((fitted.transform, fitted.predict))
        _, *names = inspect.signature(ask).parameters
        rows = odd_array(rng) if rng.random() < 0.5 else np.ones((1, 2))
        ask(rows, **{name: odd_value(rng) for name in rng.sample(names, rng.randint(0, 2))})
        return
    kind = rng.choice((CMTF, SCOUP))
    names = [name for name in inspect.signature(kind).parameters if name not in ("max_iter",)]
    settings = {"rank": 2, "max_iter": 2}
    if rng.random() < 0.7:
        settings[rng.choice(names)] = odd_value(rng)
    if rng.random() < 0.5:
        tensor = odd_array(rng)
    if rng.random() < 0.3:
        matrix = odd_array(rng)
    # Whoever asks for 2^63 repetitions gets them.
    for name, value in settings.items():
        if isinstance(value, Real) and name != "seed":
            settings[name] = min(value, type(value)(100))
    with contextlib.redirect_stderr(io.StringIO()):
        kind(**settings).fit(CoupledData(tensor, {rng.choice((0, 0, 0, 0, 1, "a")): matrix}))
