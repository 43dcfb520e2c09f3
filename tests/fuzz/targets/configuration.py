"""The configuration: any key may be gone, misspelt or of the wrong kind."""

import copy

import yaml

from scoup import config
from tests.fuzz.mutate import odd_value
from tests.workflow.conftest import ROOT


def prepare(folder):
    """Return the whole configuration and the small one, and data files that it may name."""
    (folder / "t.csv").write_text("a,b,c,value\nx,1,1,2\ny,2,2,3\n")
    (folder / "m.csv").write_text("a,q\nx,1\ny,2\n")
    whole = yaml.safe_load((ROOT / "config.yaml").read_text())
    for name in ("brainq", "portion", "facebook"):
        whole["datasets"][name]["source"] = "simulate"
    whole["datasets"]["mine"] = {
        "kind": "files",
        "options": {"tensor": "t.csv", "matrices": [{"file": "m.csv", "mode": "a"}]},
    }
    few = {name: whole["experiments"][name] for name in ("accuracy", "rank")}
    few["accuracy"] = {**few["accuracy"], "datasets": ["random", "mine"]}
    return [whole, {**whole, "experiments": few}, {**whole, "experiments": few}]


def attempt(rng, material):
    """Change one to three places of a configuration and check it."""
    changed = copy.deepcopy(rng.choice(material))
    for _ in range(rng.randint(1, 3)):
        _change(rng, changed)
    config.check(changed)


def _change(rng, node):
    """Walk to a random place and put something else there."""
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return
        key = rng.choice(keys)
        child = node[key]
        if isinstance(child, (dict, list)) and child and rng.random() < 0.8:
            node = child
            continue
        change = rng.randrange(4)
        if change == 0:
            node[key] = odd_value(rng)
        elif change == 1 and isinstance(node, dict):
            node[rng.choice(("x", 1, None, "rnak", f"{key}s", ""))] = node.pop(key)
        elif change == 2:
            del node[key]
        else:
            node[key] = [child] if rng.random() < 0.5 else str(child)
        return
