"""Linear scores: what reports add to the sum that a share is read from, which is all that a variance needs of a design.

Whatever the design, the count of a readout is linear in the counts of reports. So it can be asked for every cell of a
complex sample, for squared weights in the place of weights, and for one report of each kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.designs.facts import Fuzzy, memberships

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Sets
    from warner.designs.contract import Design
    from warner.designs.facts import Readout

SCORES_AT_ONCE = 2**22  # numbers in the scores of kinds of reports that are held at a time


class LinearScores(NamedTuple):
    """Which shares are asked for: those of sets of answers, less those of others; of every answer if None."""

    design: Design
    sets: Sets | None = None
    minus: Sets | None = None

    def readout(self, counts: Counts, n: Array, histogram: Counts | None = None, target: str = "population") -> Readout:
        """Return how the shares show in counts of shape (rows, columns)."""
        return self.design.readout(counts, n, self.sets, minus=self.minus, target=target, histogram=histogram)

    def sums(self, counts: Counts, n: Array) -> Array:
        """Give the sums of scores, of shape (rows, sets), which are linear in the counts."""
        return np.asarray(self.readout(counts, n).count, dtype=np.float64)

    def frequencies(self, counts: Counts, n: Array) -> Array:
        """Give the mean scores, of all people or of those who were asked about an answer; 0 where nobody was."""
        found = self.readout(counts, n)
        trials = np.broadcast_to(found.trials, found.count.shape)
        return np.divide(found.count, trials, out=np.zeros(trials.shape), where=trials > 0)

    def counted_parts(self, counts: Counts, n: Array) -> Array:
        """Give the part of all people that each share is read from, of shape (sets,): those who were asked about it."""
        found = self.readout(counts, n)
        asked = np.broadcast_to(found.trials, found.count.shape).sum(axis=0) / max(float(np.sum(n)), 1e-300)
        return np.asarray(self.design.counted_part * np.minimum(asked, 1.0))

    def squared_sums(self, counts: Counts, sums: Array, exact: Any) -> Array:
        """Give the sums of squared scores: scores of 0 and 1 are their own squares; NaN where counts do not tell."""
        exact = np.broadcast_to(exact, sums.shape[1:])
        if exact.all():
            return sums
        if not self.design.exclusive:
            return np.where(exact, sums, np.nan)
        result, width = np.zeros_like(sums), counts.shape[1]
        step = max(1, SCORES_AT_ONCE // max(width, sums.shape[1]))
        for start in range(0, width, step):
            stop = min(start + step, width)
            kinds = np.eye(stop - start, width, start)
            result += counts[:, start:stop] @ self.sums(kinds, np.ones((stop - start, 1))) ** 2
        return result

    def squared_shares(self, counts: Counts, n: Array) -> Array:
        """Give unbiased sums of squares of what people hold: memberships, or differences of these.

        Memberships are those of the people that the share is read from. Differences are read from all, so that the
        memberships of those who were asked about one answer stand for all.
        """
        k = self.design.k
        if self.minus is None and not isinstance(self.sets, Fuzzy):
            asked = [self]
        elif self.minus is None:
            asked = [self._replace(sets=Fuzzy(memberships(self.sets, k) ** 2))]
        else:
            asked = [LinearScores(self.design, self.sets), LinearScores(self.design, self.minus)]
        total: Any = 0
        for one in asked:
            found = one.readout(counts, n)
            held = (found.count - found.base * found.trials) / found.gain
            part = one.counted_parts(counts, n) / self.design.counted_part if self.minus is not None else 1.0
            total = total + held / np.where(part > 0, part, 1.0)
        return np.asarray(total)
