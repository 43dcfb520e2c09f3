"""The library against its peers: ``python -m benchmarks.library [--parts kernels dense ...]``."""

from __future__ import annotations

import argparse
from typing import Any

from benchmarks import data
from benchmarks.measure import Contender, exponent, limit_threads, race, table, write

RANK = 25
GENTEN = ("MttkrpDefault", "MttkrpSingle", "MttkrpDuplicated", "MttkrpPerm", "MttkrpAtomic")
SCIPY = ("fibres", "cells")
GROWTH = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
SWEEPS = 100

Check = tuple[str, float, str, float]


def kernels() -> tuple[dict[str, Any], list[Check]]:
    """Sparse products and a coupled sweep of the Facebook shape, beside GenTen, scipy and pyttb."""
    modes, same = range(3), {"rank": RANK}
    ours, peers = "benchmarks.ours", "benchmarks.peers"
    results = race(
        [
            Contender("coupled sweep", f"{ours}:coupled_sweep", same, 15),
            Contender("coupled sweep float32", f"{ours}:coupled_sweep", {**same, "dtype": "float32"}, 15),
            Contender("three mttkrps", f"{ours}:mttkrp", same, 15),
            *(Contender(f"mttkrp {n}", f"{ours}:mttkrp", {**same, "mode": n}, 15) for n in modes),
            Contender("gather", f"{ours}:gather", same, 15),
            *(Contender(f"genten {way}", f"{peers}:genten_sweep", {**same, "method": way}, 5) for way in GENTEN),
            *(Contender(f"scipy {way}", f"{peers}:scipy_mttkrps", {**same, "way": way}, 5) for way in SCIPY),
            *(Contender(f"pyttb {n}", f"{peers}:pyttb_mttkrp", {**same, "mode": n}, 3, warm=False) for n in modes),
        ]
    )
    seconds = {name: result["seconds"] for name, result in results.items()}
    genten = min(seconds[f"genten {way}"] for way in GENTEN)
    scipy = min(seconds[f"scipy {way}"] for way in SCIPY)
    bandwidth = {name: results[name]["gathered_bytes"] / seconds[name] for name in ("three mttkrps", "gather")}
    pyttb = sum(seconds[f"pyttb {n}"] for n in modes)
    return results, [
        ("coupled sweep / GenTen's fastest uncoupled sweep", seconds["coupled sweep"] / genten, "<=", 0.6),
        ("scipy CSR / three MTTKRPs", scipy / seconds["three mttkrps"], ">=", 2.5),
        ("pyttb / ours, three MTTKRPs", pyttb / seconds["three mttkrps"], ">=", 200.0),
        *((f"pyttb / ours, mode {n}", seconds[f"pyttb {n}"] / seconds[f"mttkrp {n}"], ">=", 200.0) for n in modes),
        ("share of gather bandwidth", bandwidth["three mttkrps"] / bandwidth["gather"], ">=", 0.6),
    ]


def memory() -> tuple[dict[str, Any], list[Check]]:
    """Peak memory of a coupled fit of the Facebook shape."""
    # The first run also loads compiled code; the second holds the fit alone.
    results = race([Contender("peak memory", "benchmarks.ours:memory", {"rank": RANK}, 2)])
    peak = results["peak memory"]
    limit = 4 * peak["data_bytes"] + peak["factor_bytes"]
    return results, [("peak memory / (4 x data + factors)", peak["fit_bytes"] / limit, "<=", 1.0)]


def growth() -> tuple[dict[str, Any], list[Check]]:
    """Seconds of a coupled sweep against non-zeros, the matrix twice as large as the tensor."""
    contenders = [
        Contender(f"{cells}", "benchmarks.ours:coupled_sweep", {"rank": RANK, "cells": cells, "count": 2 * cells}, 7)
        for cells in GROWTH
    ]
    results = race(contenders)
    slope = exponent(GROWTH, [results[f"{cells}"]["seconds"] for cells in GROWTH])
    return results, [("exponent of sweep time in non-zeros", slope, "<=", 1.1)]


def dense(sweeps: int = SWEEPS) -> tuple[dict[str, Any], list[Check]]:
    """Full fits of the BrainQ shape at rank 5, as many sweeps each, everything included."""
    same = {"rank": 5, "sweeps": sweeps}
    slow = {**same, "solver": "reference"}
    plan = {"rank": 5, "sampling": (3, 86, 1), "repetitions": 4, "finish": "complete", "jobs": 2}
    results = race(
        [
            Contender("als compressed", "benchmarks.ours:brainq", same, 5),
            Contender("als compressed, shared start", "benchmarks.ours:brainq_from_start", same, 5),
            Contender("scoup complete", "benchmarks.ours:brainq_scoup", plan, 5),
            Contender("reference, shared start", "benchmarks.ours:brainq_from_start", slow, 1, warm=False),
            Contender("tensorly cmtf", "benchmarks.peers:tensorly_cmtf", same, 1, warm=False),
        ]
    )
    als, reference = results["als compressed"], results["reference, shared start"]
    shared, scoup, tensorly = (
        results["als compressed, shared start"],
        results["scoup complete"],
        results["tensorly cmtf"],
    )
    return results, [
        ("reference / als compressed, same start", reference["seconds"] / shared["seconds"], ">=", 100.0),
        ("difference of their costs", abs(shared["cost"] / reference["cost"] - 1), "<=", 1e-6),
        ("TensorLy CMTF / als compressed", tensorly["seconds"] / als["seconds"], ">=", 100.0),
        ("als compressed cost / TensorLy's - 1", als["cost"] / tensorly["cost"] - 1, "<=", 1e-6),
        ("reference / SCOUP complete", reference["seconds"] / scoup["seconds"], ">=", 200.0),
        ("SCOUP complete cost / reference cost", scoup["cost"] / reference["cost"], "<=", 1.01),
    ]


PARTS = {"kernels": kernels, "memory": memory, "growth": growth, "dense": dense}


def report(name: str, results: dict[str, Any], checks: list[Check]) -> str:
    """Lay out seconds and ratios of one part."""
    rows = [
        (who, f"{r['seconds']:.4f}", f"{r['quartiles'][0]:.4f} to {r['quartiles'][1]:.4f}", r["runs"])
        for who, r in results.items()
    ]
    ratios = [(what, f"{got:.4g}", f"{sign} {want:g}", _met(got, sign, want)) for what, got, sign, want in checks]
    return "\n".join(
        [
            f"== {name}",
            table(rows, ("who", "seconds", "quartiles", "runs")),
            table(ratios, ("what", "got", "goal", "met")),
        ]
    )


def _met(got: float, sign: str, want: float) -> str:
    return "yes" if (got <= want if sign == "<=" else got >= want) else "NO"


def main() -> None:
    """Run the parts asked for; write one JSON file each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--sweeps", type=int, default=SWEEPS, help="sweeps of the dense fits; fewer for a quick look")
    options = parser.parse_args()
    limit_threads()
    for name in options.parts:
        results, checks = dense(options.sweeps) if name == "dense" else PARTS[name]()
        named = [{"what": what, "got": got, "goal": f"{sign} {want:g}"} for what, got, sign, want in checks]
        path = write(f"library-{name}", {"shape": data.FACEBOOK, "results": results, "checks": named})
        print(report(name, results, checks), f"-> {path.relative_to(path.parents[2])}", sep="\n", flush=True)


if __name__ == "__main__":
    main()
