"""Coupled sparse matrix-tensor factorization by sampling and merging."""
