"""Files become shards in bounded memory: the same cells and labels as when read into memory."""

import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoup import ingest as stages
from scoup.command import main
from scoup.errors import ScoupError
from scoup.formats import Source, read
from scoup.ingest import ingest
from scoup.sharded import ShardedTensor
from tests.test_sharded import folder  # noqa: F401


def cells_of(sharded):
    """All cells of a folder of shards, in row-major order."""
    return sharded.select([np.arange(size) for size in sharded.shape])


def events(seed, lines=300, sizes=(9, 40, 5)):
    """A table with repeated cells; the second mode is the longest."""
    rng = np.random.default_rng(seed)
    columns = {name: rng.integers(0, n, lines) for name, n in zip("abc", sizes, strict=True)}
    return pd.DataFrame(columns | {"value": rng.integers(1, 9, lines) / 4})


@settings(max_examples=6, deadline=None)
@given(
    seed=st.integers(0, 99), run=st.integers(60, 400), shard=st.integers(20, 400),
    kind=st.sampled_from(["csv", "tns.gz", "parquet"]),
)  # fmt: skip
def test_shards_hold_what_the_file_holds(folder, seed, run, shard, kind):  # noqa: F811
    path, table = folder / f"events.{kind}", events(seed)
    if kind == "csv":
        table["b"] = "user " + table["b"].astype(str)
        table.to_csv(path, index=False)
    elif kind == "parquet":
        table.to_parquet(path, index=False)
    else:
        table[["a", "b", "c"]] += 1
        path.write_bytes(gzip.compress(table.to_csv(sep=" ", header=False, index=False).encode()))
    sharded = ingest(str(path), folder / f"{kind}-{seed}-{run}-{shard}", shard, run)
    whole = read(Source(file=str(path)))
    cells = cells_of(sharded)
    assert cells.coords.tobytes() == whole.values.coords.tobytes()
    assert np.allclose(cells.values, whole.values.values, rtol=1e-15)
    assert sharded.manifest.names == whole.names
    for mode, ids in enumerate(whole.ids):
        assert sharded.labels(mode).tolist() == ids.tolist()


def test_a_folder_of_parquet_files_is_one_tensor_and_an_interrupted_call_resumes(
    tmp_path, monkeypatch
):
    parts = tmp_path / "parts"
    parts.mkdir()
    tables = [events(seed) for seed in range(3)]
    for number, table in enumerate(tables):
        table.to_parquet(parts / f"part-{number}.parquet", index=False)
    (parts / "_SUCCESS").touch()
    whole = ingest(str(parts), tmp_path / "whole", 100, 64).manifest
    read_files, original = [], stages.stream

    def failing(source):
        read_files.append(source.file[-9])
        if len(read_files) == 3:
            raise KeyboardInterrupt
        return original(source)

    monkeypatch.setattr(stages, "stream", failing)
    with pytest.raises(KeyboardInterrupt):
        ingest(str(parts), tmp_path / "again", 100, 64)
    assert ingest(str(parts), tmp_path / "again", 100, 64).manifest == whole
    assert read_files == ["0", "1", "2", "2"]
    joined = pd.concat(tables).groupby(["a", "b", "c"], as_index=False).value.sum()
    assert cells_of(ShardedTensor.open(tmp_path / "again")).nnz == len(joined)
    assert not (tmp_path / "again" / ".ingest").exists()


def test_columns_of_indices_are_positions(tmp_path):
    table = events(0).rename(columns={"a": "index0", "b": "index1", "c": "index2"})
    table.to_parquet(tmp_path / "cells.parquet", index=False)
    sharded = ingest(str(tmp_path / "cells.parquet"), tmp_path / "cells", dtype="float32")
    assert sharded.dtype == np.float32
    assert sharded.shape == tuple(table[f"index{n}"].max() + 1 for n in range(3))


def test_what_cannot_be_ingested_is_refused_in_a_sentence(tmp_path, capsys):
    path = tmp_path / "events.csv"
    events(0).drop(columns="c").to_csv(path, index=False)
    with pytest.raises(ScoupError, match=r"events\.csv: expected three modes or more, got 2"):
        ingest(str(path), tmp_path / "two")
    events(0).to_csv(path, index=False)
    assert main(["shard", str(path), "-o", str(tmp_path / "events.shards")]) == 0
    assert "shape 9 x 40 x 5" in capsys.readouterr().out
    assert main(["shard", str(path), "-o", str(tmp_path / "events.shards")]) == 2
    assert "the shards are there already" in capsys.readouterr().err
    assert main(["inspect", str(tmp_path / "events.shards")]) == 0
    assert "the tensor stays on disk" in capsys.readouterr().out
    assert main(["new", "events", str(tmp_path / "events.shards")]) == 2
    assert "expected files that fit in memory, got shards" in capsys.readouterr().err
    bad = pd.DataFrame({"index0": [-1], "index1": [0], "index2": [0], "value": [1.0]})
    bad.to_parquet(tmp_path / "bad.parquet", index=False)
    with pytest.raises(ScoupError, match="expected whole numbers from 0"):
        ingest(str(tmp_path / "bad.parquet"), tmp_path / "bad")
