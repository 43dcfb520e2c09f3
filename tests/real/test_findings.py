"""What the experiments find in the real excerpts. Skipped where they are absent."""

import os
from pathlib import Path

import numpy as np
import pytest

from scoup.experiments.anomaly import detect, kinds
from scoup.experiments.anomaly import measure as anomaly
from scoup.experiments.leave_two_out import choices, folds, rival
from scoup.experiments.leave_two_out import measure as leave_two_out
from scoup.preprocess import preprocess
from scoup.specs import FitSpec, MergeSpec, SampleSpec

FOLDER = Path(os.environ.get("SCOUP_DATA") or "no-such-folder")
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not (FOLDER / "brainq").is_dir() or not (FOLDER / "facebook").is_dir(),
        reason="set SCOUP_DATA to a folder that holds the real excerpts in brainq/ and facebook/",
    ),
]
SPEC = leave_two_out.LeaveTwoOutSpec((2, 5), (10.0, 100.0), (1.0,), 12, 10, 200.0, 0)
# Published for the excerpt: a plain joint SVD at rank 2, projecting with the pseudoinverse.
JOINT_SVD = {"P1": 0.728, "P3": 0.534}


@pytest.mark.parametrize("subject", list(JOINT_SVD))
def test_a_weighted_joint_model_beats_the_plain_joint_svd(subject):
    dataset = preprocess("brainq_excerpt", FOLDER / "brainq", {"subject": subject})
    data, pairs = folds.products(dataset.data), leave_two_out.all_pairs(60)
    matches = folds.match_folds(
        data, pairs, folds.Setting(2, 100.0, sweeps=1), [("least_squares", 1.0)]
    )[0]
    share = choices.right(choices.margins(matches)[:, :, 0, 1]).mean(axis=1)[:, 0]
    assert share.min() > JOINT_SVD[subject] + 0.05


def test_ridge_on_the_questions_gives_the_published_share():
    dataset = preprocess("brainq_excerpt", FOLDER / "brainq", {"subject": "P1"})
    matches = rival.match_ridge(folds.products(dataset.data), leave_two_out.all_pairs(60), 200.0)
    assert choices.right(choices.margins(matches)[1, :, 0, 1]).mean() == pytest.approx(
        0.848, abs=0.001
    )


def test_the_largest_stars_of_the_walls_are_found():
    dataset = preprocess("facebook_excerpt", FOLDER / "facebook", {})
    fit = FitSpec(25, init="random", max_iter=30, tol=0.0)
    spec = detect.DetectSpec(
        "rare", (1, 0), SampleSpec(25, (1, 1, 4), None, 0.1, 3), fit, MergeSpec(), jobs=2
    )
    found = anomaly.read_found(detect.detect(dataset.data, spec, seed=0)["found"])
    walls, users = [one for one in found if one.kind == "star-in"], dataset.label("wall").ids
    assert {int(users[one.leaders[kinds.WALL]]) for one in walls[:4]} >= {17887, 56}
    assert np.all(np.diff([one.score for one in walls]) <= 0)
