"""How a tracker shows the runs of an experiment."""

from dataclasses import dataclass


@dataclass(frozen=True)
class View:
    """What an experiment may declare as ``VIEW``; every field has a default that works.

    ``steps`` is the coordinate that becomes the axis of line charts, such as the repetitions; all
    other coordinates are parameters. Numbers named in ``shared`` are measured once per job and
    shown with each of its runs.

    The prepared view sorts the table by the metric ``sort``, best first, keeps the runs that match
    ``where`` (MLflow loads a hundred), averages those that agree in the parameters ``group``, and
    draws ``scatter``: a metric against a metric or a parameter.

    >>> View(steps="repetitions").group
    ()
    """

    steps: str = ""
    shared: tuple[str, ...] = ()
    sort: str = ""
    where: str = ""
    group: tuple[str, ...] = ()
    scatter: tuple[str, str] | None = None
