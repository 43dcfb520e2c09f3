"""The yardstick of the data tests: leave-two-out by ridge regression, all 1,770 pairs."""

from itertools import combinations

import numpy as np

from scoup.machine import one_thread


@one_thread()  # systems this small are slower on many threads
def leave_two_out(answers, values, alpha=200.0):
    """Return the share of noun pairs decided correctly by cosine.

    The regression is from standardised questions to voxels, computed from the Gram matrix.
    """
    gram = values @ values.T
    right = 0.0
    pairs = list(combinations(range(len(answers)), 2))
    for pair in pairs:
        test = np.array(pair)
        train = np.setdiff1d(np.arange(len(answers)), test)
        spread = answers[train].std(axis=0)
        Q = (answers - answers[train].mean(axis=0)) / np.where(spread > 0, spread, 1)
        ridge = np.linalg.solve(
            Q[train] @ Q[train].T + alpha * np.eye(train.size), Q[train] @ Q[test].T
        ).T
        # Rows of ``guess`` and ``truth`` are weights of the nouns' centred images, so that the
        # Gram matrix gives their products.
        centre = np.zeros(len(answers))
        centre[train] = 1 / train.size
        guess = np.zeros((2, len(answers)))
        guess[:, train] = ridge
        guess -= guess.sum(axis=1, keepdims=True) * centre
        truth = np.eye(len(answers))[test] - centre
        inner = guess @ gram @ truth.T
        length = np.sqrt(np.outer(np.diag(guess @ gram @ guess.T), np.diag(truth @ gram @ truth.T)))
        cosine = inner / np.where(length > 0, length, 1)
        margin = cosine[0, 0] + cosine[1, 1] - cosine[0, 1] - cosine[1, 0]
        right += 1.0 if margin > 0 else 0.5 if margin == 0 else 0.0
    return right / len(pairs)
