r"""Maximum likelihood by column generation, for channels whose rows are alike on long stretches of reports.

The most likely distribution under a square wave, or a cut-off response, sits on few of its K answers. Restricted to s
of them, the rows of the channel change only at the ends of their windows, so that the likelihood depends on the counts
through their sums over at most 2s + 1 stretches of reports: a table of s rows, for which Newton's method exists. Then

.. math:: g_i = \sum_j \phi_j C_{ij}/\mu_j

of all K answers costs two running sums. Its peaks above 1 join the answers, those without a share leave, and every
round raises the likelihood; :math:`n \ln \max g` over *all* answers bounds what is left, so that the certificate is the
usual one. This is the constrained Newton method of [1]_ for mixing distributions.

References
----------
.. [1] Y. Wang, "On fast computation of the non-parametric maximum likelihood estimate of a mixing distribution",
   J. R. Stat. Soc. B 69 (2007), 185-198.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from warner.arrays import SMALLEST
from warner.estimators.likelihood import EXCESS_ROUNDING, Fit, unique_by_products
from warner.estimators.maximum_likelihood import newton

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Integers
    from warner.designs.facts import ChannelOperator

FIRST_ANSWERS = 33  # evenly spread, to begin with
PEAKS_ADDED = 200  # answers that join in a round
ROUNDS = 200


def most_likely_by_columns(operator: ChannelOperator, counts: Counts, *, gap: float) -> Fit:
    """Find the most likely shares, until the certified gap is at most `gap` nats for the whole sample."""
    assert operator.merged is not None
    n, k = float(counts.sum()), operator.shape[0]
    observed = np.asarray(counts / n, dtype=np.float64)
    answers = np.unique(np.linspace(0, k - 1, min(k, FIRST_ANSWERS)).round().astype(np.int64))
    history: list[float] = []
    shares = np.zeros(k)
    while len(history) < ROUNDS:
        table, stretch = operator.merged(answers)
        together = np.asarray(np.bincount(stretch, weights=observed, minlength=table.shape[1]), dtype=np.float64)
        made = together > 0
        held = newton(np.ascontiguousarray(table[:, made]), together[made], n).shares
        shares = np.zeros(k)
        shares[answers] = held
        expected = operator.forward(shares)
        growth = operator.adjoint(observed / np.maximum(expected, SMALLEST))
        excess = float(growth.max()) - 1
        history.append(n * math.log1p(max(excess, 0.0)))
        more = np.union1d(answers[held > 0], _peaks(growth))
        if history[-1] <= gap or np.array_equal(more, answers):
            break
        answers = more
    seen = observed > 0
    return Fit(
        shares,
        gap=history[-1],
        steps=len(history),
        history=np.array(history),
        unique=unique_by_products(operator, observed, expected, growth),
        log_likelihood=n * float(observed[seen] @ np.log(expected[seen])),
        excess=excess,
    )


def _peaks(growth: Array) -> Integers:
    """Give the answers at which g has its largest value within each stretch of answers where it is above 1."""
    above = np.concatenate([[False], growth > 1 + EXCESS_ROUNDING / 10, [False]])
    starts, ends = (np.flatnonzero(np.diff(above.astype(np.int8)) == step) for step in (1, -1))
    peaks = np.array([a + int(growth[a:b].argmax()) for a, b in zip(starts, ends, strict=True)], dtype=np.int64)
    return peaks[np.argsort(-growth[peaks], kind="stable")[:PEAKS_ADDED]]
