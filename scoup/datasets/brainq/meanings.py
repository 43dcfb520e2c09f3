"""The meanings of the simulated nouns: hidden attributes, and what follows from them.

Answers and responses of the brain both depend on the attributes, each in its own nonlinear way.
"""

import numpy as np

from scoup.datasets.brainq.study import CATEGORIES, CATEGORY_OF, NOUNS, QUESTION_COUNT
from scoup.records import Array

ATTRIBUTES = "alive handy place eaten worn moving powered body home harmful".split()  # noqa: SIM905

# How much of each attribute a category has, in the order of ATTRIBUTES.
_CATEGORY_ATTRIBUTES = {
    "animal": (3, -1, -1, 0, -1, 2, -1, 1, 0, 1),
    "bodypart": (1, 0, -1, -1, 1, 1, -1, 3, 0, -1),
    "building": (-1, -2, 3, -1, -1, -1, 0, -1, 1, -1),
    "buildpart": (-1, -1, 2, -1, -1, 0, 0, -1, 2, -1),
    "clothing": (-1, 1, -1, -1, 3, 0, -1, 1, 1, -1),
    "furniture": (-1, -1, 1, -1, -1, -1, -1, 0, 3, -1),
    "insect": (3, 1, -1, 0, -1, 2, -1, -1, -1, 2),
    "kitchen": (-1, 3, -1, 1, -1, -1, 0, -1, 2, 0),
    "manmade": (-1, 1, -1, -1, 0, -1, 3, -1, 1, -1),
    "tool": (-1, 3, -1, -1, -1, 0, 1, -1, -1, 2),
    "vegetable": (2, 2, -1, 3, -1, -1, -1, -1, 0, -1),
    "vehicle": (-1, -2, 1, -1, -1, 3, 2, -1, -1, 1),
}

# Questions with the attributes that they ask for; those in the paper come first.
_QUESTIONS = {
    "CAN IT CAUSE YOU PAIN?": "harmful",
    "DO YOU SEE IT DAILY?": "home worn body",
    "IS IT CONSCIOUS?": "alive moving",
    "DOES IT GROW?": "alive body eaten",
    "IS IT ALIVE?": "alive",
    "WAS IT EVER ALIVE?": "alive eaten",
    "CAN YOU PICK IT UP?": "handy worn",
    "CAN YOU HOLD IT IN ONE HAND?": "handy",
    "IS IT SMALLER THAN A GOLFBALL?": "handy -place -moving",
    "DOES IT USE ELECTRICITY?": "powered",
    "CAN YOU SIT ON IT?": "home -handy",
    "DOES IT CAST A SHADOW?": "place -handy",
    "IS IT A TOOL?": "handy harmful powered",
    "IS IT AN ANIMAL?": "alive moving harmful",
    "IS IT A BUILDING?": "place",
    "CAN YOU EAT IT?": "eaten",
    "CAN YOU WEAR IT?": "worn",
    "IS IT A VEHICLE?": "moving powered",
    "IS IT FURNITURE?": "home -worn",
    "IS IT A BODY PART?": "body",
    "CAN YOU GO INSIDE IT?": "place moving",
    "DOES IT MOVE BY ITSELF?": "moving alive",
    "IS IT MANMADE?": "-alive -body -eaten",
    "DOES IT HAVE PARTS THAT TURN?": "powered moving",
    "IS IT FOUND IN A KITCHEN?": "eaten handy home",
    "IS IT FOUND IN A GARDEN?": "alive eaten",
    "IS IT SOFT?": "worn body",
    "IS IT SHARP?": "harmful handy",
    "IS IT BIGGER THAN A CAR?": "place moving -handy",
    "WOULD YOU MISS IT AT HOME?": "home powered",
    "DOES IT MAKE A SOUND?": "powered moving alive",
    "CAN YOU BREAK IT?": "handy home -alive",
}
_PEOPLE = (  # noqa: SIM905
    "BAKER BARBER BUILDER BUTCHER CARPENTER CHILD CLERK COOK DENTIST DOCTOR DRIVER FARMER "
    "FISHER GARDENER GUARD HUNTER JUDGE LOCKSMITH MASON MECHANIC MILLER MINER NURSE PAINTER "
    "PILOT PLUMBER POSTMAN PRIEST ROOFER SAILOR SHEPHERD SINGER SMITH SOLDIER STUDENT SURGEON "
    "TAILOR TEACHER TRADER VET WAITER WATCHMAKER WEAVER WELDER WRITER ZOOKEEPER ACTOR ARTIST "
    "ATHLETE AUTHOR BANKER BARISTA BROKER COACH"
).split()

