"""Pages to open in a browser: everything inline, nothing from the network, tables that sort by a click."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from scoup.interop import WARNING, to_nifti
from scoup.plot import brain

Array = NDArray[Any]
Facts = Mapping[str, Any]
LOADINGS = 30  # that a table lists
STYLE = """
body{font:15px/1.45 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem;color:#222}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}.mark{color:#b00000;font-weight:600}
table{border-collapse:collapse;width:100%;font-size:.85rem}
th,td{padding:.25rem .5rem;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}
th{cursor:pointer;background:#f4f4f4;position:sticky;top:0}th:focus{outline:2px solid #0072b2}
tbody tr:hover{background:#f8fbff}
.plus{color:#b34700}.minus{color:#542788}img{max-width:100%}
input{font:inherit;width:20rem;max-width:100%;padding:.2rem .4rem;margin:.5rem 0}
"""
SCRIPT = """
for(const t of document.querySelectorAll('table.sortable'))t.querySelectorAll('th').forEach((h,i)=>{h.tabIndex=0;
const go=()=>{const b=t.tBodies[0],d=h.dataset.d=h.dataset.d==='1'?'-1':'1';const v=r=>r.cells[i].textContent;
const n=s=>s!==''&&!isNaN(s);
const r=[...b.rows].sort((x,y)=>d*(n(v(x))&&n(v(y))?parseFloat(v(x))-parseFloat(v(y)):v(x).localeCompare(v(y))));
b.append(...r)};h.onclick=go;h.onkeydown=e=>{if(e.key==='Enter')go()}});
const f=document.querySelector('#filter');if(f)f.oninput=()=>{const w=f.value.toLowerCase();
for(const r of document.querySelectorAll('table.sortable tbody tr'))r.hidden=!r.textContent.toLowerCase().includes(w)};
"""


def files(experiment: str, facts: Facts, arrays: Mapping[str, Array]) -> dict[str, bytes]:
    """Return the files of a page by name; ``index.html`` is the page."""
    return PAGES[experiment](facts, arrays)


def anomaly(facts: Facts, arrays: Mapping[str, Array]) -> dict[str, bytes]:
    """The table of everything found: as a page, as CSV and as JSON."""
    del arrays
    rows = [{name: row[name] for name in facts["columns"]} for row in facts["rows"]]
    wall, poster, day = (escape(name) for name in facts["names"])
    about = (
        f"Every component of every repetition and of the merge, each thing once. A star-out is one {poster} with many "
        f"{wall}s, a star-in one {wall} with many {poster}s, both on one {day}; a flood is much of one {poster} "
        f"with one {wall} on one {day}, a conversation the same over many {day}s. Score: distinct partners (for a "
        f"flood, its sum) on one {day}; for conversations and communities the sum for each {day} and leader. "
        "Click a head to sort."
    )
    body = [
        f"<p>{about}</p><input id=filter placeholder='filter, for example star-out' aria-label='filter'>",
        table(rows),
    ]
    page = document("Anomalies", facts, body)
    return {
        "index.html": page,
        "table.csv": _csv(rows),
        "table.json": json.dumps(rows, indent=1).encode(),
    }


def clusters(facts: Facts, arrays: Mapping[str, Array]) -> dict[str, bytes]:
    """A section for each component with what stands at its ends, and its image as a picture and a NIfTI file."""
    made: dict[str, bytes] = {}
    body = []
    for number, component in enumerate(facts["components"]):
        name = f"component{component['component']}"
        body.append(f"<h2 id={name}>Component {component['component']}</h2>")
        if "maps" in arrays:
            values, size = np.asarray(arrays["maps"][number]), facts["voxel_mm"]
            made[f"{name}.nii.gz"] = to_nifti(values, size, name)
            body.append(
                _picture(brain.slices(values, size, name), f"latent image of {name}: {WARNING}")
            )
            body.append(
                f"<p><a href='{name}.nii.gz' download>{name}.nii.gz</a> ({escape(WARNING)})</p>"
            )
        body.append(table(_members(component, facts["names"][:2])))
        who, loadings = facts["names"][2], component["loadings"]
        loads = [{who: name, "loading": value} for name, value in _strongest(loadings)]
        few = (
            f", the strongest {len(loads)} of {len(loadings)}" if len(loads) < len(loadings) else ""
        )
        body.append(f"<h3>Loadings of each {escape(who)}{few}</h3>" + table(loads))
    return {"index.html": document(f"Components of {facts['dataset']}", facts, body), **made}


def _strongest(loadings: Mapping[str, float]) -> list[tuple[str, float]]:
    """All loadings in their order, or the strongest where they are many."""
    if len(loadings) <= LOADINGS:
        return list(loadings.items())
    return sorted(loadings.items(), key=lambda one: -abs(one[1]))[:LOADINGS]


def rank(facts: Facts, arrays: Mapping[str, Array]) -> dict[str, bytes]:
    """The recommendation with its reasons, and the strongest labels of every component: as a page, CSV and JSON."""
    del arrays
    columns = ("component", "weight", "mode", "place", "label", "loading")
    rows = [{name: row[name] for name in columns} for row in facts["components"]]
    why = "".join(f"<li>{escape(text)}</li>" for text in (*facts["reasons"], *facts["warnings"]))
    about = (
        f"The strongest labels of every mode for each component of the model of rank {facts['shown']} on all the data. "
        "Signs are chosen so that strong entries are positive; where one mode must give way, it is the most balanced."
    )
    note = (
        ""
        if facts["rank"]
        else "<p class=mark>No rank is recommended: read these components with care.</p>"
    )
    body = [
        f"<h2>Recommendation: {escape(facts['words'])}</h2><ul>{why}</ul>{note}<h2>Components</h2><p>{about}</p>"
    ]
    body.append(
        "<input id=filter placeholder='filter, for example a label' aria-label='filter'>"
        + table(rows)
    )
    page = document("Rank", facts, body)
    return {
        "index.html": page,
        "table.csv": _csv(rows),
        "table.json": json.dumps(rows, indent=1).encode(),
    }


PAGES: dict[str, Callable[[Facts, Mapping[str, Array]], dict[str, bytes]]] = {
    "anomaly": anomaly,
    "clusters": clusters,
    "rank": rank,
}


def _members(component: Facts, names: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "end": sign,
            "what": what,
            "name": one["name"],
            "category": one.get("category", ""),
            "score": one["score"],
        }
        for sign, end in component["ends"].items()
        for what in names
        for one in end[what]
    ]


def _picture(drawn: Figure, text: str) -> str:
    buffer = io.BytesIO()
    drawn.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
    return f"<img alt='{escape(text)}' src='data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}'>"


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as a table that sorts by a click; every value is escaped."""
    if not rows:
        return "<p>Nothing was found.</p>"
    head = "".join(f"<th scope=col>{escape(str(name))}</th>" for name in rows[0])
    columns = [_texts([row[name] for row in rows]) for name in rows[0]]
    cells = zip(*columns, strict=True)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in cells
    )
    return f"<table class=sortable><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _texts(column: Sequence[Any]) -> list[str]:
    """Write a column, fractions with as many decimals as give the largest three digits, and one at least."""
    numbers = [abs(value) for value in column if isinstance(value, float) and np.isfinite(value)]
    broken = any(value % 1 for value in numbers)
    decimals = max(1, 2 - int(np.floor(np.log10(max(numbers))))) if broken else 0
    return [f"{value:.{decimals}f}" if isinstance(value, float) else str(value) for value in column]


def document(title: str, facts: Facts, body: Sequence[str]) -> bytes:
    """Return a whole page that says which data it shows, and whether that is simulated."""
    kind = (
        "<span class=mark>simulated data</span>"
        if facts["provenance"] == "simulated"
        else "real data"
    )
    where = f"<p>Data set <b>{escape(facts['dataset'])}</b> ({kind}), seed {facts['seed']}.</p>"
    meta = "<meta charset=utf-8><meta name=viewport content='width=device-width'>"
    head = f"{meta}<title>{escape(title)}</title><style>{STYLE}</style>"
    page = f"<!doctype html><html lang=en><head>{head}</head><body><h1>{escape(title)}</h1>{where}{''.join(body)}"
    return f"{page}<script>{SCRIPT}</script></body></html>\n".encode()


def _csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    buffer = io.StringIO()
    writer = csv.DictWriter(
        buffer, fieldnames=list(rows[0]) if rows else ["place"], lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue().encode()
