"""Write the simulated data of the tutorial: bicycle trips, and the surroundings of the stations.

Three habits make the trips: people ride home from work, go out, and take a ride in the park. The
surroundings of a station determine how common each habit is there, and nothing else.
`python docs/bikes.py` writes docs/bikes.
"""

import csv
from pathlib import Path

import numpy as np

from scoup.seeds import generator

STATIONS = [
    "Abbey", "Bank", "Canal", "Depot", "Exchange", "Fountain", "Gardens", "Harbour", "Island",
    "Junction", "Kiln", "Lighthouse", "Market", "Northgate", "Observatory", "Pavilion", "Quay",
    "Ropewalk", "Southgate", "Theatre", "University", "Viaduct", "Waterworks", "Yard",
]  # fmt: skip
DAYS = ["1 Mon", "2 Tue", "3 Wed", "4 Thu", "5 Fri", "6 Sat", "7 Sun"]
PLACES = ["homes", "desks", "shops", "bars", "cinemas", "trees", "benches"]


def habits() -> list[np.ndarray]:
    """Return hours (24, 3), days (7, 3) and places (7, 3) of the habits: work, going out, park."""
    hour = np.arange(24)[:, None]
    hours = np.exp(-0.5 * ((hour - [17.5, 22.5, 14.0]) / [1.3, 1.8, 2.5]) ** 2)
    days = np.array(
        [
            [1, 1, 1, 1, 0.9, 0.1, 0.05],
            [0.1, 0.1, 0.2, 0.5, 1, 1, 0.2],
            [0.15, 0.1, 0.2, 0.1, 0.2, 0.8, 1],
        ]
    ).T
    places = np.array(
        [[2, 9, 4, 1, 0, 1, 1], [3, 1, 3, 9, 2, 0, 0], [4, 0, 1, 1, 0, 12, 6]], dtype=float
    ).T
    return [hours, days, places]


def simulate() -> tuple[np.ndarray, np.ndarray]:
    """Return trips (stations, hours, days) and surroundings (stations, places), both as counts."""
    rng = generator(0, "bikes")
    hours, days, places = habits()
    character = rng.gamma(0.6, 1.0, (len(STATIONS), 3)) + 0.05
    trips = rng.poisson(20 * np.einsum("sf,hf,df->shd", character, hours, days))
    return trips, rng.poisson(6 * character @ places.T)


def main(folder: str | Path = Path(__file__).parent / "bikes") -> None:
    """Write trips.csv, one line per non-zero cell, and surroundings.csv, one line per station."""
    trips, surroundings = simulate()
    with open(Path(folder, "trips.csv"), "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["station", "hour", "day", "trips"])
        for s, h, d in np.argwhere(trips):
            table.writerow([STATIONS[s], int(h), DAYS[d], trips[s, h, d]])
    with open(Path(folder, "surroundings.csv"), "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["station", *PLACES])
        table.writerows(
            [station, *row] for station, row in zip(STATIONS, surroundings, strict=True)
        )


if __name__ == "__main__":
    main()
