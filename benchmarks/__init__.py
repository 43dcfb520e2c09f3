"""Measurements of scoup next to other libraries; `make bench` runs them."""