# Features of the published file that are not questions; preprocess must leave them out.
MEASURES = [
    "Word length",
    "White pixel count",
    "Internal details",
    "Verticality",
    "Horizontalness",
    "Left-diagonalness",
    "Right-diagonalness",
    "Aspect-ratio: skinny->fat",
    "Prickiliness",
    "Line curviness",
    "3D curviness",
]
# Shares of the answers 1, 2, 3 and 4 in the published file; the rest are 5.
_ANSWER_SHARES = (0.49, 0.11, 0.16, 0.08)
# With these, spectrum and likeness within categories are near those of the published answers.
_PAIR_STRENGTH, _OFFSET_SPREAD, _ANSWER_NOISE = 0.8, 0.9, 0.5
_TUNED_COUNT, _LOOKS_COUNT = 24, 6
RESPONSE_COUNT = _TUNED_COUNT + _LOOKS_COUNT


def draw_attributes(rng: np.random.Generator) -> Array:
    """Return standardised attributes (60 nouns, 10): those of the category, varied per noun."""
    table = np.array([_CATEGORY_ATTRIBUTES[CATEGORY_OF[noun]] for noun in NOUNS], dtype=float)
    return _standardised(table + 0.6 * rng.standard_normal(table.shape))


def questions() -> list[str]:
    """Return 218 different questions; those in the paper come first."""
    nouns = [f"{'AN' if noun[0] in 'aei' else 'A'} {noun.upper()}" for noun in NOUNS]
    texts = [
        *_QUESTIONS,
        *(f"DOES IT BELONG WITH {category.upper()}S?" for category in CATEGORIES),
        *(f"COULD IT BE TAKEN FOR {noun}?" for noun in nouns),
        *(f"WOULD YOU SEE IT NEAR {noun}?" for noun in nouns),
        *(f"DOES IT MATTER TO A {person}?" for person in _PEOPLE),
    ]
    return texts[:QUESTION_COUNT]


def draw_answers(attributes: Array, rng: np.random.Generator) -> Array:
    """Return noisy answers 1..5 (60, 218), no linear function of the attributes.

    A question asks for some attributes and for one pair of them together, their product.
    """
    loadings = _draw_loadings(attributes, rng)
    first = rng.integers(0, len(ATTRIBUTES), len(loadings))
    second = (first + rng.integers(1, len(ATTRIBUTES), len(loadings))) % len(ATTRIBUTES)
    together = _standardised(attributes[:, first] * attributes[:, second])
    score = _standardised(attributes @ loadings.T) + _PAIR_STRENGTH * together
    score = _standardised(score) + _OFFSET_SPREAD * rng.standard_normal(len(loadings))
    score += _ANSWER_NOISE * rng.standard_normal(score.shape)
    thresholds = np.quantile(score, np.cumsum(_ANSWER_SHARES))
    return (1 + np.searchsorted(thresholds, score)).astype(np.uint8)


def draw_responses(attributes: Array, rng: np.random.Generator) -> Array:
    """Return the responses (60, regions) to the nouns, each of mean 0 and variance 1.

    A region is tuned to one meaning p, near that of some noun: ``exp(-|z_n - p|^2 / 2)``, with the
    mean square over attributes. The last regions respond to how the pictures look, on which no
    question was asked.
    """
    shape = (_TUNED_COUNT, len(ATTRIBUTES))
    preferred = attributes[rng.integers(0, len(NOUNS), _TUNED_COUNT)]
    preferred = preferred + 0.5 * rng.standard_normal(shape)
    distance2 = ((attributes[:, None] - preferred) ** 2).mean(axis=2)
    looks = rng.standard_normal((len(NOUNS), _LOOKS_COUNT))
    return _standardised(np.hstack([np.exp(-distance2 / 2), looks]))


def _standardised(columns: Array) -> Array:
    return (columns - columns.mean(axis=0)) / columns.std(axis=0)


def _draw_loadings(attributes: Array, rng: np.random.Generator) -> Array:
    """Return the attributes that each question asks for (218, 10), in their order."""
    named = np.zeros((len(_QUESTIONS), len(ATTRIBUTES)))
    for row, words in zip(named, _QUESTIONS.values(), strict=True):
        for word in words.split():
            row[ATTRIBUTES.index(word.lstrip("-"))] = -1 if word.startswith("-") else 1
    labels = np.array([CATEGORY_OF[noun] for noun in NOUNS])
    by_category = [attributes[labels == category].mean(axis=0) for category in CATEGORIES]
    nearby = attributes + rng.standard_normal(attributes.shape)
    mixed = rng.standard_normal((len(_PEOPLE), len(ATTRIBUTES)))
    return np.concatenate([named, by_category, attributes, nearby, mixed])[:QUESTION_COUNT]
