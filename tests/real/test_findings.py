"""What the experiments find in the real excerpts. Skipped where they are absent."""

import os
from pathlib import Path

import numpy as np
import pytest
import yaml

from scoup import pipeline
from scoup.experiments._records import Model
from scoup.experiments.anomaly import kinds
from scoup.experiments.anomaly.detect import detect
from scoup.experiments.leave_two_out import choices, folds, prepared, rival
from scoup.experiments.leave_two_out.prepared import Setting
from scoup.experiments.leave_two_out.tables import all_pairs
from scoup.preprocess import preprocess
from scoup.seeds import generator
from scoup.specs import PlanSpec
from scoup.values import view

FOLDER = Path(os.environ.get("SCOUP_DATA") or "no-such-folder")
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not (FOLDER / "brainq").is_dir() or not (FOLDER / "facebook").is_dir(),
        reason="set SCOUP_DATA to a folder that holds the real excerpts in brainq/ and facebook/",
    ),
]
# Published for the excerpt: a plain joint SVD at rank 2, projecting with the pseudoinverse.
JOINT_SVD = {"P1": 0.728, "P3": 0.534}


@pytest.mark.parametrize("subject", list(JOINT_SVD))
def test_a_weighted_joint_model_beats_the_plain_joint_svd(subject):
    dataset = preprocess("brainq_excerpt", FOLDER / "brainq", {"subject": subject})
    setting = Setting(2, 100.0, sweeps=1)
    matches = folds.match_folds(
        prepared.products(dataset.data), all_pairs(60), setting, [("least_squares", 1.0)]
    )[0]
    share = choices.right(choices.margins(matches)[:, :, 0, 1]).mean(axis=1)[:, 0]
    assert share.min() > JOINT_SVD[subject] + 0.05


@pytest.mark.parametrize(("subject", "published"), [("P2", 0.525), ("P6", 0.471)])
def test_weighing_images_by_their_noise_decodes_subjects_that_ridge_cannot(subject, published):
    dataset = preprocess("brainq_excerpt", FOLDER / "brainq", {"subject": subject})
    data = prepared.products(dataset.data)
    setting = Setting(20, 100.0, sweeps=0, strength=0.1)
    order = generator(0, "tests", "real").permutation(60)
    shares = []
    for answers in (data, data.shuffled(order)):
        matches = folds.match_folds(answers, all_pairs(60), setting, [("least_squares", 0.3)])[0]
        shares.append(choices.right(choices.margins(matches)[1, :, 0, 1]).mean())
    assert shares[0] > published + 0.15
    assert shares[1] < 0.65


def test_ridge_on_the_questions_gives_the_published_share():
    dataset = preprocess("brainq_excerpt", FOLDER / "brainq", {"subject": "P1"})
    matches = rival.match_ridge(prepared.products(dataset.data), all_pairs(60), 200.0)
    share = choices.right(choices.margins(matches)[1, :, 0, 1]).mean()
    assert share == pytest.approx(0.848, abs=0.001)


def largest_stars(posts, count):
    """Partners of the largest stars, counted directly."""
    wall, poster, day = posts.coords
    apart = wall != poster
    sizes = [
        np.unique(np.stack([who[apart], day[apart]]), axis=1, return_counts=True)[1]
        for who in (wall, poster)
    ]
    return sorted(np.concatenate(sizes), reverse=True)[:count]


def test_a_plan_with_friendships_finds_the_eight_largest_stars():
    dataset = preprocess("facebook_excerpt", FOLDER / "facebook", {})
    config = yaml.safe_load((Path(__file__).parents[2] / "config.yaml").read_text())
    plan = PlanSpec(**config["plans"]["walls_coupled"])
    run = pipeline.run(view(dataset.data, plan.values, plan.weights), plan, seed=0, workers=2)
    model = Model("walls", "whole", plan, run.samples, run.fits, run.merged)
    posts = dataset.data.blocks[0].values
    first = detect(model, posts).findings[:40]
    stars = [finding for finding in first if finding.kind in ("star-in", "star-out")]
    # Each is listed once, with its partners looked up in the posts.
    assert [finding.score for finding in stars[:8]] == largest_stars(posts, 8)
    users = dataset.label("wall").ids
    walls = [finding for finding in stars if finding.kind == "star-in"]
    assert {int(users[finding.leaders[kinds.WALL]]) for finding in walls[:2]} == {17887, 56}
