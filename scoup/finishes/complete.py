"""Refit, then one full ALS sweep over all rows."""

LABEL = "after completion"
