"""What cannot be estimated at all, or not by this method: said before anything is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warner.memory import ESTIMATE_BYTES, refuse_beyond_memory

if TYPE_CHECKING:
    from warner.estimators import Method
    from warner.reports.pools import Collected


def refuse_inapplicable(name: str, method: Method, tally: Collected) -> None:
    """Refuse an estimator that needs more than the tally holds, or another design."""
    if not method.applies(to_likelihood=all(part.has_likelihood for part in tally.parts)):
        raise TypeError(
            f"method must not be {name!r} here: a report supports several answers, and its likelihood needs the "
            "reports themselves, of which the tally holds the counts alone; use inv_p, or count them with "
            "keep=True (a saved tally does not hold them)"
        )
    if not method.applies(
        to_likelihood=True, to_symmetric=len(tally.parts) == 1 and tally.parts[0].design.symmetry is not None
    ):
        raise TypeError(
            f"method must not be {name!r} here: it is for one collection under a design that gives every answer a "
            "count of its own, with the same p and q for all answers; use mle or inv_p"
        )


def refuse_silent(tally: Collected) -> None:
    """Refuse a tally without reports, or with those of designs that say nothing, or of more answers than fit here."""
    groups = len(tally.answered)
    several = f"{groups:,} groups of " if tally.by else ""
    remedy = "estimate some groups at a time" if tally.by else "take a larger machine, or a design with fewer answers"
    refuse_beyond_memory(groups * tally.k, ESTIMATE_BYTES, f"estimates of {several}{tally.k:,} answers", remedy)
    if all(part.design.epsilon > 0 for part in tally.parts) and tally.answered.any():
        return
    telling = [part.answered for part in tally.parts if part.design.epsilon > 0]
    mute = tally.answered & ~np.any(telling, axis=0) if telling else tally.answered
    if telling and mute.any() and not mute.all() and tally.by:
        name = tally.group_names()[int(mute.argmax())]
        raise ValueError(
            f"every group must have reports of a design with an epsilon above 0, but {name} has none; leave it out"
        )
    if not mute.any() and tally.answered.any():
        return
    if tally.answered.any():
        raise ValueError(
            "at least one design that has reports must have an epsilon above 0: with p = q, rows that do not differ, "
            "reports carry no information on the answers"
        )
    left_out = f" ({int(np.sum(tally.missing)):,} were missing, {int(np.sum(tally.unknown)):,} unknown)"
    raise ValueError(f"the tally must hold at least one report, but there is none{left_out}")
