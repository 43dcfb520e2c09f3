"""Facts of the published study: its nouns, subjects, grid and files."""

from typing import Literal, get_args

CATEGORIES = {
    "animal": "bear cat cow dog horse",
    "bodypart": "arm eye foot hand leg",
    "building": "apartment barn church house igloo",
    "buildpart": "arch chimney closet door window",
    "clothing": "coat dress pants shirt skirt",
    "furniture": "bed chair desk dresser table",
    "insect": "ant bee beetle butterfly fly",
    "kitchen": "bottle cup glass knife spoon",
    "manmade": "bell key refrigerator telephone watch",
    "tool": "chisel hammer pliers saw screwdriver",
    "vegetable": "carrot celery corn lettuce tomato",
    "vehicle": "airplane bicycle car train truck",
}
NOUNS = tuple(noun for nouns in CATEGORIES.values() for noun in nouns.split())
CATEGORY_OF = {noun: category for category, nouns in CATEGORIES.items() for noun in nouns.split()}

SubjectName = Literal["P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9"]
SUBJECTS: tuple[SubjectName, ...] = get_args(SubjectName)
PRESENTATION_COUNT, QUESTION_COUNT = 6, 218
GRID = (51, 61, 23)
VOXEL_MM = (3.0, 3.0, 6.0)
VOXEL_COUNTS = (21764, 21253, 20651, 20395, 20601, 19919, 19750, 20082, 21344)  # by subject

QUESTIONS_FILE = "MTurk_semantic_features.npz"


def subject_file(subject: str) -> str:
    """Return the published name of one subject's file.

    >>> subject_file("P3")
    'data-science-P3.mat'
    """
    return f"data-science-{subject}.mat"
