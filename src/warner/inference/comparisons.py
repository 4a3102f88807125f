r"""Comparing two shares: two answers of the same respondents (sign test, McNemar), or one answer in two groups.

If all answers are symmetric, the test of two answers needs neither p nor q. A report that supports exactly one of them
supports the first as often as the second if and only if the shares are equal, because
:math:`P(i, \text{not } j) - P(j, \text{not } i) = (p-q)(\theta_i - \theta_j)`. So given the number of such reports,
those of the first answer are binomial with probability one half: the sign test for reports of one answer, McNemar's
test otherwise. The number of reports that support both answers follows only from the reports themselves. Without them,
the difference is approximately normal. Of only two answers the difference is twice a share minus one.

The shares of two complementary answers are :math:`\theta` and :math:`1 - \theta`, with mirrored intervals. So tables
for readers show the first answer alone; tables for programs have both rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import starmap
from typing import TYPE_CHECKING

import numpy as np

from warner.arrays import Array, Counts, Label, Numbers, PerGroup, Sets, objects
from warner.designs.facts import ChannelOperator, full_symmetry
from warner.inference.binomial import Binomial, at_least, at_most
from warner.inference.differences import (
    SHARE_UNKNOWN,
    SHARES_UNKNOWN,
    STUDENT,
    Difference,
    Sample,
    agreeing,
    answers_compared,
    difference,
    difference_between,
    domain_difference,
    domains_compared,
    exact_difference,
    groups_in_one_cluster,
    joined_interval,
    joined_test,
    ratio_limits,
)
from warner.inference.exact_tests import MOST_REPORTS, fisher_test, limits_of_answers, limits_of_supports
from warner.inference.intervals import Confidence, in_all_groups, law_of, limits, mirrored, positions_of
from warner.inference.normal import Joint, Sampled, joints, normal_limits, normal_test
from warner.reports.counts import refuse_options_together
from warner.results import Column, Estimates, TableResult, name_columns
from warner.text import check_choice, enumerated, group_name, level_text, printable, quoted
from warner.typesetting import share_decimals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warner.documents import Document
    from warner.reports.tallies import Collected, Group, Tally

MOST_BARNARD_PEOPLE = 50_000  # in two groups together, up to which Barnard's test takes a fraction of a second
TESTS = ("barnard", "fisher")


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(TableResult):
    """Two shares against each other.

    Attributes
    ----------
    first, second : str
        What is compared.
    difference : float or ndarray of shape (groups,)
        First minus second of the estimated shares, as they are shown; at most 1 either way.
    unbiased : float or ndarray of shape (groups,)
        The unbiased estimate of the difference, that of `inv`. Sampling error may put it beyond -1 or 1.
    low, high : float or ndarray
        Confidence interval of the difference.
    ratio_low, ratio_high : float or ndarray
        Confidence interval of first over second; infinite where the second may be zero.
    p_value : float or ndarray
        Of "both shares in the population are equal". Below 1 - ``level`` exactly where the intervals of the difference
        and of the ratio, for the population, leave out 0 and 1.
    confidence : Confidence
        The level, and whose shares are meant.
    approximate : bool
        Whether the interval of the difference holds only about at its level.
    test : str
        What kind of test the p-value is of: ``exact`` (of one binomial count, or the sign test), ``Barnard's exact``,
        ``Fisher's exact``, ``approximate`` because of weights, ``Student's t`` of a complex sample, or ``normal``.
    groups : tuple of tuple
        The groups, where there is one comparison for each.
    note : str
        In a complex sample, what else than its design-based variance decides the interval; empty elsewhere.
    """

    first: str
    second: str
    difference: PerGroup
    unbiased: PerGroup
    low: PerGroup
    high: PerGroup
    ratio_low: PerGroup
    ratio_high: PerGroup
    p_value: PerGroup
    confidence: Confidence
    approximate: bool
    test: str = "exact"
    groups: tuple[Group, ...] = ()
    note: str = ""

    _rows_key = ""

    def _columns(self) -> list[Column]:
        numbers = {name: np.atleast_1d(getattr(self, name)) for name in DIFFERENCE_COLUMNS}
        difference, unbiased, low, high, *ratio, p = numbers.values()
        found = Estimates(difference, low, high, p=p, unit="points")
        level = level_text(self.confidence.level)
        about = f"{'approximate ' if self.approximate else ''}{self.confidence}"
        moved, unmoved = np.round(100 * np.stack([difference, unbiased]), share_decimals(low, high))
        further = {} if np.array_equal(moved, unmoved, equal_nan=True) else {"unbiased": unbiased}
        *shown, p_value = found.shown("difference", about, unknown=found.reasons(), further=further)
        named = name_columns({"group": objects(map(shown_name, self.groups))} if self.groups else {})
        ratios = Column(heading=f"ratio, {level} interval", texts=lambda: list(map(_ratio_cell, *map(np.ravel, ratio))))
        return [*named, *starmap(Column, numbers.items()), *shown, ratios, p_value]

    def _title(self) -> str:
        return f"{self.first} against {self.second}"

    def _footnotes(self) -> list[str]:
        return [f"{self.test} test of equality in the population", *([self.note] if self.note else [])]

    def _facts(self) -> Document:
        """Return the JSON fields; infinite ratios, and all numbers of groups without reports, are None."""
        return {
            "format": "warner comparison",
            "version": 1,
            "first": self.first,
            "second": self.second,
            **({"groups": self.groups} if self.groups else {}),
            **{name: getattr(self, name) for name in DIFFERENCE_COLUMNS},
            "test": self.test,
            "level": self.confidence.level,
            "target": self.confidence.target,
            "approximate": self.approximate,
            **({"note": self.note} if self.note else {}),
        }


DIFFERENCE_COLUMNS = ("difference", *Difference._fields)


def compare(
    tally: Collected, first: Numbers, second: Numbers, confidence: Confidence, shares: Array | None = None
) -> Comparison:
    """Compare two answers, in each group; `shares` are those that are shown, the unbiased ones if None."""
    i, j = positions_of([first, second], tally.domain)
    if i == j:
        raise ValueError(f"two different answers must be compared, but got {first!r} twice")
    _refuse_simultaneous(confidence)
    ways, law = (answers_compared, _by_share, _by_sign, _by_readout), law_of(tally, confidence)
    found, approximate, test = next(filter(None, (way(tally, i, j, law) for way in ways)))
    numbers = Difference(*(tally.squeezed(in_all_groups(one, tally.answered)) for one in agreeing(found, law)))
    names = repr(tally.domain[i]), repr(tally.domain[j])
    shown = numbers.unbiased if shares is None else shares[..., i] - shares[..., j]
    groups = list(map(shown_name, tally.groups)) if tally.by else ["the sample"]
    note = "" if tally.sample is None else groups_in_one_cluster(tally.parts[0], groups)
    return _comparison(tally, names, shown, numbers, confidence, approximate, test, tally.groups, note)


def _comparison(
    tally: Collected,
    names: tuple[str, str],
    shown: PerGroup,
    numbers: Difference,
    confidence: Confidence,
    approximate: bool,
    test: str,
    groups: tuple[Group, ...] = (),
    note: str = "",
) -> Comparison:
    named = test if tally.simple or test in {"normal", STUDENT} else "approximate"
    shown = np.clip(shown, -1, 1)[()]
    return Comparison(*names, shown, *numbers, confidence, approximate or not tally.simple, named, groups, note)


def _by_share(tally: Collected, i: int, j: int, confidence: Confidence) -> tuple[Difference, bool, str] | None:
    """Compare the only two answers by the share of the first, if each group has one binomial count."""
    if not mirrored([part.design for part in tally.parts]):
        return None
    answered = tally.answered
    groups = joints(tally.parts, np.flatnonzero(answered).tolist(), [[i]], target=confidence.target)
    if not all(group.is_one_count for group in groups):
        return None
    counts = Binomial(*np.transpose([group.only_count(0) for group in groups]))
    tails = [tail(counts.count, counts.n, counts.reported(0.5)) for tail in (at_most, at_least)]
    p_value = np.minimum(1, 2 * np.minimum(*tails))
    one = limits(tally, confidence, sets=[[i]])
    low, high = one.low[answered, 0], one.high[answered, 0]
    middle = 2 * counts.unbiased - 1
    ratio = ratio_limits(low, high, 1 - high, 1 - low)
    return Difference(middle, 2 * low - 1, 2 * high - 1, *ratio, p_value), not one.exact, "exact"


def _by_sign(tally: Collected, i: int, j: int, confidence: Confidence) -> tuple[Difference, bool, str] | None:
    """Compare by the sign test, if all answers are symmetric and the reports that support both are known."""
    part = tally.parts[0]
    symmetry = full_symmetry(part.design.law)
    if len(tally.parts) > 1 or symmetry is None or not part.has_likelihood:
        return None
    counts, n = part.scaled()
    size, (base, gain) = n[tally.answered, 0], (symmetry.base, symmetry.gain)
    first, second = counts[tally.answered][:, [i, j]].astype(np.float64).T
    both = _supporting_both(part, i, j) * size / np.atleast_1d(part.n)[tally.answered]
    tail = confidence.tail(1)
    pair = Binomial(first, size, base, gain), Binomial(second, size, base, gain)
    numbers, exact = difference(*pair, tail, confidence.target, both)
    if not _exact(tally, confidence, float(size.sum())):
        return numbers, not exact, "exact"
    rows = zip((first - both).tolist(), (second - both).tolist(), size.tolist(), strict=True)
    if part.design.law.exclusive:
        limits_by_group = [
            limits_of_answers(Binomial(a, n, base, gain), Binomial(b, n, base, gain), tail) for a, b, n in rows
        ]
    else:
        limits_by_group = [limits_of_supports(a, b, n, gain, tail) for a, b, n in rows]
    low, high = np.array(limits_by_group).T
    return numbers._replace(low=low, high=high), False, "exact"


def _exact(tally: Collected, confidence: Confidence, n: float) -> bool:
    return confidence.target == "population" and tally.simple and n <= MOST_REPORTS


def _supporting_both(part: Tally, i: int, j: int) -> Array:
    """Count, or weigh, the reports that support both answers, in each group that has reports."""
    groups = np.flatnonzero(part.answered)
    if part.design.law.exclusive:
        return np.zeros(groups.size)
    counts, _ = part.rows()
    answers = np.zeros((2, part.k))
    answers[0, i] = answers[1, j] = 1
    low, high = part.design.ratio

    def one_of_them(operator: ChannelOperator, amounts: Counts) -> float:
        # A report makes an answer that it supports high : low times as likely as another one; or the reverse. Against
        # the larger of the two levels, the rounding of a transform is nothing; against the smaller one it may be all.
        first, second = operator.forward(answers)
        larger = np.maximum(first, second).max(initial=0)
        return float(amounts[np.abs(first - second) * 2 * high > larger * (high - low)].sum())

    apart = [sum(one_of_them(*block) for block in part.blocks(group)) for group in groups.tolist()]
    return np.asarray((counts[groups][:, [i, j]].sum(axis=-1) - np.array(apart)) / 2)


def _by_readout(tally: Collected, i: int, j: int, confidence: Confidence) -> tuple[Difference, bool, str]:
    """Compare by the normal distribution of the estimated difference; the ratio by both shares, at half the tail."""
    answered = tally.answered
    wider = Confidence(1 - (1 - confidence.level) / 2, confidence.target)
    both = limits(tally, wider, sets=[[i], [j]])
    ratio = ratio_limits(*(end[answered, index] for index in (0, 1) for end in (both.low, both.high)))
    indices = np.flatnonzero(answered).tolist()
    groups = joints(tally.parts, indices, [[i]], [[j]], confidence.target)
    # Equality is tested in the population, whosever shares the interval is for.
    population = groups if confidence.target == "population" else joints(tally.parts, indices, [[i]], [[j]])
    sampled = [group.average("population") for group in population]
    p_value = np.array([normal_test(float(share[0]), float(error[0])) for share, error, _ in sampled])
    averages = [group.average(confidence.target) for group in groups]
    middle, error = np.array([(share[0], deviation[0]) for share, deviation, _ in averages]).T
    if np.isinf(error).any():
        raise ValueError(SHARES_UNKNOWN)
    people = np.array([group.sample_size for group in groups]) if confidence.target == "realised" else None
    unknown = np.array([unknown for _, _, unknown in averages])
    low, high = normal_limits(middle, error, confidence.tail(1), people=people, unknown=unknown, span=(-1.0, 1.0))
    return Difference(middle, low, high, *ratio, p_value), True, "normal"


def compare_groups(
    tally: Collected,
    answer: Label,
    between: tuple[object, object],
    confidence: Confidence,
    shares: Array | None = None,
    *,
    test: str = "barnard",
) -> Comparison:
    """Compare one answer between two groups; `shares` are those that are shown, the unbiased ones if None."""
    check_choice("test", test, TESTS)
    keys, rows = groups_between(tally, between, confidence)
    (index,) = positions_of([answer], tally.domain)
    law = law_of(tally, confidence)
    found, approximate, named = _groups_compared(tally, index, rows, law, test)
    numbers = Difference(*(number[()] for number in agreeing(found, law)))
    one_name, two_name = (f"{tally.domain[index]!r} in {shown_name(key)}" for key in keys)
    shown = numbers.unbiased if shares is None else shares[rows[0], index] - shares[rows[1], index]
    note = note_between(tally, [[index]], rows, confidence)
    return _comparison(tally, (one_name, two_name), shown, numbers, confidence, approximate, named, note=note)


def note_between(tally: Collected, sets: Sets, rows: list[int], confidence: Confidence) -> str:
    """Return a note if the interval rests on more than the design-based variance; otherwise an empty text."""
    if tally.sample is None:
        return ""
    names = [shown_name(tally.groups[row]) for row in rows]
    return domain_difference(tally.parts[0], sets, rows).note(names, confidence.tail(1))


def _groups_compared(
    tally: Collected, index: int, rows: list[int], confidence: Confidence, test: str
) -> tuple[Difference, bool, str]:
    """Compare one answer between two groups: by Student's t, two binomial counts, or the normal distribution."""
    if tally.sample is not None:
        return domains_compared(tally.parts[0], index, rows, confidence)
    first, second = joints(tally.parts, rows, [[index]], target=confidence.target)
    by_counts = counts_compared(tally, first, second, confidence, test)
    return by_counts or (*_of_estimates(tally, index, rows, confidence), "normal")


