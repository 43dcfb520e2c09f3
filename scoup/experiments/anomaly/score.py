"""Score: the entries of each plan next to counting, and groups next to what appears by chance."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from scoup.evidence import Context, Measure, Metric
from scoup.experiments._records import Inputs
from scoup.experiments.anomaly import Spec
from scoup.experiments.anomaly.counting import Name, largest_stars, star_name
from scoup.experiments.anomaly.detect import Table
from scoup.experiments.anomaly.groups import Group, friendships, planted_groups, share_found
from scoup.experiments.anomaly.kinds import DAY, WALL, Finding, best_first
from scoup.records import Array

PRECISION = Measure(
    "precision_at", "share", "higher", 0.0, 1.0,
    "share of the table's first k entries that are among the k largest stars counted, or planted",
)  # fmt: skip
RECALL = Measure(
    "found_within", "share", "higher", 0.0, 1.0,
    "share of the largest or planted stars within the table's first k entries",
)  # fmt: skip
MATRIX_GAIN = Measure(
    "matrix_gain", "share", "higher", -1.0, 1.0,
    "largest stars within the first 40 entries, minus those without matrices",
)  # fmt: skip
COMPONENTS = Measure(
    "components", "components", "none", 0.0, None, "components read, of repetitions and merged"
)
KIND = Measure("kind_count", "components", "none", 0.0, None, "different components of a kind")
SIZE = Measure(
    "largest_size", "partners", "none", 0.0, None,
    "partners of the strongest component of a kind on its day",
)  # fmt: skip
GROUPS = Measure("groups", "components", "none", 0.0, None, "groups of users, or by chance")
GROUP_SPAN = Measure(
    "group_slices", "slices", "none", 0.0, None, "median number of slices in which a group acts"
)
FRIENDS = Measure(
    "silent_friends", "share", "higher", 0.0, 1.0,
    "median share of friends among members of a group who never write to each other",
)  # fmt: skip
GROUPS_FOUND = Measure(
    "groups_found", "share", "higher", 0.0, 1.0, "share of the planted groups found"
)
DEPTHS = (10, 20, 40)
LARGEST_STARS = 8  # of both kinds, and stars as large; their number is a coordinate
PLANTED_CENTRES = {"star-out": ("spammer", "posters"), "star-in": ("birthday", "walls")}
COUNTING, ALL = "counting", "all plans"
DATA, REWIRED, SHUFFLED, STRANGERS = "data", "posters rewired", "days shuffled", "any two users"
CONTROLS = {"rewired": REWIRED, "shuffled": SHUFFLED}
SHUFFLED_LINKS = "matrix rows shuffled"


def control_words(names: Sequence[str]) -> dict[str, str]:
    """Return what controls are called on data with other modes than walls, posters and days.

    >>> control_words(["receiver", "sender", "week"])["posters rewired"]
    'senders rewired'
    """
    _, who, when = names
    return {REWIRED: f"{who}s rewired", SHUFFLED: f"{when}s shuffled"}


def entries(findings: Sequence[Finding]) -> list[Name]:
    """Return the names of the entries that are compared, the first of the table."""
    return [star_name(finding) for finding in findings[: max(DEPTHS)]]


def star_lists(tables: Mapping[str, Table], stars: Sequence[Finding]) -> dict[str, list[Name]]:
    """Return the first entries of each plan, of all plans together, and of counting."""
    lists = {plan: entries(table.findings) for plan, table in tables.items()}
    joint = best_first(finding for table in tables.values() for finding in table.findings)
    return {**lists, ALL: entries(joint), COUNTING: entries(stars)}


def describe_tables(tables: Mapping[str, Table], context: Context) -> list[Metric]:
    """Return how many components of which kind each plan has, and how large they are."""
    metrics = []
    for plan, table in tables.items():
        here = context.on(plan=plan)
        metrics.append(here.metric(COMPONENTS, table.components))
        for kind, count in Counter(finding.kind for finding in table.findings).items():
            largest = max(finding.size for finding in table.findings if finding.kind == kind)
            metrics.append(here.metric(KIND, count, kind=kind))
            metrics.append(here.metric(SIZE, largest, kind=kind))
    return metrics


def score(
    lists: Mapping[str, Sequence[Name]],
    stars: Sequence[Finding],
    planted: set[Name],
    context: Context,
) -> list[Metric]:
    """Compare the first k entries of each list with the counted stars and the planted ones."""
    largest = largest_stars(stars, LARGEST_STARS)
    metrics = []
    for plan, names in lists.items():
        here = context.on(plan=plan)
        for k in DEPTHS:
            first = names[:k]
            share = precision(first, largest_stars(stars, k), k)
            metrics.append(here.metric(PRECISION, share, k=k, truth="counted"))
            where = {"k": k, "truth": "counted", "stars": len(largest)}
            metrics.append(here.metric(RECALL, recall(largest, first), **where))
            if planted:
                share = precision(first, planted, k)
                metrics.append(here.metric(PRECISION, share, k=k, truth="planted"))
                where = {"k": k, "truth": "planted", "stars": len(planted)}
                metrics.append(here.metric(RECALL, recall(planted, first), **where))
    return metrics


def precision(ordered: Sequence[Any], truth: Iterable[Any], k: int) -> float:
    """Return the share of the first k that are true; a list shorter than k is filled with errors.

    >>> precision(["a", "b", "c"], {"a", "c"}, 2)
    0.5
    """
    wanted = set(truth)
    return sum(item in wanted for item in ordered[:k]) / k


def recall(wanted: Iterable[Any], listed: Iterable[Any]) -> float:
    """Return the share of ``wanted`` that is among ``listed``.

    >>> recall({"a", "b"}, ["b", "c"])
    0.5
    """
    needed = set(wanted)
    return len(needed & set(listed)) / max(1, len(needed))


def matrix_gains(
    lists: Mapping[str, Sequence[Name]], stars: Sequence[Finding], spec: Spec, context: Context
) -> list[Metric]:
    """Return what matrices add to the recall of the largest stars, true and shuffled."""
    if spec.coupled is None or spec.single is None:
        return []
    largest = largest_stars(stars, LARGEST_STARS)
    alone = recall(largest, lists[spec.single])
    return [
        context.on(plan=spec.coupled).metric(
            MATRIX_GAIN, recall(largest, lists[name]) - alone, control=control
        )
        for control, name in ((DATA, spec.coupled), (SHUFFLED_LINKS, SHUFFLED_LINKS))
    ]


def summarize(groups: Sequence[Group], truth: Sequence[Any]) -> dict[str, Array]:
    """Return slices and friends of each group, and the share of planted groups among them."""
    return {
        "slices": np.array([len(group.members[DAY]) for group in groups], dtype=np.int64),
        "friends": np.array([group.friends for group in groups if group.friends is not None]),
        "found": np.array(share_found(truth, (group.members for group in groups))),
    }


def score_groups(
    groups: Sequence[Group],
    stars: Sequence[Finding],
    inputs: Inputs,
    length: int,
    context: Context,
) -> list[Metric]:
    """Return number, time course and friends of groups, and planted ones found; with controls."""
    here = context.on(plan="groups")
    truth = planted_groups(inputs.planted, inputs.dataset.labels[WALL].ids, length)
    results = {CONTROLS[part]: inputs.parts[part] for part in CONTROLS if part in inputs.parts}
    results[DATA] = summarize(groups, truth)
    metrics = []
    for control, result in results.items():
        metrics.append(here.metric(GROUPS, result["slices"].size, control=control))
        if result["slices"].size:
            metrics.append(here.metric(GROUP_SPAN, np.median(result["slices"]), control=control))
        if result["friends"].size:
            metrics.append(here.metric(FRIENDS, np.median(result["friends"]), control=control))
        if truth:
            metrics.append(here.metric(GROUPS_FOUND, float(result["found"]), control=control))
    friends = friendships(inputs.dataset)
    if friends is not None:
        share = friends.shape[1] / max(1, inputs.dataset.data.shape[WALL]) ** 2
        metrics.append(here.metric(FRIENDS, share, control=STRANGERS))
    if truth:
        counted = ((*f.members[:DAY], [day // length for day in f.members[DAY]]) for f in stars)
        metrics.append(here.metric(GROUPS_FOUND, share_found(truth, counted), control=COUNTING))
    return metrics


def planted_stars(truth: Mapping[str, Any], users: Array) -> set[Name]:
    """Return the names of the planted stars; none without a truth."""
    position = {int(user): index for index, user in enumerate(users)} if truth else {}
    return {
        (kind, position[int(event[centre][0])], int(event["days"][0]))
        for kind, (word, centre) in PLANTED_CENTRES.items()
        for event in truth.get("planted", [])
        if event["kind"] == word
    }
