"""Prepared views: which columns, order, groups and charts MLflow shows for a link.

MLflow keeps the state of a shared view in a tag of the experiment, and a link names the tag. A link
therefore stays short, and works in every browser.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from scoup.experiments._view import View
from scoup.track.runs import SYSTEM_PREFIX, TrackedRun

VIEW_KEY = "scoup"
VIEW_TAG = f"mlflow.sharedViewState.{VIEW_KEY}"
# MLflow loads a hundred runs and draws ten of them by itself; a prepared view draws them all,
# unless more match it.
MAX_DRAWN_RUNS = 100
_SECTION = "Model metrics"


def address(experiment_id: str, *, charts: bool = False) -> str:
    """Return the prepared view of an experiment, relative to the address of the server.

    >>> address("3")
    '#/experiments/3/runs?workflowType=machine_learning&viewStateShareKey=scoup'
    """
    mode = "&compareRunsMode=CHART" if charts else ""
    query = f"workflowType=machine_learning&viewStateShareKey={VIEW_KEY}{mode}"
    return f"#/experiments/{experiment_id}/runs?{query}"


def state(
    view: View,
    params: Sequence[str],
    runs: Sequence[TrackedRun],
    directions: Mapping[str, str],
    tags: Sequence[str] = ("data", "revision"),
) -> str:
    """Return the state of a view: ``params``, all metrics and ``tags`` as columns, a chart each.

    ``directions`` says for each metric which way is better.
    """
    stepped: dict[str, bool] = {}
    for run in runs:
        for point in run.points:
            if point.name.startswith(SYSTEM_PREFIX):
                continue  # what a job took of the machine is no finding
            stepped[point.name] = stepped.get(point.name, False) or point.step > 0
    columns = [f"metrics.`{name}`" for name in stepped]
    columns += [f"params.`{name}`" for name in params] + [f"tags.`{name}`" for name in tags]
    facets: dict[str, Any] = {"searchFilter": view.where}
    if view.sort in stepped:
        ascending = directions.get(view.sort) == "lower"
        facets |= {"orderByKey": f"metrics.`{view.sort}`", "orderByAsc": ascending}
    group = {
        "aggregateFunction": "average",
        "groupByKeys": [{"mode": "param", "groupByData": name} for name in view.group],
    }
    all_fit = bool(view.where) or len(runs) <= MAX_DRAWN_RUNS
    charts = [_scatter(view.scatter, params)] if view.scatter else []
    charts += [_chart(name, line) for name, line in stepped.items()]
    prepared = {
        **facets,
        "selectedColumns": columns,
        "runsHiddenMode": "SHOW_ALL" if all_fit else "FIRST_20_RUNS",
        "groupBy": group if view.group else None,
        "useGroupedValuesInCharts": True,
        "hideEmptyCharts": True,
        "compareRunCharts": charts,
        "compareRunSections": [_section()],
        "isAccordionReordered": False,
    }
    return json.dumps(prepared, sort_keys=True)


def _section() -> dict[str, Any]:
    flags = {"display": True, "isReordered": False, "deleted": False, "isGenerated": True}
    return {"uuid": "metrics", "name": _SECTION, **flags}


def _card(kind: str, uuid: str) -> dict[str, Any]:
    flags = {"deleted": False, "isGenerated": True, "metricSectionId": "metrics"}
    return {"uuid": uuid, "type": kind, "runsCountToCompare": MAX_DRAWN_RUNS, **flags}


def _chart(name: str, line: bool) -> dict[str, Any]:
    """Return a line for a metric with steps, and bars for one without."""
    card = {**_card("LINE" if line else "BAR", f"metric-{name}"), "metricKey": name}
    if not line:
        return card
    axis = {"xAxisKey": "step", "xAxisScaleType": "linear", "scaleType": "linear"}
    return {**card, **axis, "selectedMetricKeys": [name], "lineSmoothness": 0}


def _scatter(axes: tuple[str, str], params: Sequence[str]) -> dict[str, Any]:
    x, y = ({"key": name, "type": "PARAM" if name in params else "METRIC"} for name in axes)
    return {**_card("SCATTER", "scatter"), "xaxis": x, "yaxis": y, "isGenerated": False}
