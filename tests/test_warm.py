"""Warming compiles all that fits need."""

import gc
import os

from numba.core.dispatcher import Dispatcher

from scoup import CMTF, SCOUP
from scoup.warm import forget_stale_code, warm
from tests.planted import as_sparse, hide, planted


def compiled():
    """Return every kernel with the types that it has been compiled for."""
    # By type(), as isinstance() fails on weak references to what is gone.
    dispatchers = (item for item in gc.get_objects() if issubclass(type(item), Dispatcher))
    kernels = (kernel for kernel in dispatchers if "scoup" in kernel.py_func.__module__)
    return {
        (kernel.py_func.__qualname__, id(kernel), str(types))
        for kernel in kernels
        for types in kernel.signatures
    }


def test_fits_of_other_shapes_and_ranks_compile_nothing_more():
    warm()
    before = compiled()
    assert len(before) > 20
    data, _ = planted((12, 40, 11), 3, seed=1, noise=0.1)
    for form in (
        data,
        hide(data, 0.2, seed=2),
        *as_sparse(data),
        *as_sparse(hide(data, 0.2, seed=2)),
    ):
        for rank in (3, 11, 20):
            CMTF(rank, max_iter=2).fit(form)
    for form in (data, *as_sparse(data)):
        SCOUP(3, sampling=2, repetitions=2, finish="refit", max_iter=2).fit(form)
    assert compiled() == before


def test_code_older_than_any_source_is_compiled_again(tmp_path):
    (tmp_path / "__pycache__").mkdir()
    ages = {"caller.py": 30, "called.py": 10, "__pycache__/old.nbc": 20, "__pycache__/new.nbi": 5}
    for name, age in ages.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    forget_stale_code(tmp_path)
    assert [file.name for file in (tmp_path / "__pycache__").iterdir()] == ["new.nbi"]
