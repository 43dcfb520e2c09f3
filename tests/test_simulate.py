"""Stand-ins have the published shape, depend on the seed alone, and hold what was planted."""

import hashlib

import numpy as np
import pytest

from scoup.datasets import brainq, facebook, simulated_kinds
from scoup.datasets.brainq.meanings import questions
from scoup.datasets.brainq.read import read_questions, read_subject
from scoup.datasets.brainq.simulate import draw_mask
from scoup.datasets.brainq.study import (
    CATEGORY_OF,
    NOUNS,
    QUESTIONS_FILE,
    SUBJECTS,
    subject_file,
)
from scoup.datasets.facebook.read import read_links, read_wall
from scoup.errors import ScoupError
from scoup.seeds import generator
from scoup.simulate import read_planted, simulate
from tests.ridge import leave_two_out

PAPERS = (
    "CAN IT CAUSE YOU PAIN?;DO YOU SEE IT DAILY?;IS IT CONSCIOUS?;DOES IT GROW?;IS IT ALIVE?;"
    "WAS IT EVER ALIVE?;CAN YOU PICK IT UP?;CAN YOU HOLD IT IN ONE HAND?;"
    "IS IT SMALLER THAN A GOLFBALL?;DOES IT USE ELECTRICITY?;CAN YOU SIT ON IT?;"
    "DOES IT CAST A SHADOW?"
)


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    folders = {name: tmp_path_factory.mktemp(name) for name in simulated_kinds()}
    for name, folder in folders.items():
        simulate(name, folder, "tiny", 0)
    return folders


@pytest.fixture(scope="module")
def wall(raw):
    return read_wall(raw["facebook"] / facebook.WALL_FILE)


def digests(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.mark.parametrize("name", simulated_kinds())
def test_same_seed_same_bytes_other_seed_other_bytes(raw, tmp_path, name):
    simulate(name, tmp_path / "same", "tiny", 0)
    simulate(name, tmp_path / "other", "tiny", 1)
    first = digests(raw[name])
    assert first == digests(tmp_path / "same")
    assert not set(first.values()) & set(digests(tmp_path / "other").values())


def test_full_brainq_has_the_published_numbers():
    full = brainq.SIZES["full"]
    assert full.grid == (51, 61, 23)
    assert 60 * sum(full.voxels) == 11_145_540
    mask = draw_mask(full.grid, full.voxels[0], generator(0, "test"))
    assert len(np.unique(mask, axis=0)) == full.voxels[0]
    assert (mask >= 0).all()
    assert (mask < full.grid).all()


def test_full_facebook_has_the_published_numbers():
    full = facebook.SIZES["full"]
    assert (full.users, full.days, full.posts, 2 * full.links) == (
        63_890,
        1_847,
        876_993,
        1_545_686,
    )


def test_questions_are_218_different_ones_with_the_papers_among_them():
    asked = questions()
    assert len(asked) == len(set(asked)) == 218
    assert set(PAPERS.split(";")) <= set(asked)
    assert all(text.endswith("?") and len(text) <= 44 for text in asked)


def test_answers_follow_the_categories_as_the_published_ones_do(raw):
    """Published: .73 within a category, .31 between; the first component has 22 %."""
    answers = read_questions(raw["brainq"] / QUESTIONS_FILE).answers
    kinds = np.array([CATEGORY_OF[noun] for noun in NOUNS])
    likeness = np.corrcoef(answers)
    same = kinds[:, None] == kinds
    assert 0.55 < likeness[same & ~np.eye(60, dtype=bool)].mean() < 0.8
    assert 0.1 < likeness[~same].mean() < 0.4
    assert 0.12 < first_share(answers) < 0.28


def first_share(rows):
    """Share of the variance that the first component has."""
    squares = np.linalg.svd(rows - rows.mean(axis=0, dtype=float), compute_uv=False) ** 2
    return squares[0] / squares.sum()


def test_noise_is_correlated_and_few_subjects_can_be_decoded(raw):
    """Real excerpts: first component .15 to .64; ridge from .47 (P6) to .85 (P1)."""
    answers = read_questions(raw["brainq"] / QUESTIONS_FILE).answers
    images = [
        read_subject(raw["brainq"] / subject_file(name)).values.mean(axis=0) for name in SUBJECTS
    ]
    shares = np.array([first_share(image) for image in images])
    assert 0.1 < shares.min() < 0.25
    assert 0.5 < shares.max() < 0.75
    scores = np.array([leave_two_out(answers, image) for image in images])
    assert 0.68 < scores.max() < 0.9
    assert 0.4 < scores.min() < 0.55
    assert np.median(scores) < 0.65


def test_posts_have_the_asked_numbers(raw, wall):
    spec = facebook.SIZES["tiny"]
    links = read_links(raw["facebook"] / facebook.LINKS_FILE)
    days = wall.time // 86_400
    assert wall.time.size == spec.posts
    assert days.max() - days.min() + 1 == spec.days
    assert len(np.unique([wall.owner, wall.poster, days], axis=1).T) == spec.cells
    assert links.user.size == 2 * spec.links
    assert np.unique(links.user).size == spec.users
    assert set(zip(links.user, links.friend, strict=True)) == set(
        zip(links.friend, links.user, strict=True)
    )


def test_posts_go_mostly_between_friends_and_grow(tmp_path):
    simulate("facebook", tmp_path, "quick", 0)
    posts = read_wall(tmp_path / facebook.WALL_FILE)
    links = read_links(tmp_path / facebook.LINKS_FILE)
    friends = set(zip(links.user, links.friend, strict=True))
    assert np.mean([pair in friends for pair in zip(posts.owner, posts.poster, strict=True)]) > 0.8
    half = (posts.time.min() + posts.time.max()) / 2
    assert (posts.time > half).mean() > 0.7
    weekday = (posts.time // 86_400 + 3) % 7
    assert (weekday < 5).mean() > 5 / 7 + 0.03
    activity = np.sort(np.bincount(posts.poster))[::-1]
    assert activity[: activity.size // 10].sum() > 0.4 * activity.sum()


@pytest.mark.parametrize("kind", ["spammer", "birthday", "flood", "conversation", "community"])
def test_what_is_planted_is_in_the_posts(raw, wall, kind):
    truth = read_planted(raw["facebook"])
    events = [event for event in truth["planted"] if event["kind"] == kind]
    assert len(events) >= 2
    for event in events:
        days = wall.time // 86_400 - truth["first_day"]
        inside = (
            np.isin(wall.owner, event["walls"])
            & np.isin(wall.poster, event["posters"])
            & np.isin(days, event["days"])
        )
        assert inside.sum() >= event["posts"]
        sizes = {key: len(event[key]) for key in ("walls", "posters", "days")}
        if kind == "spammer":
            assert sizes == {"walls": sizes["walls"], "posters": 1, "days": 1}
            assert sizes["walls"] >= 30
        if kind == "birthday":
            assert sizes == {"walls": 1, "posters": sizes["posters"], "days": 1}
            assert sizes["posters"] >= 10


def test_wrong_words(tmp_path):
    with pytest.raises(ScoupError, match=r"size: expected one of full, quick, tiny, got 'huge'"):
        simulate("brainq", tmp_path, "huge")
    with pytest.raises(ScoupError, match=r"seed: expected a non-negative integer"):
        simulate("brainq", tmp_path, "tiny", -1)
