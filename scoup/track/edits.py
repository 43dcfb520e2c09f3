"""What a person added in the browser: notes, tags and names, kept from build to build by key.

Each run and each experiment carries a record of the tags that scoup has logged. Whatever differs
from it is a person's.
"""

import hashlib
import json
import sqlite3
from collections import defaultdict
from collections.abc import Mapping

PREFIX = "scoup."  # of tags that are no one's to edit
KEY_TAG, RECORD_TAG = f"{PREFIX}key", f"{PREFIX}record"
OWNERS = {"tags": "run_uuid", "experiment_tags": "experiment_id"}  # by table of the store


def with_record(tags: Mapping[str, str]) -> dict[str, str]:
    """Return tags with a record of themselves.

    >>> tags = with_record({"data": "real"})
    >>> edits({**tags, "good": "yes"})
    {'good': 'yes'}
    """
    record = {name: _checksum(value) for name, value in tags.items()}
    return {**tags, RECORD_TAG: json.dumps(record, sort_keys=True)}


def edits(tags: Mapping[str, str]) -> dict[str, str]:
    """Return the tags that a person has added or changed.

    >>> edits({**with_record({"note": "ours"}), "note": "ours, and mine"})
    {'note': 'ours, and mine'}
    """
    if RECORD_TAG not in tags:
        return {}
    record = json.loads(tags[RECORD_TAG])
    return {
        name: value
        for name, value in tags.items()
        if not name.startswith(PREFIX) and record.get(name) != _checksum(value)
    }


def copy_edits(database: sqlite3.Connection) -> None:
    """Copy the edits in the attached store ``old`` to the same runs and experiments."""
    for table, owner in OWNERS.items():
        new = {tags[KEY_TAG]: name for name, tags in _tags(database, "main", table).items()}
        for tags in _tags(database, "old", table).values():
            rows = [(new.get(tags[KEY_TAG]), name, value) for name, value in edits(tags).items()]
            database.executemany(
                f"INSERT OR REPLACE INTO main.{table} ({owner}, key, value) VALUES (?, ?, ?)",
                [row for row in rows if row[0] is not None],
            )
    database.execute(
        "UPDATE main.runs SET name = (SELECT value FROM main.tags"
        " WHERE main.tags.run_uuid = main.runs.run_uuid AND key = 'mlflow.runName')"
    )


def _tags(database: sqlite3.Connection, store: str, table: str) -> dict[str, dict[str, str]]:
    """Return the tags of each run or experiment that scoup has logged."""
    tags: dict[str, dict[str, str]] = defaultdict(dict)
    query = f"SELECT {OWNERS[table]}, key, value FROM {store}.{table}"
    for owner, name, value in database.execute(query):
        tags[owner][name] = value
    return {owner: named for owner, named in tags.items() if KEY_TAG in named}


def _checksum(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()[:8]
