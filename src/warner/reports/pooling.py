"""Reports collected under several designs as one: epsilon changed over the years, two devices, a pilot and a study."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warner.designs import Pooled
from warner.reports.tallies import Tally

if TYPE_CHECKING:
    from collections.abc import Iterable


def pool(tallies: Iterable[Tally]) -> Tally:
    """Put tallies together that have the same answers, but went through different designs.

    The result is a tally like others, with a `warner.designs.Pooled` design: `estimate` gives the shares that make all
    reports together the most likely, with a certificate, and intervals from the efficient combination of the
    collections. It supposes that all collections come from the same population. Tallies of one design are added up.

    Parameters
    ----------
    tallies : iterable of Tally
        At least one, without groups and without weights.

    Examples
    --------
    With epsilon ln 3, 40 of 100 say yes; with ln 9, 34 of 100. Each alone would give 0.30.

    >>> from warner import RandomizedResponse, estimate
    >>> first = Tally(RandomizedResponse(["yes", "no"], odds=(3, 1)), [40, 60])
    >>> second = Tally(RandomizedResponse(["yes", "no"], odds=(9, 1)), [34, 66])
    >>> estimate(pool([first, second])).shares.round(3)
    array([0.3, 0.7])
    """
    given = list(tallies)
    if not given or not all(isinstance(one, Tally) for one in given):
        raise TypeError("tallies must be a list of at least one Tally")
    for one in given:
        if one.by:
            raise ValueError("tallies must be without groups to be pooled; pool those of each group")
        if one.squares is not None:
            raise ValueError("tallies must be without weights to be pooled")
        if one.design.domain != given[0].design.domain:
            mine, other = (
                f"{len(each.design.domain)} answers from {each.design.domain[0]!r}" for each in (given[0], one)
            )
            raise ValueError(
                f"tallies must be about the same answers, in the same order, to be pooled, but got {mine} and {other}"
            )
        if isinstance(one.design, Pooled):
            raise TypeError("tallies must not be pooled already; pool all of them at once")
    merged: list[Tally] = []
    for one in given:
        same = next((i for i, other in enumerate(merged) if other.design == one.design), None)
        if same is None:
            merged.append(one)
        else:
            merged[same] = merged[same] + one
    if len(merged) == 1:
        return merged[0]
    parts = tuple(one.design for one in merged if not isinstance(one.design, Pooled))
    missing, unknown = (sum(int(getattr(one, name)) for one in merged) for name in ("missing", "unknown"))
    return Tally(Pooled(parts), np.concatenate([one.counts for one in merged]), missing=missing, unknown=unknown)
