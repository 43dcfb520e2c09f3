"""Merges of repetitions: one module each, found by listing this folder.

A merge has one function ``merge(fits, samples, data, spec) -> (flat, Matching)``. ``flat`` holds
the covered rows, numbered in ``Matching.rows``, of each of ``[*modes, *sides]``; ``spec`` is the
:class:`~scoup.specs.MergeSpec`, which names the finish that follows. ``LABEL`` is what figures
show.
"""
