"""Complete, drop the entries that matter least, and refit those that are left."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from scoup.finishes import complete
from scoup.finishes._covered import Covered
from scoup.kernels import solve_nonnegative
from scoup.normal import Update, solve_normal
from scoup.records import Array
from scoup.solvers import als
from scoup.specs import MergeSpec
from scoup.terms import Term, grams_of, weighted

LABEL = "after pruning"
JUDGED = ""
SWEEPS = 3
# Halvings of the number of entries to drop: the result is within 1/512 of all entries.
SEARCH_STEPS = 9
# Rows whose systems are solved at a time: at a large rank those of all rows need much memory.
CHUNK_ROWS = 4096


def finish(covered: Covered, flat: list[Array], spec: MergeSpec) -> list[float]:
    """Drop as many entries as let the cost rise by ``spec.rise`` of the completed model's at most.

    Entries are dropped in the order of their energies; how many, is found by halving.

    >>> from scoup import CoupledData
    >>> columns = [np.array([[1.0], [0.01]]) for _ in range(3)]
    >>> data = CoupledData(np.einsum("if,jf,kf->ijk", *columns))
    >>> rows = tuple(np.arange(2) for _ in range(3))
    >>> losses = finish(Covered(data, rows), columns, MergeSpec(finish="prune", rise=1e9))
    >>> columns[0].round(3).tolist()
    [[1.0], [0.01]]
    """
    losses = complete.finish(covered, flat, spec)
    limit = (1.0 + spec.rise) * weighted(covered.terms, losses)
    energies = entry_energies(covered.terms, flat)
    ranked = np.sort(np.concatenate([energy.ravel() for energy in energies]))
    best, fewest, most = list(flat), 0, ranked.size
    for _ in range(SEARCH_STEPS):
        count = (fewest + most) // 2
        trial = [np.where(e > ranked[count], f, 0) for e, f in zip(energies, flat, strict=True)]
        trial_losses = refit_kept(covered, trial)
        if weighted(covered.terms, trial_losses) <= limit:
            best, losses, fewest = trial, trial_losses, count
        else:
            most = count
    flat[:] = best
    return losses


def entry_energies(terms: Sequence[Term], flat: Sequence[Array]) -> list[Array]:
    """By how much the cost of a least-squares model rises if one entry alone becomes zero.

    ``a_if^2 G_ff`` with G the Gram matrix of the normal equations of the factor (of the row, with
    missing cells).

    >>> from scoup import CoupledData
    >>> from scoup.terms import terms_of
    >>> energies = entry_energies(terms_of(CoupledData(np.ones((2, 1, 3)))), [
    ...     np.ones((2, 1)), np.ones((1, 1)), np.ones((3, 1))])
    >>> [energy.ravel().tolist() for energy in energies]
    [[3.0, 3.0], [6.0], [2.0, 2.0, 2.0]]
    """
    grams, energies = grams_of(flat), []
    for position, factor in enumerate(flat):
        diagonal: Array = np.zeros(1)
        for term in terms:
            if position in term.factors:
                gram = term.gram(flat, grams, position)
                diagonal = diagonal + term.weight * np.diagonal(gram, axis1=-2, axis2=-1)
        energies.append(diagonal * factor.astype(np.float64) ** 2)
    return energies


def refit_kept(covered: Covered, flat: list[Array]) -> list[float]:
    """Sweep over the entries that are not zero, in place; return the loss of each term."""
    grams = grams_of(flat)
    bounded: Update = partial(least_squares_of_kept, nonnegative=True)
    updates = covered.constraints.choose(least_squares_of_kept, bounded, len(flat))
    for _ in range(SWEEPS):
        losses = als.sweep(covered.terms, flat, grams, update=updates)
    return losses


def least_squares_of_kept(
    gram: Array, rhs: Array, factor: Array, *, nonnegative: bool = False
) -> Array:
    """The update over those entries of each row that are not zero; zeros stay.

    >>> least_squares_of_kept(np.eye(2), np.array([[3.0, 4.0]]), np.array([[1.0, 0.0]])).tolist()
    [[3.0, 0.0]]
    """
    solution = np.empty_like(factor)
    diagonal = np.eye(factor.shape[1], dtype=bool)
    for start in range(0, len(factor), CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        kept = factor[rows] != 0
        pairs = kept[:, :, None] & kept[:, None, :] | diagonal
        systems = np.where(pairs, gram if gram.ndim == 2 else gram[rows], 0)
        systems, right = systems.astype(gram.dtype), rhs[rows] * kept
        if nonnegative:
            solution[rows] = solve_nonnegative(systems, right, factor[rows])
        else:
            solution[rows] = np.where(kept, solve_normal(systems, right), 0)
    return solution
