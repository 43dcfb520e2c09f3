"""Guess what the modes of user-supplied data are: who, whom, when, thing, feature, subject, place.

Names of columns tell most, values the rest: dates are times, and so may be a few whole numbers next
to two modes of users. Each guess says how sure it is, and why.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from scoup.errors import ScoupError
from scoup.records import ROLES, Array

# Words of a column's name; those of `LIKELY_WORDS` may mean something else.
SURE_WORDS = {
    "when": "when time times timestamp datetime date day week month year hour minute quarter t ts",
    "who": "who poster sender author from src source caller writer follower payer buyer giver "
    "exporter citing attacker reviewer rater commenter donor committer actor initiator",
    "whom": "whom wall owner receiver recipient addressee to dst dest destination target callee "
    "called followee payee importer cited victim",
    "subject": "subject subjects participant patient",
    "feature": "feature voxel sensor channel electrode question attribute",
    "place": "place station city town country region location state county zone site airport",
    "thing": "thing item product noun word stimulus movie film book song object article package",
}
LIKELY_WORDS = {
    "when": "period epoch season created at session trial",
    "who": "user users customer client member account host ip player person employee visitor",
    "thing": "page url file tag topic species gene brand category",
    "place": "area room shop store port stop",
    "subject": "animal mouse child volunteer",
    "feature": "variable measure measurement band frequency",
}
SURENESS = ("unsure", "likely", "sure")
STATED = "as stated"
MIN_SHARED = 0.5  # of the labels of two modes (Jaccard), to be users both
MAX_SHARED_TIME = 0.2
MAX_GAPS = 2.0  # times as many whole numbers between first and last time as there are labels
UNIX_SECONDS = (5e8, 5e9)  # 1985 to 2128


@dataclass(frozen=True)
class RoleGuess:
    """The likely role of a mode, empty if nothing tells; how sure that is, and why."""

    mode: str
    role: str = ""
    sureness: str = ""
    because: str = ""

    @property
    def text(self) -> str:
        """The guess in words.

        >>> RoleGuess("day", "when", "sure", "its name and its dates").text
        'when, sure (its name and its dates)'
        """
        return f"{self.role}, {self.sureness} ({self.because})" if self.role else "not known"

    @property
    def is_settled(self) -> bool:
        """Whether there is a role that need not be asked for."""
        return bool(self.role) and self.sureness != "unsure"


def guess_roles(names: Sequence[str], ids: Sequence[Array], keyed: bool = True) -> list[RoleGuess]:
    """Return a guess for each mode; labels that are not ``keyed`` are positions and tell nothing.

    >>> users, days = np.array([3, 5, 8]), np.array(["2007-01-01", "2007-01-02"])
    >>> [guess.role for guess in guess_roles(["day", "sender", "receiver"], [days, users, users])]
    ['when', 'who', 'whom']
    >>> [guess.role for guess in guess_roles(["a", "b", "t"], [users, users, np.array([1, 2])])]
    ['', '', 'when']
    """
    guesses = [_by_name(name) for name in names]
    if keyed:
        guesses = [_by_dates(guess, labels) for guess, labels in zip(guesses, ids, strict=True)]
        guesses = _by_numbers(guesses, ids)
    return _without_rivals(guesses)


def _by_name(name: str) -> RoleGuess:
    """Look for telling words in a name such as ``sender_id`` or ``createdAt``."""
    parts = re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()
    words = re.findall(r"[a-z]+", parts)
    for sureness, known in (("sure", SURE_WORDS), ("likely", LIKELY_WORDS)):
        for word in words:
            for role, telling in known.items():
                if word in telling.split():
                    return RoleGuess(name, role, sureness, "by its name")
    return RoleGuess(name)


def _by_dates(guess: RoleGuess, labels: Array) -> RoleGuess:
    """Dates are times, whatever the mode is called."""
    if not is_dates(labels):
        return guess
    if guess.role == "when":
        return RoleGuess(guess.mode, "when", "sure", "by its name and its dates")
    return RoleGuess(guess.mode, "when", "sure", "its labels are dates")


def is_dates(labels: Array) -> bool:
    """Whether all labels are dates or times as ISO 8601 writes them.

    >>> is_dates(np.array(["2007-01-31", "2007-02-01 12:30"])), is_dates(np.array(["6 Sat"]))
    (True, False)
    """
    labels = np.asarray(labels)
    if labels.dtype.kind != "U" or not labels.size:
        return False
    try:
        return all(datetime.fromisoformat(str(label)) for label in labels)
    except ValueError:
        return False


def has_times_of_day(labels: Array) -> bool:
    """Whether labels are times that are finer than days.

    >>> has_times_of_day(np.array(["2007-01-31"])), has_times_of_day(np.array(["2007-01-31 12:30"]))
    (False, True)
    """
    labels = np.asarray(labels)
    if labels.dtype.kind in "iu":
        return bool(labels.size) and _is_unix(labels)
    return is_dates(labels) and any(len(str(label)) > len("2007-01-31") for label in labels)


def _by_numbers(guesses: list[RoleGuess], ids: Sequence[Array]) -> list[RoleGuess]:
    """Without a mode of time, take one of whole numbers that could be: unix seconds, or the few
    next to two modes with the same labels.
    """
    if any(guess.role == "when" for guess in guesses):
        return guesses
    open_modes = [n for n, guess in enumerate(guesses) if not guess.role and _is_ordered(ids[n])]
    seconds = [n for n in open_modes if _is_unix(ids[n])]
    if len(seconds) == 1:
        return _named(guesses, seconds[0], "likely", "its numbers could be unix times")
    apart = [n for n in open_modes if _is_apart(n, ids)]
    if len(apart) == 1:
        why = "a few whole numbers, next to two modes with the same labels"
        return _named(guesses, apart[0], "likely", why)
    if open_modes:
        fewest = min(open_modes, key=lambda n: len(ids[n]))
        return _named(guesses, fewest, "unsure", "the fewest whole numbers, which could be times")
    return guesses


def _named(guesses: list[RoleGuess], mode: int, sureness: str, why: str) -> list[RoleGuess]:
    guess = RoleGuess(guesses[mode].mode, "when", sureness, why)
    return [*guesses[:mode], guess, *guesses[mode + 1 :]]


def _is_ordered(labels: Array) -> bool:
    """Whether labels are whole numbers with few gaps, or unix times."""
    labels = np.asarray(labels)
    if labels.dtype.kind not in "iu" or labels.size < 2:
        return False
    return bool(np.ptp(labels) < MAX_GAPS * labels.size) or _is_unix(labels)


def _is_unix(labels: Array) -> bool:
    low, high = UNIX_SECONDS
    return bool(labels.min() > low and labels.max() < high)


def _is_apart(mode: int, ids: Sequence[Array]) -> bool:
    """Whether two other modes share their labels, and this mode does not."""
    others = [n for n in range(len(ids)) if n != mode]
    if len(others) != 2:
        return False
    first, second = others
    mixed = max(_shared(ids[mode], ids[n]) for n in others)
    return _shared(ids[first], ids[second]) >= MIN_SHARED and mixed <= MAX_SHARED_TIME


def _shared(labels: Array, others: Array) -> float:
    """Return the share of common labels among all labels of two modes.

    >>> _shared(np.array([1, 2, 3]), np.array([2, 3, 4]))
    0.5
    """
    first, second = set(np.asarray(labels).tolist()), set(np.asarray(others).tolist())
    return len(first & second) / max(1, len(first | second))


def _without_rivals(guesses: Sequence[RoleGuess]) -> list[RoleGuess]:
    """Two modes cannot both be who, nor both whom: the surer name wins, or none."""
    kept = list(guesses)
    for role in ("who", "whom"):
        rivals = [guess for guess in kept if guess.role == role]
        if len(rivals) > 1:
            top = max(SURENESS.index(guess.sureness) for guess in rivals)
            best = [guess for guess in rivals if SURENESS.index(guess.sureness) == top]
            losers = [guess for guess in rivals if len(best) > 1 or guess is not best[0]]
            kept = [RoleGuess(guess.mode) if guess in losers else guess for guess in kept]
    return kept


def settle_roles(guesses: Sequence[RoleGuess], stated: Mapping[str, str]) -> list[RoleGuess]:
    """Replace guesses by the roles that are stated, by the mode's name or number.

    A guess gives way if its role is stated for another mode.

    >>> guesses = guess_roles(["station", "hour", "day"], [np.arange(3)] * 3)
    >>> [guess.role for guess in settle_roles(guesses, {"day": "when"})]
    ['place', '', 'when']
    """
    names = [guess.mode for guess in guesses]
    known = {mode_name(key, names): role for key, role in stated.items()}
    for mode, role in known.items():
        if role not in ROLES:
            raise ScoupError.expected(f"--roles: {mode}", f"one of {', '.join(ROLES)}", repr(role))
    settled = []
    for guess in guesses:
        if guess.mode in known:
            settled.append(RoleGuess(guess.mode, known[guess.mode], "sure", STATED))
        else:
            settled.append(RoleGuess(guess.mode) if guess.role in known.values() else guess)
    return settled


def mode_name(key: str, names: Sequence[str]) -> str:
    """Return the name of a mode that is given by its name or number.

    >>> mode_name("1", ["wall", "poster", "day"])
    'poster'
    """
    if key in names:
        return key
    if key.isdecimal() and int(key) < len(names):
        return names[int(key)]
    raise ScoupError.expected("mode", f"one of {', '.join(names)}", repr(key))
