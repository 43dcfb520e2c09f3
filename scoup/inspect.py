"""What a data set looks like, what it will take to factorize it, and what to try first."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil, prod
from typing import Any

import numpy as np

from scoup.block import Block
from scoup.coupled import CoupledData, Dataset
from scoup.formats import is_table
from scoup.records import Array, Labels
from scoup.roles import STATED, RoleGuess
from scoup.sample import densities, draw
from scoup.specs import SampleSpec
from scoup.streamed import StreamedTensor
from scoup.tensor import SparseTensor

TOP_LABELS = 5
FIRST_RANK = 5
SAMPLING_FACTORS = (2, 3, 5, 10, 20, 50, 100)  # that are tried
MIN_SAMPLE_CELLS = 20_000  # of sparse data, so that components mean something
DENSE_SAMPLE_CELLS = 200_000  # of dense data: a fit of a tenth of a second
# A sample of a long dense mode alone: the largest component of its noise is at most so many times
# as large as in data of any length, it has some hundred rows, and a fit takes a second at most.
MAX_NOISE_RATIO = 1.4
MIN_LONG_SAMPLE_INDICES = 500
MAX_LONG_SAMPLE_CELLS = 2_000_000
# Repetitions of such samples, as one fit in several ends in a poor local minimum, and of others,
# which hold few of the rows each.
LONG_SAMPLE_REPETITIONS, REPETITIONS = 2, 4
# Of a sample; its cost differs from that of another one by far more.
SAMPLE_TOL = 1e-5
PROGRAM_BYTES = 150_000_000  # before any data
MIN_SAMPLE_INDICES = 50  # of a mode


def inspect(dataset: Dataset, rank: int = FIRST_RANK) -> dict[str, Any]:
    """Return plain facts about a data set: its tensor, its matrices, memory, and advice."""
    data, labels = dataset.data, dataset.labels
    rank = min(rank, sorted(data.shape)[-2])
    plan = advise_plan(data, rank)
    return {
        "tensor": {**_block(data.blocks[0]), "modes": _modes(data, labels)},
        "matrices": [
            {**_block(block), "mode": rows.name, "columns": columns.name, "left_out": left_out}
            for block, rows, columns, left_out in _matrices(dataset)
        ],
        "memory": {"data": data.nbytes, "fit": fit_bytes(data, rank)},
        "advice": {
            **plan,
            "solver": "als",
            "weights": "balanced" if len(data.blocks) > 1 else "paper",
            "because": advice(data, plan),
        },
    }


def _matrices(dataset: Dataset) -> Iterator[tuple[Block, Labels, Labels, int]]:
    """Yield each matrix, the labels of its rows and columns, and how many rows were left out."""
    for block, left_out in zip(dataset.data.blocks[1:], dataset.facts["left_out"], strict=True):
        rows, columns = (dataset.labels[position] for position in block.factors)
        yield block, rows, columns, left_out


def _block(block: Block) -> dict[str, Any]:
    cells, values = prod(block.shape), block.values
    filled = int(np.count_nonzero(values)) if isinstance(values, np.ndarray) else values.nnz
    return {
        "shape": list(block.shape),
        "sparse": block.is_sparse,
        "cells": cells,
        "nonzeros": filled,
        "density": filled / cells,
        "missing": 1 - block.observed / cells,
        "values": _range(values),
    }


def _range(values: Any) -> dict[str, Any]:
    """Range of the values, and whether all are whole numbers."""
    if isinstance(values, StreamedTensor):
        return {"least": values.least, "most": values.most, "whole": values.whole}
    numbers = values.values if isinstance(values, SparseTensor) else values
    return {
        "least": float(numbers.min()) if numbers.size else 0.0,
        "most": float(numbers.max()) if numbers.size else 0.0,
        "whole": bool((numbers == np.rint(numbers)).all()),
    }


def _modes(data: CoupledData, labels: Sequence[Labels]) -> list[dict[str, Any]]:
    """Size, empty indices and heaviest indices of each mode of the tensor."""
    tensor = CoupledData(data.blocks[0].values, tensor_mask=data.blocks[0].mask)
    modes = []
    for label, weight in zip(labels, densities(tensor), strict=False):
        heavy = np.argsort(-weight, kind="stable")[:TOP_LABELS]
        total = float(weight.sum()) or 1.0
        top = [
            {"label": str(label.ids[n]), "index": int(n), "share": float(weight[n]) / total}
            for n in heavy
        ]
        empty = int(np.count_nonzero(weight == 0))
        modes.append({"name": label.name, "size": len(label), "empty": empty, "heaviest": top})
    return modes


def fit_bytes(data: CoupledData, rank: int) -> int:
    """Estimate the bytes of reading and fitting all of the data: the program, the data, and what
    is made of it. A tensor on disk stays there.

    A sparse block is sorted when it is read, which takes some 28 bytes per cell for a while; dense
    data is mapped.

    >>> fit_bytes(CoupledData(np.ones((10, 10, 10))), 1) > 8000
    True
    """
    sparse = [block.values for block in data.blocks if isinstance(block.values, SparseTensor)]
    sorting = sum(cells.nnz * max(28, 4 * (cells.ndim - 1)) for cells in sparse)
    held = sum(block.values.nbytes for block in data.blocks if not block.is_streamed)
    dense = held - sum(cells.nbytes for cells in sparse)
    masks = sum(
        9 * prod(block.shape)
        for block in data.blocks
        if block.mask is not None and not block.is_sparse
    )
    return int(
        held + sorting + 0.3 * dense + masks + 4 * 8 * rank * sum(data.sizes) + PROGRAM_BYTES
    )


def advise_plan(data: CoupledData, rank: int) -> dict[str, Any]:
    """Return settings of SCOUP to begin with, by name.

    >>> plan = advise_plan(CoupledData(np.ones((20, 4000, 5))), rank=2)
    >>> plan["sampling"], plan["repetitions"]
    ([1.0, 8.0, 1.0], 2)
    """
    long, tensor = _long_mode_sampling(data), data.blocks[0]
    return {
        "rank": rank,
        "sampling": long or advise_sampling(data, rank),
        "repetitions": LONG_SAMPLE_REPETITIONS if long else REPETITIONS,
        "init": "random" if tensor.is_sparse else "tucker" if long else "parafac",
        "tol": SAMPLE_TOL,
        "finish": "refit" if tensor.is_sparse and not tensor.is_streamed else "complete",
    }


def _long_mode_sampling(data: CoupledData) -> list[float] | None:
    """Return factors that sample the longest mode of dense data alone, if that is enough.

    Its rows follow from the other factors in one product when SCOUP completes the model, so a
    sample needs as many of them as tell components from noise. Relative to the data, the largest
    component of the noise in n rows is ``1 + a / sqrt(n)`` times as large as in any number of rows,
    where a sums the square roots of the other sizes: see
    :func:`scoup.merges._shared.noise_share`.
    """
    shape, mode = data.shape, int(np.argmax(data.shape))
    if data.blocks[0].is_sparse:
        return None
    roots = sum(size**0.5 for n, size in enumerate(shape) if n != mode)
    enough = max((roots / (MAX_NOISE_RATIO - 1)) ** 2, MIN_LONG_SAMPLE_INDICES)
    factor = float(f"{shape[mode] / enough:.2g}")
    if factor < SAMPLING_FACTORS[0] or prod(shape) / factor > MAX_LONG_SAMPLE_CELLS:
        return None
    return [factor if n == mode else 1.0 for n in range(data.ndim)]


def advise_sampling(data: CoupledData, rank: int) -> list[float]:
    """Return one sampling factor per mode, such that a sample is small and still holds enough to
    tell components apart.
    """
    most = [max(1.0, size / max(MIN_SAMPLE_INDICES, 5 * (rank + 1))) for size in data.shape]
    if data.blocks[0].is_sparse:
        return _sparse_sampling(data, rank, most)
    factors, wanted = [1.0] * data.ndim, prod(data.shape) / DENSE_SAMPLE_CELLS
    for mode in np.argsort(-np.array(data.shape), kind="stable"):
        factors[mode] = _nice(min(max(wanted, 2.0), most[mode]))
        wanted /= factors[mode]
    return factors


def _sparse_sampling(data: CoupledData, rank: int, most: Sequence[float]) -> list[float]:
    """Try factors from small to large and keep the last whose sample, drawn with a bias, holds
    enough cells.
    """
    density, chosen = densities(data), [1.0] * data.ndim
    trials = [[_nice(min(float(s), limit)) for limit in most] for s in SAMPLING_FACTORS]
    indices = []
    for trial in trials:
        (sample,) = draw(data, SampleSpec(rank=rank, sampling=trial, repetitions=1), 0, density)
        indices.append(sample.indices[: data.ndim])
    tensor = data.blocks[0].values
    if isinstance(tensor, StreamedTensor):
        counts: Iterable[int] = tensor.count_all(indices)
    else:
        assert isinstance(tensor, SparseTensor)
        counts = (_held(tensor, trial) for trial in indices)
    for trial, count in zip(trials, counts, strict=True):
        if count < min(MIN_SAMPLE_CELLS, tensor.nnz // 4):
            break
        chosen = trial
    return chosen


def _held(tensor: SparseTensor, indices: Sequence[Array]) -> int:
    """Count the cells of a sample."""
    inside = np.ones(tensor.nnz, dtype=bool)
    for coord, index, size in zip(tensor.coords, indices, tensor.shape, strict=False):
        is_drawn = np.zeros(size, dtype=bool)
        is_drawn[index] = True
        inside &= is_drawn[coord]
    return int(np.count_nonzero(inside))


def _nice(factor: float) -> float:
    """Round down to 1, 2, 3, 5, 10, 20 and so on.

    >>> _nice(7.5), _nice(1.5), _nice(230.0)
    (5.0, 1.0, 200.0)
    """
    return float(max((n for n in (1, *SAMPLING_FACTORS, 200, 500, 1000) if n <= factor), default=1))


def advice(data: CoupledData, plan: Mapping[str, Any]) -> list[str]:
    """Say in sentences what to try first and why."""
    rank, sampling = plan["rank"], plan["sampling"]
    sizes = [ceil(size / factor) for size, factor in zip(data.shape, sampling, strict=True)]
    shape = " x ".join(map(str, sizes))
    why = f"a sample keeps {shape} indices, the heavy ones more often"
    if max(sampling) == 1:
        why = "the data is too small to be sampled, a sample is all of it"
    elif plan["repetitions"] == LONG_SAMPLE_REPETITIONS:
        why = (
            f"a sample keeps {shape} indices, enough of the longest mode to tell components from "
            "noise; finish 'complete' computes its other rows"
        )
    return [
        f"rank {rank} to begin with; the experiment 'rank' looks at several and recommends one, "
        "or none",
        f"sampling {[float(f'{s:g}') for s in sampling]}, {plan['repetitions']} repetitions, "
        f"tol {plan['tol']:g}: {why}",
        *_about_solver(data, plan["init"]),
        *_about_weights(data),
        *_about_values(data),
    ]


def _about_solver(data: CoupledData, init: str) -> list[str]:
    if data.is_masked:
        return ["solver als: missing cells are left out exactly, with a small system for each row"]
    if data.blocks[0].is_streamed:
        return [
            "solver als, init random: the tensor stays on disk, and each sweep reads it once per "
            "mode; SCOUP with finish 'complete' reads it about 16 times in all"
        ]
    if data.blocks[0].is_sparse:
        return [
            "solver als, init random: sparse data is never made dense; 'reference' and 'speedup' "
            "would make it so"
        ]
    start = ", after a start in its leading directions" if init == "tucker" else ""
    return [f"solver als, init {init}: a long dense mode is compressed if that pays{start}"]


def _about_weights(data: CoupledData) -> list[str]:
    norms = [block.norm2 for block in data.blocks]
    if len(norms) < 2:
        return []
    most, least = max(norms), min(norms)
    return [
        f"weights balanced: the squares of one block are {most / (least or 1):.3g} times those of "
        "another"
    ]


def _about_values(data: CoupledData) -> list[str]:
    block = data.blocks[0]
    if not isinstance(block.values, SparseTensor) or not block.values.nnz:
        return []
    squares = np.square(block.values.values)
    few = max(1, squares.size // 1000)
    share = float(np.partition(squares, -few)[-few:].sum() / squares.sum())
    if share < 0.2:
        return []
    return [
        f"one cell in a thousand holds {100 * share:.0f} % of the squares: components will be "
        "about those cells"
    ]


def text(facts: Mapping[str, Any]) -> str:
    """Write facts for people to read; ``options`` among them say which files were read, and how."""
    tensor, options = facts["tensor"], facts["options"]
    source = options["tensor"]
    on_disk = isinstance(source, str)  # the folder of its shards
    files = [source if on_disk else source["file"]]
    files += [matrix["file"] for matrix in options.get("matrices", [])]
    lines = [_line(files[0], tensor), *([] if on_disk else _values(source))]
    for mode in tensor["modes"]:
        heavy = ", ".join(f"{top['label']} {_percent(top['share'])}" for top in mode["heaviest"])
        empty = f", {mode['empty']} empty" if mode["empty"] else ""
        lines.append(f"  {mode['name']:<12} {mode['size']:>9,}{empty}   heaviest: {heavy}")
    for file, matrix in zip(files[1:], facts["matrices"], strict=True):
        others = (
            f"; {matrix['left_out']:,} rows, which are no {matrix['mode']}, are left out"
            if matrix["left_out"]
            else ""
        )
        lines += [_line(file, matrix), f"  on mode {matrix['mode']}{others}"]
    memory = facts["memory"]
    data, fit = (f"{memory[key] / 1e6:.3g} MB" for key in ("data", "fit"))
    lines.append(f"memory  data {data}, a fit of all of it about {fit}")
    if roles := roles_text(facts):
        lines += ["roles", *(f"  {line}" for line in roles)]
    lines += ["advice", *(f"  {sentence}" for sentence in facts["advice"]["because"])]
    if facts.get("question"):
        lines.append(f"  question: {facts['question']}")
    lines += [f"  hint: {sentence}" for sentence in facts["hints"]]
    lines += [
        f"  experiment {name} would be skipped: {why}"
        for name, why in facts.get("skipped", {}).items()
    ]
    return "\n".join(lines) + "\n"


def roles_text(facts: Mapping[str, Any]) -> list[str]:
    """Say what each mode is taken for, how sure that is, and why; nothing if none is known."""
    guesses = [RoleGuess(**guess) for guess in facts["roles"]]
    if not any(guess.role for guess in guesses):
        return []
    lines = [f"{guess.mode}: {guess.text}" for guess in guesses]
    is_stated = all(guess.because == STATED for guess in guesses)
    return lines if is_stated else [*lines, "if a role is wrong: --roles MODE=ROLE,..."]


def _percent(share: float) -> str:
    """Two digits, and no powers of ten.

    >>> _percent(0.01234), _percent(1.0)
    ('1.2 %', '100 %')
    """
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"


def _values(source: Mapping[str, Any]) -> list[str]:
    """Say which column of a table holds the values."""
    if not is_table(source["file"]):
        return []
    return [
        f"  values: column {source['value']}"
        if "value" in source
        else "  values: none, lines are counted"
    ]


def _line(file: str, block: Mapping[str, Any]) -> str:
    shape = " x ".join(f"{size:,}" for size in block["shape"])
    kind = (
        f"{block['nonzeros']:,} non-zeros, density {block['density']:.2g}"
        if block["sparse"]
        else "dense"
    )
    missing = f", {100 * block['missing']:.3g} % missing" if block["missing"] else ""
    low, high = block["values"]["least"], block["values"]["most"]
    whole = "whole numbers" if block["values"]["whole"] else "numbers"
    return f"{file}  {shape}, {kind}{missing}, {whole} from {low:.4g} to {high:.4g}"
