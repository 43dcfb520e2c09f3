"""The colours of figures and pages, in one place and without matplotlib."""

# Okabe and Ito's palette, without its yellow, which is too light for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
GREY = "#737373"
# The colour, marker and line of a contender, by number: the same in every figure.
CONTENDERS = {
    "none": 0, "refit": 1, "complete": 2, "prune": 3,  # finishes
    "SCOUP": 0, "reference": 4, "als": 5, "streaming ALS": 5, "compressed als": 6,
    "ALS in memory": 6, "planted": 6, "heaviest users": 3, "users at random": 4, "counting": 4,
    "joint": 0, "paper": 1, "authors": 2,  # merges
    "chosen": 0, "as printed": 1, "chosen alone": 2, "chosen, not normalised": 3,
    "ridge chosen": 4, "ridge": 5,
    "all matrices": 0, "tensor alone": 2, "unrelated matrices": 3,
}  # fmt: skip
# Wherever a number, a figure or a page comes from simulated data, it says so in this colour.
SIMULATED = "#B00000"
REAL = "#00734F"
