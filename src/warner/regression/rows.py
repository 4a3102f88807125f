r"""What a likelihood with covariates is made of: how likely each person's report is after each answer.

With :math:`L_{nk} = P(\text{report of } n \mid \text{answer } k)` and :math:`\theta_{nk}` the modelled share of answer
k among people like n, the report of n has probability :math:`\mu_n = \sum_k L_{nk}\theta_{nk}`. Any design, a different
one for each person, and direct questions are only different rows of L. People who are alike in everything are one row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from warner.arrays import Array, Integers
    from warner.designs.contract import Design


@dataclass(frozen=True, eq=False)
class Rows:
    """Distinct rows: what is known of people, what they reported under which design, and how many they are.

    Attributes
    ----------
    x : array of shape (n, columns)
        The columns of the model, the intercept among them.
    likelihood : array of shape (n, k)
        How likely the report is after each answer, up to one positive factor a row.
    weight, square : arrays of shape (n,)
        The sum of the weights of the people in each row, and of their squares; both the number of people where nobody
        is weighted.
    people : array of shape (n,)
        How many people each row stands for.
    designs : tuple of Design
        What reports went through; all have the same answers, in the same order.
    design, report : arrays of shape (n,)
        Which of the designs each row's report went through, and the number of the report: its column in the table of
        that design, -1 where there are too many possible reports for a table.
    tables : tuple of arrays of shape (k, reports), or None
        The probability of each report after each answer, for each design that has such a table.
    cluster, stratum : arrays of shape (n,), optional
        Numbers of the clusters and strata that people were sampled in.
    weighted : bool
        Whether weights are sampling weights, and not only counts of people.
    """

    x: Array
    likelihood: Array
    weight: Array
    square: Array
    people: Array
    designs: tuple[Design, ...]
    design: Integers
    report: Integers
    tables: tuple[Array | None, ...]
    cluster: Integers | None = None
    stratum: Integers | None = None
    weighted: bool = False

    @property
    def k(self) -> int:
        """The number of possible answers."""
        return int(self.likelihood.shape[1])

    @property
    def n(self) -> int:
        """The number of people."""
        return int(self.people.sum())

    def patterns(self) -> tuple[Array, Array]:
        """Give the distinct rows of the likelihood, (m, k), and the sum of weights of each.

        All that is left of the rows if nothing but the answers is modelled.
        """
        if (self.report >= 0).all():  # all that the likelihood depends on is the design and the report
            code = self.design * (int(self.report.max()) + 1) + self.report
            weights = np.bincount(code, self.weight)
            first = np.empty(len(weights), dtype=np.int64)
            first[code] = np.arange(len(code))
            seen = np.bincount(code) > 0
            return self.likelihood[first[seen]], weights[seen].astype(np.float64)
        distinct, place = np.unique(self.likelihood, axis=0, return_inverse=True)
        return distinct, np.bincount(place.ravel(), self.weight, minlength=len(distinct)).astype(np.float64)
