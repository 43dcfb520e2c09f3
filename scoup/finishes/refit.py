"""A few ALS sweeps over the covered rows only, which keeps the zeros."""

LABEL = "after refit"
