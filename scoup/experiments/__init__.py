"""The experiments: one module each, whose ``measure`` turns data and fits into a list of metrics."""
