"""Sparse products and a coupled sweep of Facebook's shape next to GenTen, SPLATT, scipy, pyttb."""

from benchmarks import splatt
from benchmarks.curves import Check, ratio
from benchmarks.measure import Contender, Numbers, race
from benchmarks.outcome import Outcome

RANK = 25
OURS, LIMITS, PEERS = "benchmarks.ours", "benchmarks.limits", "benchmarks.peers"
GENTEN = ("MttkrpDefault", "MttkrpSingle", "MttkrpDuplicated", "MttkrpPerm", "MttkrpAtomic")
SCIPY = ("fibres", "cells")
MODES = range(3)
PASSES = ("densities", "contract", "spread")


def measure() -> Outcome:
    """Time ours, the peers and the limits of the machine, in turns."""
    results = race([*_ours(), *_limits(), *_peers()])
    runs = {name: result["runs"] for name, result in results.items()}
    # MttkrpSingle is on one thread, see benchmarks.peers.load_genten.
    fastest = min((f"genten {way}" for way in GENTEN), key=lambda name: results[name]["seconds"])
    scipy = min((f"scipy {way}" for way in SCIPY), key=lambda name: results[name]["seconds"])
    pyttb = [sum(runs[f"pyttb {n}"][turn] for n in MODES) for turn in range(len(runs["pyttb 0"]))]
    three = runs["three mttkrps"]
    gathered = results["three mttkrps"]["gathered_bytes"]
    rates = [gathered / seconds for seconds in three]
    limit = [results["gather"]["moved_bytes"] / seconds for seconds in runs["gather"]]
    checks = [
        Check(f"coupled sweep / {fastest}'s sweep of the tensor alone",
              ratio(runs["coupled sweep"], runs[fastest]), "<=", 0.6),
        Check("coupled sweep / genten MttkrpDefault's sweep of the tensor alone",
              ratio(runs["coupled sweep"], runs["genten MttkrpDefault"]), "<=", 0.6),
        Check("best scipy CSR / our three MTTKRPs", ratio(runs[scipy], three), ">=", 2.5),
        Check("our three MTTKRPs, share of the gather bandwidth", ratio(rates, limit), ">=", 0.6),
        Check("pyttb / ours, three MTTKRPs", ratio(pyttb, three), ">=", 30.0),
    ]  # fmt: skip
    against, remarks = judge_splatt(results)
    return Outcome(results, [*checks, *against], [*roofline(results), *remarks])


def judge_splatt(results: dict[str, Numbers]) -> tuple[list[Check], list[str]]:
    """Compare with the fastest setting of SPLATT; without any, say so in a sentence."""
    names = [name for name in results if name.startswith("splatt ")]
    if not names:
        return [], [splatt.MISSING]
    fastest = min(names, key=lambda name: results[name]["seconds"])
    got = ratio(results["coupled sweep"]["runs"], results[fastest]["runs"])
    return [Check(f"coupled sweep / {fastest}'s sweep of the tensor alone", got, "<=", 1.0)], []


def _ours() -> list[Contender]:
    same = {"rank": RANK}
    return [
        Contender("coupled sweep", f"{OURS}:coupled_sweep", same, 15),
        Contender(
            "coupled sweep float32", f"{OURS}:coupled_sweep", {**same, "dtype": "float32"}, 15
        ),
        Contender("three mttkrps", f"{OURS}:mttkrp", same, 15),
    ]


def _limits() -> list[Contender]:
    same = {"rank": RANK}
    return [
        Contender("stream", f"{LIMITS}:stream", {}, 7),
        Contender("gemm", f"{LIMITS}:gemm", {}, 7),
        Contender("gather", f"{LIMITS}:gather", same, 15),
        *(Contender(f"dense {way}", f"{LIMITS}:dense_pass", {"which": way}, 7) for way in PASSES),
        Contender("dense long gram", f"{LIMITS}:long_gram", {}, 5),
        *(
            Contender(
                f"sparse mttkrp {n}", f"{LIMITS}:sparse_product", {"which": str(n), **same}, 15
            )
            for n in MODES
        ),
        Contender(
            "sparse matrix product", f"{LIMITS}:sparse_product", {"which": "matrix", **same}, 15
        ),
        Contender("solve for a long factor", f"{LIMITS}:small_solve", same, 15),
    ]


def _peers() -> list[Contender]:
    same = {"rank": RANK}
    return [
        *(
            Contender(f"genten {way}", f"{PEERS}:genten_sweep", {**same, "method": way}, 5)
            for way in GENTEN
        ),
        *(
            Contender(f"scipy {way}", f"{PEERS}:scipy_mttkrps", {**same, "way": way}, 5)
            for way in SCIPY
        ),
        *(Contender(f"pyttb {n}", f"{PEERS}:pyttb_mttkrp", {**same, "mode": n}, 3) for n in MODES),
        *(
            Contender(f"splatt {way}", "benchmarks.splatt:sweep", {**same, "setting": way}, 5)
            for way in (splatt.SETTINGS if splatt.is_present() else ())
        ),
    ]


def roofline(results: dict[str, Numbers]) -> list[str]:
    """Describe what each kernel moves and computes, and its share of the limit of the machine.

    The limit is the larger of bytes over bandwidth (of gathers for sparse kernels) and flops over
    the GEMM peak.
    """
    rate = {
        name: results[name]["moved_bytes"] / results[name]["seconds"]
        for name in ("stream", "gather")
    }
    peak = results["gemm"]["flops"] / results["gemm"]["seconds"]
    remarks = [
        f"limits: reading {rate['stream'] / 1e9:.1f} GB/s, gathering rows of {RANK} numbers "
        f"at random {rate['gather'] / 1e9:.1f} GB/s, GEMM {peak / 1e9:.0f} GFLOP/s; where a few "
        "users have most of the posts their rows stay in cache, and sparse kernels exceed the "
        "limit of gathering"
    ]
    for name in (n for n in results if n.startswith(("dense ", "sparse ", "solve "))):
        result = results[name]
        moving = result["moved_bytes"] / rate["gather" if name.startswith("sparse") else "stream"]
        computing = result["flops"] / peak
        share = max(moving, computing) / result["seconds"]
        bound = "memory" if moving >= computing else "arithmetic"
        remarks.append(
            f"{name}: {result['moved_bytes'] / 1e6:.0f} MB, {result['flops'] / 1e9:.2f} GFLOP in "
            f"{1e3 * result['seconds']:.1f} ms: {share:.0%} of the {bound} limit"
        )
    return remarks
