"""``python -m benchmarks [--parts kernels dense ...]``: measure and fill ``docs/benchmarks.md``."""

import argparse

from benchmarks import figures, table
from benchmarks.machine import limit_threads, load
from benchmarks.outcome import read, write
from benchmarks.parts import PARTS


def main() -> None:
    """Measure the requested parts, then redraw figures and table from all stored measurements."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--parts", nargs="*", choices=list(PARTS), default=list(PARTS), help="none: only redraw"
    )
    options = parser.parse_args()
    limit_threads()
    for part in options.parts:
        before = load()
        write(part, PARTS[part](), before)
        stored = read(part)
        assert stored is not None
        print(table.text(stored), flush=True)
    stored_parts = [stored for part in PARTS if (stored := read(part)) is not None]
    for path in figures.draw(stored_parts):
        print(f"-> {path.relative_to(figures.ROOT)}")
    table.fill(table.PAGE, stored_parts)


if __name__ == "__main__":
    main()
