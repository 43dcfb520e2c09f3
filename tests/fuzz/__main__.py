"""``python -m tests.fuzz``: see :mod:`tests.fuzz`."""

import argparse
import sys
from pathlib import Path

from tests import fuzz
from tests.fuzz.run import fuzz as attack
from tests.fuzz.run import generator, load, names, scratch_folder


def main():
    parser = argparse.ArgumentParser("python -m tests.fuzz", description=fuzz.__doc__)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--inputs", type=int, default=sys.maxsize, help="of each target, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=names(), default=[])
    parser.add_argument("--replay", nargs=2, metavar=("TARGET", "NUMBER"))
    request = parser.parse_args()
    if request.replay:
        name, number = request.replay
        with scratch_folder() as place:
            material = load(name).prepare(Path(place))
            print(load(name).attempt(generator(request.seed, name, int(number)), material))
        return 0
    counts, findings, peak = attack(
        60 * request.minutes, request.seed, request.only, request.inputs
    )
    for name, count in counts.items():
        print(f"{name:<15} {sum(count.values()):>9,} inputs", dict(count))
    total = sum(sum(count.values()) for count in counts.values())
    print(f"{total:,} inputs, {len(findings)} findings, at most {peak / 1e6:.0f} MB of memory")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
