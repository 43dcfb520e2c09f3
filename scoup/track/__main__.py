"""``scoup ui``, or ``python -m scoup.track ui``: show the store of a results folder."""

import argparse
import sys
from pathlib import Path

from scoup.errors import ScoupError
from scoup.track import ui


def main(arguments: list[str] | None = None) -> int:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(prog="scoup", description="Browse the runs in MLflow.")
    parser.add_argument(
        "verb", choices=["ui"], help="browse the runs in MLflow, on this machine only"
    )
    parser.add_argument(
        "--results", type=Path, default=Path("results"), help="the results folder (results)"
    )
    parser.add_argument(
        "--port", type=int, default=5000, help="the port to listen on, at 127.0.0.1 (5000)"
    )
    options = parser.parse_args(arguments)
    try:
        return ui.serve(options.results, options.port)
    except ScoupError as error:
        sys.stderr.write(f"scoup: {error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
