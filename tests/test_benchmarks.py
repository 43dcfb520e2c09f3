"""What the benchmark concludes from its measurements, and what it writes."""

import numpy as np
import pytest

from benchmarks import data, figures, ingest, rivals, splatt, stages, table
from benchmarks import outcome as stored_outcome
from benchmarks.curves import Check, Spread, exponent, lowest, ratio, reach, steepest
from benchmarks.measure import summary
from benchmarks.outcome import Outcome, Stored
from benchmarks.parts.kernels import judge_splatt, roofline
from benchmarks.parts.missing import sooner
from scoup import store
from scoup.coupled import CoupledData
from scoup.formats.tns import read_tns
from scoup.tensor import SparseTensor

MACHINE = {
    "cpu": "a processor",
    "cores": 2,
    "threads": 2,
    "python": "3.11",
    "versions": {"numpy": "2.4", "pyttb": None},
}


def stored(part="kernels", checks=(), results=None, remarks=()):
    return Stored(
        part,
        Outcome(results or {}, list(checks), list(remarks)),
        MACHINE,
        [[0.5, 1, 1], [2.5, 1, 1]],
    )


def test_a_cost_is_reached_at_the_end_of_a_sweep_and_never_between_two():
    curve = [(1.0, 10.0), (3.0, 5.0), (4.0, 5.0), (9.0, 1.0)]
    assert [reach(curve, target) for target in (11.0, 5.0, 4.9, 0.5)] == [1.0, 3.0, 9.0, np.inf]


def test_the_lowest_cost_is_over_all_contenders():
    results = {
        "a": {"curves": [[(1, 3.0)], [(1, 2.0)]]},
        "b": {"curves": [[(5, 2.5)]]},
        "c": {"seconds": 1.0},
    }
    assert lowest(results) == 2.0


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_exponents_are_found_and_the_flat_start_of_a_series_does_not_count(power):
    sizes = [10.0, 1e2, 1e3, 1e4, 1e5]
    assert exponent(sizes, [3 * size**power for size in sizes]) == pytest.approx(power)
    late = [max(size, 1e3) ** power for size in sizes]
    assert steepest(sizes, late) == pytest.approx(power)
    assert exponent(sizes, late) < power


def test_ratios_take_every_pair_of_runs_and_survive_one_that_never_arrived():
    got = ratio([10.0, 20.0], [1.0, 2.0])
    assert got == Spread(8.75, 10.0, 12.5)
    assert ratio([np.inf], [1.0]).middle == np.inf
    assert Spread.of([1.0, 2.0, 3.0, np.inf]).low == 2.0


def test_a_check_is_met_on_the_right_side_of_its_goal():
    assert Check.single("x", 2.0, "<=", 2.0).met
    assert Check.single("x", 2.0, ">=", 2.0).met
    assert not Check.single("x", 2.1, "<=", 2.0).met
    assert not Check.single("x", 1.9, ">=", 2.0).met


def test_als_is_sooner_where_it_has_cds_final_cost():
    fits = {
        "cd": {"cost": 5.0, "curves": [[(10.0, 9.0), (40.0, 5.0)]]},
        "als": {"cost": 4.0, "curves": [[(2.0, 9.0), (8.0, 5.0), (9.0, 4.0)]]},
    }
    assert sooner(fits).middle == 5.0


def test_a_summary_keeps_every_run_and_every_curve():
    runs = [
        {"seconds": s, "cost": c, "curve": [(s, c)]}
        for s, c in ((3.0, 1.0), (1.0, 2.0), (2.0, 9.0))
    ]
    got = summary(runs)
    assert got["seconds"] == 2.0
    assert got["quartiles"] == [1.5, 2.5]
    assert got["runs"] == [3.0, 1.0, 2.0]
    assert got["cost"] == 2.0
    assert got["curves"] == [[(3.0, 1.0)], [(1.0, 2.0)], [(2.0, 9.0)]]


def test_the_limit_of_a_kernel_is_the_worse_of_memory_and_arithmetic():
    def result(seconds, moved, flops):
        return {"seconds": seconds, "moved_bytes": moved, "flops": flops}

    results = {
        "stream": result(1.0, 10e9, 1e9),
        "gather": result(1.0, 5e9, 1e9),
        "gemm": result(1.0, 1e9, 100e9),
        "dense spread": result(1.0, 5e9, 1e9),
        "dense long gram": result(1.0, 1e9, 80e9),
        "sparse mttkrp 0": result(1.0, 4e9, 1e9),
    }
    shares = [remark.rsplit(": ", 1)[1] for remark in roofline(results)[1:]]
    assert shares == [
        "50% of the memory limit",
        "80% of the arithmetic limit",
        "80% of the memory limit",
    ]


