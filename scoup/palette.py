"""Colours with a meaning, the same in figures and on pages."""

SIMULATED = "#B00000"
REAL = "#00734F"
