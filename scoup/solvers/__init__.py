"""Solvers of the coupled factorization: name -> function(terms, flat, max_iter, tol, on_step)."""

from scoup.solvers import als, cd, opt, reference

TERM_SOLVERS = {"als": als.solve, "cd": cd.solve, "opt": opt.solve}

__all__ = ["TERM_SOLVERS", "als", "cd", "opt", "reference"]