def groups_between(
    tally: Collected, between: tuple[object, object], confidence: Confidence
) -> tuple[list[Group], list[int]]:
    """Find two groups that are to be compared, by their values or their printed names, and their rows."""
    if not tally.by:
        raise ValueError("between needs groups: tally the reports with by=")
    names = {shown_name(group): group for group in tally.groups}
    keys = [key if isinstance(key, tuple) else (key,) for key in between]
    keys = [key if key in tally.groups else names.get(shown_name(key), key) for key in keys]  # as they are shown
    for key in keys:
        if key not in tally.groups:
            shown = enumerated([shown_name(group) for group in tally.groups])
            raise ValueError(
                f"between must name two groups, but there is no group {shown_name(key)}; there are {shown}"
            )
    if keys[0] == keys[1]:
        raise ValueError(f"two different groups must be compared, but got {shown_name(keys[0])} twice")
    refuse_options_together("between", tally.by, keys)
    _refuse_simultaneous(confidence)
    rows = [tally.groups.index(key) for key in keys]
    for row, key in zip(rows, keys, strict=True):
        if not tally.answered[row]:
            raise ValueError(f"both groups must have reports, but {shown_name(key)} has none")
    return keys, rows


def counts_compared(
    tally: Collected, first: Joint, second: Joint, confidence: Confidence, test: str
) -> tuple[Difference, bool, str] | None:
    """Compare two groups if each has one binomial count: exactly, or if both counts follow their shares alike."""
    if not (first.is_one_count and second.is_one_count):
        return None
    one, two = first.only_count(0), second.only_count(0)
    alike, people, tail = one.base == two.base and one.gain == two.gain, one.n + two.n, confidence.tail(1)
    if _exact(tally, confidence, people):
        numbers = exact_difference(one, two, tail)
        if test == "fisher" and alike:
            p_value = fisher_test(one.count, two.count, (one.n, two.n))
            return numbers._replace(p_value=p_value), False, "Fisher's exact"
        return numbers, False, "Barnard's exact"
    if not alike:
        return None
    test_used = "fisher" if not tally.simple or people > MOST_BARNARD_PEOPLE else test
    numbers, exact = difference_between(one, two, tail, confidence.target, test_used)
    return numbers, not exact, f"{test_used.capitalize()}'s exact"


