r"""Why an estimate lies at infinity, in words: whose most likely share of an answer is 0.

Where a group reports yes more rarely than people without the trait would, its most likely share is 0: log-odds are
minus infinity, and every coefficient that they depend on goes along. If d is the direction in which coefficients run
away, these are the people with :math:`\theta_k(x; b + t d) \to 0` for :math:`t \to \infty`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.regression.optima import ENDLESS, TOUCHED
from warner.words import counted, percent, quoted, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warner.arrays import Array, Integers, Label, Mask
    from warner.regression.data import Gathered
    from warner.regression.specifications import Specification

VANISHED = 1e-9  # a share that is as good as 0
LEVELS_NAMED = 3  # levels of one variable that are named
GROUPS_NAMED = 4  # groups that are spoken of


class Emptied(NamedTuple):
    """People among whom nobody holds an answer, most likely: the answer, and the patterns of covariates concerned."""

    answer: int
    patterns: Mask


def reasons(gathered: Gathered, specification: Specification, point: Array, direction: Array) -> tuple[str, ...]:
    """Say for which people a share runs to 0, and what they reported: a sentence for each group and answer."""
    groups = emptied(gathered, specification, point, direction)
    sentences = [_sentence(gathered, specification.domain, group) for group in groups[:GROUPS_NAMED]]
    if len(groups) > GROUPS_NAMED:
        sentences.append(f"The same holds for {counted(len(groups) - GROUPS_NAMED, 'more group', 'more groups')}.")
    return tuple(sentences)


def emptied(gathered: Gathered, specification: Specification, point: Array, direction: Array) -> list[Emptied]:
    """Find the people whose share of an answer vanishes along a direction, for each answer."""
    first = np.unique(gathered.pattern, return_index=True)[1]
    x = gathered.rows.x[first]
    moved = np.abs(specification.matrix(direction) @ x.T).max(axis=0) > TOUCHED
    shares = specification.shares_at(point + ENDLESS * direction, x)
    groups = (Emptied(answer, moved & (shares[:, answer] < VANISHED)) for answer in range(shares.shape[1]))
    return [group for group in groups if group.patterns.any()]


def _sentence(gathered: Gathered, domain: Sequence[Label], group: Emptied) -> str:
    concerned = group.patterns[gathered.pattern]
    number = int(gathered.rows.people[concerned].sum())
    where = described(gathered.covariates, group.patterns)
    who = f"{'The one person' if number == 1 else f'The {number:,} people'}{where}"
    answer = quoted(domain[group.answer])
    conclusion = f"the most likely share of {answer} among them is 0"
    seen = _comparison(gathered, concerned, group.answer)
    if seen is None:
        return f"{who}: in this model, {conclusion}."
    report, observed, expected = seen
    return (
        f"{who} reported {quoted(report)} in {percent(observed, 1)} of cases; if none of them held the answer "
        f"{answer}, {percent(expected, 1)} would have. So {conclusion}."
    )


class _Seen(NamedTuple):
    """How often a report was given, and how often it would have been if nobody held the answer."""

    report: Label
    observed: float
    expected: float


def _comparison(gathered: Gathered, concerned: Mask, answer: int) -> _Seen | None:
    """Compare the reports of some people with what they would be if nobody held an answer, where that says it all.

    It does for two answers and two reports under one design, if the reports that speak for the answer are too few.
    """
    rows = gathered.rows
    used: Integers = np.unique(rows.design[concerned])
    table = rows.tables[int(used[0])]
    if len(used) > 1 or table is None or table.shape != (2, 2):
        return None
    report = int(np.argmax(table[answer] - table[1 - answer]))
    weight = rows.weight[concerned]
    observed = float(weight[rows.report[concerned] == report].sum() / weight.sum())
    expected = float(table[1 - answer, report])
    return _Seen(rows.designs[int(used[0])].columns[report], observed, expected) if observed <= expected else None


def described(covariates: Mapping[str, Array], chosen: Mask) -> str:
    """Describe the chosen patterns by what sets them apart from all others; by their number where nothing simple does.

    >>> described({"age": np.array([20, 30, 40]), "region": np.array(["n", "s", "s"])}, np.array([False, True, True]))
    ' with region = s'
    """
    if chosen.all():
        return ""
    for name, values in covariates.items():
        inside, outside = values[chosen], values[~chosen]
        levels = np.unique(inside).tolist()
        if len(levels) > 1 and values.dtype.kind in "iuf":
            if inside.min() > outside.max():
                return f" with {name} of at least {_shown(levels[0])}"
            if inside.max() < outside.min():
                return f" with {name} of at most {_shown(levels[-1])}"
        if len(levels) <= LEVELS_NAMED and not np.isin(outside, levels).any():
            return f" with {name} = {' or '.join(map(_shown, levels))}"
    common = {name: values[chosen][0] for name, values in covariates.items() if len(np.unique(values[chosen])) == 1}
    selected = np.ones(len(chosen), dtype=bool)
    for name, value in common.items():
        selected &= covariates[name] == value
    if common and (selected == chosen).all():
        return " with " + " and ".join(f"{name} = {_shown(value)}" for name, value in common.items())
    return f" with certain covariates ({counted(int(chosen.sum()), 'combination', 'combinations')} of them)"


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else shortened(str(value))
