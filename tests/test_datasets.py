"""Every kind of data set declares what the contract asks for, and keeps its word."""

import ast
import re
from contextlib import chdir
from dataclasses import replace
from inspect import getsource
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from scoup import datasets
from scoup.datasets import DatasetSpec, SizeName, Traits, brainq, facebook, facebook_excerpt
from scoup.datasets.brainq.read import read_subject
from scoup.datasets.brainq.study import NOUNS, QUESTIONS_FILE, subject_file
from scoup.datasets.brainq_excerpt import EXCERPT_FILE
from scoup.errors import ScoupError
from scoup.ingest import ingest
from scoup.listing import load, members
from scoup.preprocess import preprocess
from scoup.sharded import DENSITIES_FILE
from scoup.simulate import simulate
from scoup.specs import Spec
from scoup.store import write_npz

KINDS = members("scoup.datasets")
OPTIONS = {
    "brainq": [{}, {"thin": 2, "subjects": ["P2", "P1"]}, {"grid": "compact"}],
    "facebook": [{}, {"coupled": []}, {"coupled": [1, 0]}, {"shards": 3}],
    "files": [{"tensor": "posts.csv"}],
    "shards": [
        {"tensor": "cells.shards"},
        {"tensor": "cells.shards", "matrices": [{"file": "sides.csv", "mode": "wall"}]},
    ],
    "random": [{}, {"matrices": []}, {"matrices": [2, 0, 1]}],
}
CASES = [(kind, options) for kind in KINDS for options in OPTIONS.get(kind, [{}])]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder with raw files for each kind."""
    folders = {kind: tmp_path_factory.mktemp(kind) for kind in KINDS}
    for kind in datasets.simulated_kinds():
        simulate(kind, folders[kind], "tiny", 0)
    for name, published in zip(
        facebook_excerpt.SOURCE.file_names, facebook.SOURCE.file_names, strict=True
    ):
        (folders["facebook_excerpt"] / name).symlink_to(folders["facebook"] / published)
    excerpt = folders["brainq_excerpt"]
    (excerpt / QUESTIONS_FILE).symlink_to(folders["brainq"] / QUESTIONS_FILE)
    values = read_subject(folders["brainq"] / subject_file("P1")).values.mean(axis=0)
    write_npz(excerpt / EXCERPT_FILE, {"nouns": np.array(NOUNS), "P1": values})
    (folders["files"] / "posts.csv").write_text("wall,poster,day,n\n1,2,1,3\n2,1,4,1\n2,3,1,2\n")
    with chdir(folders["shards"]):
        Path("posts.csv").write_text((folders["files"] / "posts.csv").read_text())
        ingest("posts.csv", "cells.shards", value="n")
        Path("sides.csv").write_text("wall,tag\n2,a\n1,b\n")
    return folders


def traits_of(dataset):
    """The traits as the coupled data shows them."""
    tensor, *matrices = dataset.data.blocks
    modes = tuple(matrix.factors[0] for matrix in matrices)
    labels = dataset.labels[: len(tensor.shape)]
    return Traits(
        names=tuple(label.name for label in labels),
        sparse=tensor.is_sparse,
        matrices=modes,
        missing=any(block.mask is not None for block in dataset.data.blocks),
        categories="category" in labels[modes[0] if modes else 0].columns,
        on_disk=tensor.is_streamed,
        roles=tuple(label.role for label in labels),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_declaration(kind):
    declaration = datasets.kind(kind)
    source = declaration.SOURCE
    assert source.folder
    assert source.origin
    assert source.licence
    assert source.citation
    assert issubclass(declaration.Options, Spec)
    assert declaration.Options.__doc__
    assert all(field.description for field in declaration.Options.model_fields.values())
    assert callable(declaration.traits)
    assert callable(declaration.shape)
    assert callable(load(f"scoup.datasets.{kind}", "couple").couple)


@pytest.mark.parametrize("kind", KINDS)
def test_declaration_imports_nothing_heavy(kind):
    body = ast.parse(getsource(datasets.kind(kind))).body
    modules = {node.module for node in body if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in body if isinstance(node, ast.Import) for alias in node.names}
    assert not {name.partition(".")[0] for name in modules} & {
        "numpy",
        "scipy",
        "pandas",
        "pyarrow",
    }


@pytest.mark.parametrize("kind", KINDS)
def test_remote_files_are_safe_to_fetch(kind):
    files = datasets.kind(kind).SOURCE.files
    assert len({file.name for file in files}) == len(files)
    for file in files:
        assert re.fullmatch(r"[0-9a-f]{64}|", file.sha256)
        assert all(address.startswith(("https://", "http://")) for address in file.addresses)
        assert all(address.endswith(file.name) for address in file.addresses)
        if file.addresses:
            assert file.addresses[0].startswith("https://")
            assert file.sha256 or callable(
                getattr(load(f"scoup.datasets.{kind}", "read"), file.reader)
            )


@pytest.mark.parametrize("kind", datasets.simulated_kinds())
def test_simulated_kinds_write_the_files_of_their_source(folders, kind):
    declaration = datasets.kind(kind)
    assert tuple(declaration.SIZES) == get_args(SizeName)
    names = {path.name for path in folders[kind].iterdir()}
    if kind == "events":  # whose manifest holds the checksums of these
        names = {name for name in names if name != DENSITIES_FILE and "cells-" not in name}
    assert names == {*declaration.SOURCE.file_names, datasets.TRUTH_FILE}


@pytest.mark.parametrize(("kind", "options"), CASES)
def test_traits_and_shape_agree_with_the_data(folders, monkeypatch, kind, options):
    monkeypatch.chdir(folders[kind])
    spec = DatasetSpec(kind=kind, size="tiny", options=options)
    dataset = preprocess(kind, folders[kind], options)
    declared, tensor = datasets.traits(spec), dataset.data.blocks[0].values
    assert replace(declared, shards=0) == traits_of(dataset)
    assert declared.shards == (len(tensor.manifest.shards) if kind == "shards" else 0)
    assert datasets.shape(spec) in (None, dataset.data.shape)
    known = kind in (*datasets.simulated_kinds(), "shards") and options.get("grid") != "compact"
    assert (datasets.shape(spec) is not None) == known


@pytest.mark.filterwarnings("ignore::scoup.errors.ScoupWarning")
def test_cells_outside_the_mask_are_announced_as_missing(folders):
    spec = DatasetSpec(kind="brainq", size="tiny", options={"outside": "missing"})
    assert datasets.traits(spec).missing
    assert traits_of(preprocess("brainq", folders["brainq"], spec.options)).missing


def test_only_user_supplied_files_are_watched():
    assert datasets.paths(DatasetSpec(kind="files", options={"tensor": "a.npy"})) == ["a.npy"]
    assert datasets.paths(DatasetSpec(kind="brainq")) == []


def test_brainq_is_nine_subjects_and_the_questions():
    assert len(brainq.SOURCE.files) == 10
    assert brainq.SOURCE.file_names[1] == "data-science-P1.mat"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kind": "brianq"}, r"kind: expected one of brainq, .*'brianq'; perhaps 'brainq' was"),
        ({"source": "guess"}, r"source: expected one of auto, local, .* or local:FOLDER, got"),
        ({"source": "download:x"}, r"source: expected one of auto, local"),
        ({"size": "huge"}, r"size: expected one of full, quick, tiny, got 'huge'"),
        ({"seed": -1}, r"seed: expected an integer of at least 0, got -1"),
        ({"options": {"thin": 0}}, r"^options.thin: expected an integer of at least 1, got 0"),
        ({"options": {"gird": 1}}, r"^options.gird: expected one of the keys grid, .*'grid' was"),
    ],
)
def test_wrong_settings(settings, words):
    with pytest.raises(ScoupError, match=words):
        DatasetSpec(**{"kind": "brainq", **settings})


def test_options_are_checked_by_the_kind():
    spec = DatasetSpec(kind="facebook", options={"coupled": [1, 0]})
    assert spec.checked_options == facebook.Options(coupled=(0, 1))
    assert spec.to_dict() == {
        "kind": "facebook",
        "source": "auto",
        "size": "full",
        "seed": 0,
        "options": {"coupled": [1, 0]},
    }


def test_unknown_kind():
    with pytest.raises(ScoupError, match=r"datasets: expected one of brainq, .*got 'netflix'"):
        datasets.kind("netflix")
