r"""How often each answer was asked about: a test of designs that ask each person about some of the answers only.

Under bit flips each person is asked about d of the K answers, all sets being equally likely, whatever is true. So the
number of people who were asked about a given answer is exactly :math:`\mathrm{Bin}(N, d/K)`. Each of the K numbers is
tested on both sides: 2K times the smallest tail is a p-value. It sees a client that prefers some answers, or that
chooses what to ask about by what is true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warner.designs.facts import NOBODY
from warner.inference.binomial import at_least, at_most
from warner.inference.check_results import Test
from warner.inference.intervals import in_all_groups
from warner.words import amount, p_value, quoted

if TYPE_CHECKING:
    from warner.arrays import Array, Counts
    from warner.reports.tallies import Tally


def asks_about_some(part: Tally) -> bool:
    """Tell designs that ask each person about some of the answers only, drawn by chance."""
    alike = part.design.alike
    return alike is not None and alike.asked < 1


def asked_test(part: Tally) -> Test | None:
    """Test how often each answer was asked about; None where everybody is asked about all."""
    if not asks_about_some(part):
        return None
    asked, tails = _asked_and_tails(part)
    p_values = in_all_groups(_smallest(tails), part.answered)
    law = "approximate" if part.weighted else "exact"

    def say(group: int) -> str:
        row = np.count_nonzero(part.answered[:group])
        place = int(tails[row].argmin())
        n = float(part.scaled()[1][group, 0])
        times = float(asked[row, place])
        return (
            f"How often each answer was asked about: {quoted(part.domain[place])} "
            f"{amount(int(times) if times.is_integer() else times)} times, "
            f"where {n * _chance(part):,.1f} are expected whatever people answer: {p_value(p_values[group])} ({law})."
        )

    return Test("answers asked about", p_values, say)


def asked_evidence(part: Tally) -> list[tuple[float, str]]:
    """Give the p-value of the test, the smallest of all groups, with what it would say: for those who did not ask."""
    if not asks_about_some(part):
        return []
    smallest = float(_smallest(_asked_and_tails(part)[1]).min())
    return [(smallest, "some answers were asked about more or less often than by chance")]


def _chance(part: Tally) -> float:
    """Give the probability that a person is asked about a given answer."""
    assert part.design.alike is not None
    return float(part.design.alike.asked)


def _asked_and_tails(part: Tally) -> tuple[Counts, Array]:
    """Give how many people were asked about each answer, and the smaller tail, for the groups that have reports."""
    counts, n = (values[part.answered] for values in part.scaled())
    trials = part.design.readout(counts, n).trials
    asked = np.where(trials <= NOBODY, 0, trials)
    chance = _chance(part)
    return asked, np.minimum(at_most(asked, n, chance), at_least(asked, n, chance))


def _smallest(tails: Array) -> Array:
    """Give the p-value of each group, for the two tails of each answer."""
    return np.asarray(np.minimum(1, 2 * tails.shape[-1] * tails.min(axis=-1)))
