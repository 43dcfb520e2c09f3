"""Refit, then one full ALS sweep over all rows."""
