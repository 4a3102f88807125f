r"""Influence of fake reports (poisoning): how far some of them can move a share.

Replacing m of N reports, or leaving m out, changes the observed shares by at most 2m/N in all, and no estimator here by
more than 1/\|p - q\| times that. Shares sum to one, so any one of them moves by at most half of it,
:math:`m / (N |p-q|)`: 5 fakes among 100 reports with p - q = 1/2 move a share by up to 10 percentage points.

It holds for `inv`, `inv_n` and `inv_p`, and with p > q (or two answers) for `mle`. With p < q and more answers `mle`
has no such bound: where an answer is never reported, one report can move half of everything. Where a report supports
several answers, it moves each of them by so much at once; the bound then holds for `inv`, and twice of it for `inv_p`,
because all shares are lowered by one constant, which may move the other way. `shrink` has no such bound: one report
can change what is believed of all shares, and has moved one by 2.8 times as much.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from warner.estimators.auto import METHODS_COMPARED
from warner.estimators.custom import described
from warner.estimators.methods import METHODS, SHRUNK, UNBIASED, has_turned, many_answers
from warner.reports.pools import holds_every_answer
from warner.words import conjoined, counted

if TYPE_CHECKING:
    from warner.arrays import PerGroup
    from warner.reports.pools import Collected


def moved_by(tally: Collected, fakes: float) -> PerGroup:
    """Bound how far so many fake reports among those counted can have moved any one share.

    With weights, `fakes` is the weight of the fakes together. Of a pool, the most that fakes in one collection can do
    to what that collection says.
    """
    if not 0 <= fakes < math.inf:
        raise ValueError(f"fakes must be a number of reports, at least 0, but got {fakes!r}")
    moved = []
    for part in (part for part in tally.parts if part.design.epsilon > 0):
        n = np.atleast_1d(part.n).astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            moved.append(np.where(n > 0, fakes / (n / part.design.leverage()), np.nan))
    most = np.fmax.reduce(moved)
    return most if tally.by else float(most[0])


def influence_text(tally: Collected, fakes: int | None = None, method: str | None = None) -> str:
    """Say how far fake reports can have moved a share: so many of them, or each percent of the reports if None.

    With the estimator that the shares are from, its own bound, if there is one, in words that need no name of it.

    >>> from warner import RandomizedResponse, Tally
    >>> influence_text(Tally(RandomizedResponse(["yes", "no"], truth="3/4"), [40, 60]), 1)
    'Fake reports: 1 fake among the reports can have moved any share by up to 2 percentage points.'
    """
    most = ", in the collection where that is most" if len(tally.parts) > 1 else ""
    times, others = (1, _for_whom(tally)) if method is None else _of_method(tally, method)
    if fakes is None:
        leverage = times * max(part.design.leverage() for part in tally.parts if part.design.epsilon > 0)
        text = (
            "Fake reports: every 1 % of fakes among the reports can have moved any share by up to "
            f"{leverage:.3g} percentage points{most}."
        )
    else:
        weight = " of weight 1" if tally.weighted else ""
        where = " (in the smallest group)" if tally.by else ""
        text = (
            f"Fake reports: {counted(fakes, 'fake', 'fakes')}{weight} among the reports can have moved any share "
            f"by up to {100 * times * np.nanmax(moved_by(tally, fakes)):.3g} percentage points{where}{most}."
        )
    return text + _at_once(tally) + others


def _of_method(tally: Collected, method: str) -> tuple[int, str]:
    """Give how many times the bound holds for an estimator, and a word where none is known for it."""
    times = described(method).fake_bound(tally)
    if times is None:
        return 1, " This bound is for the unbiased estimate; none is known for the shares that are shown."
    return times, ""


def _at_once(tally: Collected) -> str:
    """Say how many answers one fake report can move at once, where that is more than one."""
    designs = [part.design for part in tally.parts if part.design.symmetry is not None]
    most = max((design.most_supported for design in designs), default=1)
    if most == 1:
        return ""
    exactly = all(design.supported == most for design in designs)
    return f" One fake report can move {'' if exactly else 'up to '}{most:,} answers at once, each by its part of that."


def _for_whom(tally: Collected) -> str:
    """Say for which estimators the bound on fakes holds, where that is not all of the closed forms."""
    designs = [part.design for part in tally.parts]
    if any(design.symmetry is None for design in designs):
        return f" This bound holds for the estimator {UNBIASED}."
    exclusive = all(design.exclusive for design in designs)
    names = sorted({UNBIASED, *METHODS_COMPARED}) + [SHRUNK] * (many_answers(tally) or not exclusive)
    complete = holds_every_answer(tally)
    names = [name for name in names if METHODS[name].applies(to_likelihood=True, to_complete=complete)]
    bounds = {name: METHODS[name].fake_bound(tally) for name in names}
    once, twice, without = ([name for name in names if bounds[name] == times] for times in (1, 2, None))
    if not without:
        return ""
    holds = f" This bound holds for the {'estimators' if len(once) > 1 else 'estimator'} {conjoined(once)}"
    holds += f", and twice it for {conjoined(twice)}" if twice else ""
    if has_turned(tally) and SHRUNK not in without:
        return f"{holds}; {conjoined(without)} has none for a design with p < q."
    return f"{holds}; for {conjoined(without)} no such bound is known."
