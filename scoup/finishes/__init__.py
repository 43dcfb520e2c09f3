"""Finishes of a merge: one module each, found by listing this folder."""
