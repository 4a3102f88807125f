r"""Two complementary answers are one share: who does not hold the first answer holds the second.

The share of the second is :math:`1 - \theta`, and its interval is the mirror image of that of the first. Two rows would
be one finding, shown twice. So wherever results are meant for people, the *first* of two answers stands for both: *yes*
in every named design about a trait, and elsewhere the answer that the design names first. Tables for programs (CSV,
JSON, data frames) keep both rows.

Where a report may support both answers, the two counts are two readings of that one share, and their intervals are not
mirror images. There both rows are shown, the first answer first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warner.words import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warner.arrays import Counts, Label

MIRROR_TOLERANCE = 1e-6  # share by which limits found by iteration may differ from mirror images; tables show fewer


def answers_of_interest(k: int) -> range:
    """Give the places of the answers whose shares say everything: of two the first, otherwise all.

    >>> list(answers_of_interest(2)), list(answers_of_interest(3))
    ([0], [0, 1, 2])
    """
    return range(1 if k == 2 else k)


def rows_mirrored(table: Mapping[str, Counts], k: int) -> bool:
    """Tell whether rows come in pairs, of which the second follows from the first: share and interval."""
    if k != 2:
        return False
    share, low, high = (np.asarray(table[name], dtype=np.float64).reshape(-1, 2) for name in ("share", "low", "high"))
    sums = np.stack([share.sum(axis=1), low[:, 0] + high[:, 1], low[:, 1] + high[:, 0]])
    return bool(np.all(np.isnan(sums) | (np.abs(sums - 1) <= MIRROR_TOLERANCE)))


def unmirrored(table: Mapping[str, Counts], k: int) -> dict[str, Counts]:
    """Give the table of an estimate as people read it: of two answers that mirror each other, the row of the first.

    >>> from warner import RandomizedResponse, Tally, estimate
    >>> result = estimate(Tally(RandomizedResponse(["yes", "no"], truth="3/4"), [40, 60]))
    >>> table = unmirrored(result.table(), result.tally.k)
    >>> table["value"].tolist(), table["reports"].tolist()
    (['yes'], [40])
    """
    return {name: column[::2] if rows_mirrored(table, k) else column for name, column in table.items()}


def remainder(domain: Sequence[Label]) -> str:
    """Say where the second of two answers is.

    >>> remainder(["yes", "no"])
    "the share of 'no' is 100 % minus that of 'yes'"
    """
    return f"the share of {quoted(domain[1])} is 100 % minus that of {quoted(domain[0])}"