def test_the_table_is_put_between_the_markers_and_replaced_as_a_whole(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- bench -->\nold\n<!-- /bench -->\nafter\n")
    checks = [
        Check("ours / theirs", Spread(0.1, 0.2, 0.3), "<=", 0.6),
        Check.single("slow", np.inf, "<=", 1.0),
    ]
    for _ in range(2):
        table.fill(page, [stored(checks=checks, remarks=["limits: none"])])
    text = page.read_text()
    assert text.startswith("before\n<!-- bench -->\n")
    assert text.endswith("<!-- /bench -->\nafter\n")
    assert "old" not in text
    assert text.count("| ours / theirs | 0.2 [0.1, 0.3] | <= 0.6 | yes |") == 1
    assert "| slow | never | <= 1 | **no** |" in text
    assert "load between parts at most 2.5" in text
    assert "- limits: none" in text
    assert "pyttb" not in text


def test_without_measurements_the_page_does_not_change(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("no markers")
    table.fill(page, [])
    assert page.read_text() == "no markers"


def test_an_outcome_comes_back_from_its_file_and_names_no_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(stored_outcome, "OUT", tmp_path)
    assert stored_outcome.read("dense") is None
    checks = [Check("never", Spread(1.0, np.inf, np.inf), ">=", 2.0)]
    path = stored_outcome.write(
        "dense", Outcome({"als": {"seconds": 1.0}}, checks), [0.0, 0.0, 0.0]
    )
    back = stored_outcome.read("dense")
    assert back.outcome.checks == checks
    assert back.outcome.results == {"als": {"seconds": 1.0}}
    assert str(tmp_path) not in path.read_text()
    assert list(tmp_path.iterdir()) == [path]


def test_figures_are_drawn_from_what_there_is(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "FIGURES", tmp_path)
    monkeypatch.setattr(figures, "PIXELS", tmp_path / "pixels")
    runs = {
        "runs": [1.0, 2.0],
        "seconds": 1.5,
        "curves": [[(0.1, 2.0), (1.0, 1.0)], [(0.2, 2.0), (2.0, 1.0)]],
    }
    grown = {"seconds": 1.0, "one_thread": 2.0, "fit_bytes": 3e6, "data_bytes": 1e6}
    parts = [
        stored(
            "dense",
            results={
                "als compressed": runs,
                "scoup complete, advised sampling": runs,
                "genten cp_als": runs,
            },
        ),
        stored(
            "growth",
            results={"cells/10": grown, "cells/100": grown, "rank/2": grown, "rank/4": grown},
        ),
    ]
    drawn = figures.draw(parts)
    assert sorted(path.name for path in drawn) == [
        "dense.png",
        "dense.svg",
        "growth.png",
        "growth.svg",
    ]
    assert "simulated data" in (tmp_path / "dense.svg").read_text()


def test_simulated_sparse_data_has_exactly_the_requested_cells():
    wall = data.wall(2_000, (300, 300, 50))
    assert wall.nnz == 2_000
    assert wall.shape == (300, 300, 50)
    links = data.links(1_000, 200)
    assert links.nnz == 1_000
    assert links.shape == (200, 200)
    assert np.array_equal(links.toarray(), links.toarray().astype(bool))
    four = data.four_way(3_000, (80, 60, 40, 24))
    assert four.nnz == 3_000
    assert four.ndim == 4


def test_a_peer_is_judged_with_the_best_scale_and_the_best_side_factor():
    tensor, questions = data.brainq(noise=0.0, rank=2, shape=(6, 7, 5))
    rng = np.random.default_rng(0)
    modes = [rng.standard_normal((size, 2)) for size in tensor.shape]
    exact = np.einsum("if,jf,kf->ijk", *modes)
    coupled = CoupledData(exact, {0: modes[0] @ rng.standard_normal((questions.shape[1], 2)).T})
    stretched = [modes[0], modes[1] * [3.0, 0.5], modes[2]]
    assert rivals.judge(coupled)(stretched) < 1e-9 * coupled.blocks[0].norm2


def test_times_of_jobs_are_summed_by_stage(tmp_path):
    facts = {"started": 10.0, "ended": 14.0, "startup": 1.0, "processor": 3.0}
    for name in ("fit/a/rep0", "fit/a/rep1", "experiments/rank/a/seed0", "scheduling"):
        path = tmp_path / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        store.write_json(path, facts)
    store.write_json(tmp_path / "fit/a/running.json", {"started": 10.0})
    sums = stages.stages(tmp_path)
    assert sums[0] == stages.Stage("fit", 2, 6.0, 2.0, 8.0)
    assert {stage.name for stage in sums} == {"fit", "experiments rank", "scheduling"}
    assert "| all | 4 | 12 | 4 | 16 |" in stages.table(sums)


def test_the_page_of_the_benchmarks_has_the_markers_that_are_filled(tmp_path):
    page = tmp_path / "benchmarks.md"
    page.write_text(table.PAGE.read_text())
    table.fill(page, [stored()])
    stages.main(str(tmp_path), str(page))
    assert "| all | 0 | 0 | 0 | 0 |" in page.read_text()


def test_lines_for_ingest_are_a_tensor_that_our_reader_takes(tmp_path, monkeypatch):
    monkeypatch.setattr(ingest, "BLOCK_LINES", 300)
    ingest.write_lines(tmp_path / "a.tns.gz", 1000, seed=0)
    tensor = read_tns(tmp_path / "a.tns.gz")
    assert all(most <= size for most, size in zip(tensor.shape, ingest.SHAPE, strict=True))
    assert 990 <= tensor.nnz <= 1000
    assert ingest.sharded(str(tmp_path / "a.tns.gz"))()["seconds"] > 0


# What SPLATT prints, by its sources; the program itself is in no registry.
SPLATT_REPORT = """\
****************************************************************
splatt v1.1.1

Tensor information ---------------------------------------------
FILE=wall.tns
DIMS=3x2x2 NNZ=4 DENSITY=3.333333e-01

Factoring ------------------------------------------------------
NFACTORS=2 MAXITS=3 TOL=0.0e+00 RANDSEED=1 THREADS=2

  its =   1 (0.900s)  fit = 0.10000  delta = +1.0000e-01
     mode = 1 (0.300s)
  its =   2 (0.040s)  fit = 0.20000  delta = +1.0000e-01
  its =   3 (0.060s)  fit = 0.25000  delta = +5.0000e-02
Final fit: 0.25000

Timing information ---------------------------------------------
  TOTAL               1.005s
"""


@pytest.fixture
def fake_splatt(tmp_path, monkeypatch):
    """Put a program on the PATH that keeps its arguments and its tensor, and prints a report."""
    (tmp_path / "report.txt").write_text(SPLATT_REPORT)
    program = tmp_path / splatt.PROGRAM
    program.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/arguments\n'
        f'cp "$2" {tmp_path}/seen.tns\ncat {tmp_path}/report.txt\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    cells = SparseTensor([[0, 1, 3, 3], [0, 2, 0, 2], [0, 0, 1, 0]], np.arange(1.0, 5.0), (5, 3, 2))
    monkeypatch.setattr(data, "load_wall", lambda: cells)
    return tmp_path


def test_a_sweep_of_splatt_is_timed_by_its_own_report_without_the_first(fake_splatt):
    assert splatt.is_present()
    run = splatt.sweep(rank=2, setting="tiled", sweeps=2)
    assert run() == {"seconds": pytest.approx(0.05)}
    arguments = (fake_splatt / "arguments").read_text().split()
    assert arguments[0] == "cpd"
    assert {"--nowrite", "--tile"} < set(arguments)
    assert [arguments[arguments.index(key) + 1] for key in ("-r", "-i", "--tol")] == ["2", "3", "0"]
    assert read_tns(fake_splatt / "seen.tns").shape == (3, 2, 2)  # empty slices are gone


def test_a_program_that_reports_no_sweeps_is_refused_in_its_own_words(fake_splatt):
    (fake_splatt / "report.txt").write_text("SPLATT: unknown option")
    with pytest.raises(RuntimeError, match="0 sweeps: 'SPLATT: unknown option'"):
        splatt.sweep(rank=2)()


def test_the_fastest_setting_of_splatt_is_the_rival_and_without_any_a_sentence_says_so():
    ours = {"coupled sweep": {"runs": [1.0], "seconds": 1.0}}
    both = {f"splatt {n}": {"runs": [s], "seconds": s} for n, s in (("plain", 4.0), ("tiled", 2))}
    (check,), remarks = judge_splatt({**ours, **both})
    assert "splatt tiled" in check.what
    assert (check.got.middle, remarks) == (0.5, [])
    assert judge_splatt(ours) == ([], [splatt.MISSING])