def _of_estimates(tally: Collected, index: int, rows: list[int], confidence: Confidence) -> tuple[Difference, bool]:
    """Compare independent unbiased estimates of two groups; also return whether the interval is approximate.

    The limits of both shares are joined by Newcombe's method, or subtracted where a count has too little noise.
    """
    target, tail = confidence.target, confidence.tail(1)
    groups = joints(tally.parts, rows, [[index]], target=target)
    (one, error1, unknown1), (two, error2, unknown2) = (group.average(target) for group in groups)
    if math.isinf(error1[0]) or math.isinf(error2[0]):
        raise ValueError(SHARE_UNKNOWN)
    wider = limits(tally, Confidence(1 - (1 - confidence.level) / 2, target), sets=[[index]])
    (low1, high1), (low2, high2) = ((wider.low[row, 0], wider.high[row, 0]) for row in rows)
    ratio = ratio_limits(low1, high1, low2, high2)
    # Equality is tested in the population, whosever shares the interval is for.
    samples = [Sample(Sampled(*(part[0] for part in one.sampled()))) for one in joints(tally.parts, rows, [[index]])]
    middle, exact = float(one[0] - two[0]), False
    if target == "population":
        low, high = joined_interval(samples, 2 * tail)
    elif unknown1 or unknown2 or not all(group.noisy(tail) for group in groups):
        low, high, exact = low1 - high2, high1 - low2, wider.exact
    else:
        each = limits(tally, confidence, sets=[[index]])
        (low1, high1), (low2, high2) = ((each.low[row, 0], each.high[row, 0]) for row in rows)
        low = middle - np.hypot(one[0] - low1, high2 - two[0])
        high = middle + np.hypot(high1 - one[0], two[0] - low2)
    return Difference(middle, low, high, ratio[0][()], ratio[1][()], joined_test(samples)), not exact


