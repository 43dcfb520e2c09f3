"""Couple the excerpt as the whole network is coupled."""

from pathlib import Path

from scoup.coupled import Dataset
from scoup.datasets.facebook.couple import couple_posts
from scoup.datasets.facebook.read import read_links, read_wall
from scoup.datasets.facebook_excerpt import LINKS_FILE, WALL_FILE, Options
from scoup.records import Provenance


def couple(folder: Path, options: Options, provenance: Provenance) -> Dataset:
    """Read posts and friendships and couple them."""
    wall = read_wall(folder / WALL_FILE, options.columns)
    return couple_posts(wall, read_links(folder / LINKS_FILE), options, provenance)
