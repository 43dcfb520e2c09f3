"""Shards: a user-supplied tensor that stays on disk, with matrices on its modes."""

from dataclasses import replace
from pathlib import Path

from pydantic import Field

from scoup import store
from scoup.datasets import Traits, files
from scoup.datasets.files import ROLES_TEXT, Roles, Source, mode_of, roles_of
from scoup.errors import ScoupError
from scoup.specs import Spec

MANIFEST_FILE = "manifest.json"
SOURCE = replace(files.SOURCE, folder="shards")


class Options(Spec):
    """The folder of a tensor, and the files of its matrices."""

    tensor: str = Field(description="folder that `scoup shard` wrote")
    matrices: list[Source] = Field([], description="matrices on its modes")
    roles: Roles = Field({}, description=ROLES_TEXT)


def traits(options: Options) -> Traits:
    """Return what the manifest tells."""
    manifest = _manifest(options)
    names, shards = tuple(manifest["names"]), len(manifest["shards"])
    modes = tuple(mode_of(source, names) for source in options.matrices)
    missing = any(source.missing or source.observed for source in options.matrices)
    roles = roles_of(options.roles, names)
    return Traits(names, True, modes, missing, on_disk=True, roles=roles, shards=shards)


def shape(size: str, options: Options) -> tuple[int, ...]:
    """Return the sizes in the manifest."""
    del size
    return tuple(_manifest(options)["shape"])


def paths(options: Options) -> list[str]:
    """Return the manifest, which holds the checksums of all shards, and the files of matrices."""
    files = [path for source in options.matrices for path in source.files]
    return list(dict.fromkeys([str(Path(options.tensor, MANIFEST_FILE)), *files]))


def _manifest(options: Options) -> dict:
    path = Path(options.tensor, MANIFEST_FILE)
    if not path.exists():
        hint = "write it with: scoup shard FILE -o FOLDER"
        raise ScoupError.expected(options.tensor, "a folder of shards", f"no {path.name}", hint)
    return store.read_json(path)