def shown_name(group: Group) -> str:
    return printable(group_name(group))


def _refuse_simultaneous(confidence: Confidence) -> None:
    if confidence.simultaneous:
        raise ValueError(
            "one comparison has no simultaneous interval; raise the level to 1 - alpha/m for m comparisons"
        )


def _ratio_cell(low: float, high: float) -> str:
    """Write the interval of a ratio.

    >>> _ratio_cell(3.5901, math.inf), _ratio_cell(1.001, 6.65), _ratio_cell(0.0, math.inf)
    ('3.59 or more', 'just above 1 to 6.65', 'any')
    """
    if math.isnan(low):
        return ""
    if math.isinf(high):
        return f"{_ratio_in_words(low)} or more" if low > 0 else "any"
    return f"{_ratio_in_words(low)} to {_ratio_in_words(high)}"


def _ratio_in_words(ratio: float) -> str:
    if ratio == 1 or f"{ratio:.3g}" != "1":
        return f"{ratio:.3g}"
    return "just above 1" if ratio > 1 else "just below 1"


# Two answers


MIRROR_TOLERANCE = 1e-6  # share by which limits found by iteration may differ from mirror images; tables show fewer


def answers_of_interest(k: int) -> range:
    """Return the positions of the answers whose shares determine all shares: of two answers the first.

    >>> list(answers_of_interest(2)), list(answers_of_interest(3))
    ([0], [0, 1, 2])
    """
    return range(1 if k == 2 else k)


