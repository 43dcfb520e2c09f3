"""Merges of repetitions: one module each, found by listing this folder.

A merge has one function ``merge(fits, samples, data, finish) -> (flat, Matching)``. ``flat`` holds
the covered rows, numbered in ``Matching.rows``, of each of ``[*modes, *sides]``; ``finish`` is the
module of the finish that follows. ``LABEL`` is what figures show; ``NEEDS_SCALE`` says that the
columns come at an arbitrary scale and must be scaled to the data.
"""
