"""Finishes of a merge: one module each, found by listing this folder.

A finish has one function ``finish(covered, flat, spec) -> losses``. ``flat`` holds the covered rows
of each of ``[*modes, *sides]`` and is changed in place; the losses are those of each block of the
whole data. ``LABEL`` is what figures show, and ``JUDGED`` says how the joint merge judges its
candidates: ``"scaled"`` (by the cost before the finish, in one pass over the data), ``"finished"``
(by the cost after it) or ``""`` (not at all, as the finish sets every row anew).
"""