def rows_mirrored(table: Mapping[str, Counts], k: int) -> bool:
    """Return True if rows come in pairs whose shares and intervals are mirror images."""
    if k != 2:
        return False
    share, low, high = (np.asarray(table[name], dtype=np.float64).reshape(-1, 2) for name in ("share", "low", "high"))
    sums = np.stack([share.sum(axis=1), low[:, 0] + high[:, 1], low[:, 1] + high[:, 0]])
    return bool(np.all(np.isnan(sums) | (np.abs(sums - 1) <= MIRROR_TOLERANCE)))


def unmirrored(table: Mapping[str, Counts], k: int) -> dict[str, Counts]:
    """Return the table of an estimate for readers: of two mirrored rows, only the first.

    >>> from warner import RandomizedResponse, Tally, estimate
    >>> result = estimate(Tally(RandomizedResponse(["yes", "no"], truth="3/4"), [40, 60]))
    >>> table = unmirrored(result.table(), result.tally.k)
    >>> table["value"].tolist(), table["reports"].tolist()
    (['yes'], [40])
    """
    return {name: column[::2] if rows_mirrored(table, k) else column for name, column in table.items()}


def remainder(domain: Sequence[Label]) -> str:
    """Return the sentence that relates the share of the second answer to the first answer's share.

    >>> remainder(["yes", "no"])
    "the share of 'no' is 100 % minus that of 'yes'"
    """
    return f"the share of {quoted(domain[1])} is 100 % minus that of {quoted(domain[0])}"
