r"""Frequent values of an open domain: `discover`, `Discovery`.

`prefix_search` finds values with error control; this module estimates their shares after selection. The count of a
detected value has the distribution of :math:`X \sim \text{Bin}(n, q + (p-q)\theta)` given that :math:`X \ge c`, the
critical count. With k the count, :math:`\beta` the error, and U(k) the upper limit of Clopper and Pearson,

- the upper limit is U(k);
- the lower limit is the :math:`\theta` with :math:`P_\theta(X \ge k \mid X \ge c) = \beta`, if that is below U(c), and
  otherwise the larger of U(c) and the :math:`\theta` with :math:`P_\theta(X \ge k \mid X \ge c) = \beta/2`;
- the estimate is the median-unbiased share of that distribution.

The coverage is at least :math:`1-\beta`, given that the value was detected: docs/theory/model.md has the proof. A
two-sided interval of the truncated distribution would be *empty* just above the critical count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from itertools import starmap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.arrays import Array, Counts, Integers, PerGroup, objects
from warner.designs.open_values import OTHER
from warner.discovery.prefix_search import fewest_crafted, lower_bound, search, smallest_share
from warner.inference.binomial import at_least, check_power
from warner.numerics import bisected_each
from warner.reports.open_tallies import OpenTally
from warner.results import Column, Estimates, TableResult, check_level, group_columns, plain
from warner.text import counted, enumerated, large_number, level_text, percent, points, printable, sentence, shortened
from warner.typesetting import cells, labels, p_value_cells, plain_table

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from matplotlib.axes import Axes

    from warner.designs.open_domain import OpenDomain
    from warner.designs.support_counts import LevelReports
    from warner.documents import Document


# Selective intervals


SELECTIVE_HALVINGS = 60  # of [0, 1]: to the last digit of a double
UNDERFLOW = 1e-280  # a tail below is compared by its first terms


def selective_intervals(
    counts: Integers, critical: Integers, n: int, p: float, q: float, level: float = 0.95
) -> Estimates:
    """Compute intervals and median-unbiased shares for counts selected for being at least critical.

    A count is that of n reports with probability p if the value is the true answer, q if not. Its critical count is the
    least with which it would have been selected; 0 if it would have been in any case. Without selection the interval is
    that of Clopper and Pearson; a count that was barely selected says little.

    >>> counts = np.array([400, 400])
    >>> limits = selective_intervals(counts, np.array([0, 400]), 1000, 0.6, 1 / 3)
    >>> limits.low.round(4), limits.high.round(4)
    (array([0.1355, 0.    ]), array([0.3667, 0.3667]))
    """
    counts, critical = np.asarray(counts), np.asarray(critical)
    error = 1 - level

    def given_selection(count: Integers) -> Callable[[Array], Array]:
        return lambda share: conditional_tail(count, critical, n, q + (p - q) * share)

    def upper(count: Integers) -> Array:  # where P(X <= count) is error / 2
        return _first_share(lambda share: at_least(count + 1, n, q + (p - q) * share), 1 - error / 2, counts.shape)

    reached, beyond = given_selection(counts), given_selection(counts + 1)
    one_sided = _first_share(reached, error, counts.shape)
    two_sided = _first_share(reached, error / 2, counts.shape)
    uncensored = np.where(critical > 0, upper(critical), 0.0)
    low = np.where(one_sided < uncensored, one_sided, np.maximum(uncensored, two_sided))
    middle = _first_share(lambda share: (reached(share) + beyond(share)) / 2, 0.5, counts.shape)
    return Estimates(middle, low, upper(counts), unit="share")


def conditional_tail(count: Integers, critical: Integers, n: int, rate: Array) -> Array:
    """Return P(X >= count | X >= critical) for X of Bin(n, rate); tails too small for doubles by their first terms."""
    above, selected = at_least(count, n, rate), at_least(critical, n, rate)
    deep = (selected < UNDERFLOW) & (critical > 0)
    ratio = np.divide(above, selected, out=np.zeros(np.shape(above)), where=~deep)
    if deep.any():
        count, critical = (np.broadcast_to(part, deep.shape)[deep] for part in (count, critical))
        rate = np.broadcast_to(rate, deep.shape)[deep]
        difference = _log_tail(count, n, rate) - _log_tail(critical, n, rate)
        ratio[deep] = np.where(count > n, 0.0, np.exp(np.minimum(difference, 0.0)))
    return ratio


def _log_tail(count: Integers, n: int, rate: Array) -> Array:
    """Logarithm of a far tail: its first term, and a geometric series with the ratio of the second."""
    from scipy.special import gammaln, xlog1py, xlogy

    count = np.minimum(count, n)
    first = (
        gammaln(n + 1) - gammaln(count + 1) - gammaln(n - count + 1) + xlogy(count, rate) + xlog1py(n - count, -rate)
    )
    following = (n - count) / (count + 1) * rate / (1 - rate)
    return np.asarray(first - np.log1p(-following))


def _first_share(rising: Callable[[Array], Array], target: float, shape: tuple[int, ...]) -> Array:
    """Share at which each of many increasing functions reaches a target: 0 if at once, 1 if never."""
    zero, one = np.zeros(shape), np.ones(shape)
    low, high = bisected_each(lambda share: rising(share) >= target, zero, one, SELECTIVE_HALVINGS)
    at_once, never = rising(zero) >= target, rising(one) < target
    return np.where(at_once, 0.0, np.where(never, 1.0, (low + high) / 2))


# Discoveries


VALUE_WIDTH = 40  # characters of a value in a text
VALUES_SHOWN = 100  # of a group, in a text
# Findings of each group, in JSON
GROUP_FACTS: tuple[str, ...] = ("smallest_expected", "lower_bound", "tested", "kept", "moved")
GROUP_FACTS += ("fakes", "fakes_continued", "fakes_expected", "candidates")


class CandidateValue(NamedTuple):
    """Value that was not found, its support, its unbiased share, and whether it is *other*."""

    value: str | int
    support: int
    share: float
    other: bool


@dataclass(frozen=True, eq=False)
class GroupFindings:
    """Findings of one group; arrays have one entry for each value, by support.

    Attributes
    ----------
    values : tuple
        The values: texts or whole numbers.
    other : ndarray of bool
        Whether a value represents all answers outside the domain.
    support, critical : ndarray of int
        The reports of the last level that support each, and the smallest number that detects it.
    share, low, high : ndarray
        The median-unbiased share, and the limits of its interval, both given that it was found.
    p, adjusted : ndarray
        The p-value of a share of zero (or of at most the limit), and its adjusted p-value: the smallest family-wise
        error rate at which the value is detected.
    smallest_share : float
        The share that is detected with the probability ``power``; infinite if there is none.
    smallest_expected : float or None
        The same for values of the expected list.
    lower_bound : float
        The share below which no protocol with one private report per respondent detects a value with that probability;
        infinite without reports.
    candidates : tuple of CandidateValue
        The values with the largest counts that were not found: not a result, but a start for another survey.
    tested : int
        Number of tested values.
    kept : tuple of int
        Number of selected prefixes at each level but the last.
    moved : float
        Largest change of any share by 1 % of crafted reports; infinite without reports of the last level.
    fakes : int or None
        About how many crafted reports among all make any value appear with the probability ``power``, even one that
        begins like no other; their senders choose the levels. None if not even all reports would.
    fakes_continued, fakes_expected : int or None
        The same for the easiest value that begins like a frequent one, and for the easiest value of the expected list.
    """

    values: tuple[str | int, ...]
    other: Counts
    support: Integers
    critical: Integers
    share: Array
    low: Array
    high: Array
    p: Array
    adjusted: Array
    smallest_share: float
    smallest_expected: float | None
    lower_bound: float
    candidates: tuple[CandidateValue, ...]
    tested: int
    kept: tuple[int, ...]
    moved: float
    fakes: int | None
    fakes_continued: int | None
    fakes_expected: int | None


@dataclass(frozen=True, eq=False, repr=False)
class Discovery(TableResult):
    """Frequent values of an open domain, with shares, intervals, and the smallest detectable share.

    Attributes
    ----------
    tally : OpenTally
        The reports.
    level : float
        Confidence level: the family-wise error rate is at most 1 - ``level``, and each interval has this coverage,
        given that its value was found.
    above : float
        The share that values must exceed.
    power : float
        Probability of detection of ``smallest_share``.
    simultaneous : bool
        Whether the error probability of 1 - ``level`` is that of all groups together.
    expected : tuple
        The values that were always tested.
    findings : tuple of GroupFindings
        The findings of each group.
    """

    _rows_key = "values"

    tally: OpenTally
    level: float
    above: float
    power: float
    simultaneous: bool
    expected: tuple[str | int, ...]
    findings: tuple[GroupFindings, ...]

    @property
    def values(self) -> Any:
        """The detected values, by support; a tuple for each group if there are groups."""
        return self._per_group(part.values for part in self.findings)

    @property
    def smallest_share(self) -> PerGroup:
        """The share detected with the probability ``power``, of each group if there are groups."""
        return self._per_group(part.smallest_share for part in self.findings)

    @property
    def candidates(self) -> Any:
        """Values with the largest counts among those not found, with support and unbiased share; not a result."""
        return self._per_group(part.candidates for part in self.findings)

    @property
    def lower_bound(self) -> PerGroup:
        """The smallest share that any protocol detects with that probability; None with expected values."""
        return None if self.expected else self._per_group(part.lower_bound for part in self.findings)

    def _per_group(self, parts: Iterable[Any]) -> Any:
        every = list(parts)
        if not self.tally.by:
            return every[0]
        return np.array(every) if isinstance(every[0], float) else every

    def _columns(self, *, rows: int | None = None) -> list[Column]:
        """Return a row for each value (and group): support, share, limits and p-values.

        ``other`` distinguishes the row of all answers that could not be written from a text that looks like it.

        Parameters
        ----------
        rows : int, optional
            Number of values shown of each group; all if not given.
        """
        sizes = [len(part.values) for part in self.findings]
        shown = np.flatnonzero(np.concatenate([np.arange(size) < (size if rows is None else rows) for size in sizes]))
        groups = [group for group, size in zip(self.tally.groups or ((),), sizes, strict=True) for _ in range(size)]
        by = group_columns(self.tally.by, groups)
        values = objects(value for part in self.findings for value in part.values)
        names = ("other", "support", "share", "low", "high", "p", "adjusted")
        table = {name: np.concatenate([getattr(part, name) for part in self.findings]) for name in names}
        pairs = list(zip(values[shown].tolist(), table["other"][shown].tolist(), strict=True))
        if not self.tally.design.values.has_other:
            del table["other"]
        share, low, high = (table[name][shown] for name in ("share", "low", "high"))
        interval = f"{level_text(self.level)} interval (population, %)"
        return [
            *starmap(Column, (by | {"value": values} | table).items()),
            *(Column(heading=name, texts=labels(column[shown])) for name, column in by.items()),
            Column(heading="value", texts=[printable(str(quoted_value(*pair))) for pair in pairs]),
            Column(heading="support", texts=partial(cells, table["support"][shown])),
            *(one for one in Estimates(share, low, high, unit="share").columns("share", interval) if one.heading),
            Column(heading="adjusted p", texts=partial(p_value_cells, table["adjusted"][shown])),
        ]

    def _title(self, *_: Any, **options: Any) -> str:
        return "Detected values" + (f" with a share above {percent(self.above)}" if self.above else "")

    def _footnotes(self, *_: Any, **options: Any) -> list[str]:
        names = zip(self.tally.group_names(), self.findings, strict=True)
        silent = [printable(name) for name, part in names if not part.values]
        where = f" in {enumerated(silent)}" if self.tally.by else ""
        possible = large_number(self.tally.design.values.number)
        return [
            *([f"No value rises above the noise{where}"] if silent else []),
            f"N = {int(np.sum(self.tally.n)):,} reports, {possible} possible values",
            self.promise(),
            "Intervals hold given that the value was found",
        ]

    def promise(self) -> str:
        """Clause on the family-wise error rate."""
        together = ", in all groups together" if self.simultaneous else " in each group" if self.tally.by else ""
        return f"the probability of naming any falsely is at most {level_text(1 - self.level)}{together}"

    def text(self, rows: int | None = VALUES_SHOWN) -> str:
        """Return the first values of each group as text, with the smallest detectable shares."""
        table = self._printed(rows=rows)
        hidden = sum(max(0, len(part.values) - rows) for part in self.findings) if rows is not None else 0
        notes = [f"{counted(hidden, 'more value was', 'more values were')} found."] if hidden else []
        notes += table.notes
        for name, part in zip(self.tally.group_names(), self.findings, strict=True):
            remarks = list(map(sentence, self.remarks(part)))
            notes += [f"{printable(name)}: {' '.join(remarks)}"] if self.tally.by else remarks
        return plain_table(table._replace(notes=tuple(notes)))

    def remarks(self, part: GroupFindings) -> list[str]:
        """Sentences on the smallest detectable share of a group, and on fake reports."""
        said = [self._detectable(part.smallest_share)]
        if part.smallest_expected is not None:
            expected = counted(len(self.expected), "expected value", "expected values")
            said.append(f"of the {expected}, {self._detectable(part.smallest_expected)}")
        elif math.isfinite(part.lower_bound):
            said.append(
                "no protocol with one private report per respondent finds a value of which nothing is known beforehand "
                f"with that probability if its share is below {percent(part.lower_bound)}"
            )
        if math.isfinite(part.moved):
            said.append(f"every 1 % of fake reports can have moved a share by up to {points(part.moved, up=True)}")
            said += [f"about {appear}"] if (appear := _appearing(part)) else []
        return said

    def _detectable(self, share: float) -> str:
        least = f"a share of {percent(share)}" if share <= 1 else "not even a share of 100 %"
        return f"{least} would be found with a probability of {level_text(self.power)}"

    def plot(self, *, title: str | None = None, ax: Axes | None = None) -> Axes:
        """Plot the detected values with their intervals, and the smallest detectable share.

        The best values that were not found are below, hollow: they are not results. Groups are colored points.

        Parameters
        ----------
        title : str, optional
            The headline.
        ax : matplotlib Axes, optional
            Where to draw; if not given, a new pyplot figure of a fitting size.
        """
        from warner.output.discovery_pages import discovery_picture

        return discovery_picture(self, title).plot(ax)

    def save_plot(self, path: str | os.PathLike[str], *, title: str | None = None) -> None:
        """Plot to a PNG, SVG or PDF file, atomically."""
        from warner.output.discovery_pages import discovery_picture

        discovery_picture(self, title).save(path)

    def save_page(self, path: str | os.PathLike[str], *, title: str | None = None, question: str | None = None) -> None:
        """Write one HTML page with the plot, the table, and explanations, atomically.

        Parameters
        ----------
        path : str or path
            The file.
        title : str, optional
            The headline.
        question : str, optional
            The question that people were asked, word for word.
        """
        from warner.output.discovery_pages import save_discovery_page

        save_discovery_page(self, path, title=title, question=question)

    def _facts(self, *_: Any, **options: Any) -> Document:
        return {
            "format": "warner discovery",
            "version": 1,
            "design": self.tally.design.to_dict(),
            "epsilon": self.tally.design.epsilon,
            "reports": plain(np.asarray(self.tally.n)),
            "level_sizes": plain(self.tally.level_sizes),
            "by": list(self.tally.by),
            "groups": [list(group) for group in self.tally.groups],
            "level": self.level,
            "above": self.above,
            "power": self.power,
            "simultaneous": self.simultaneous,
            "expected": len(self.expected),
            "smallest_share": plain(np.asarray(self.smallest_share)),
            **{name: self._listed(name) for name in GROUP_FACTS},
        }

    def _listed(self, name: str) -> Any:
        missing = {"lower_bound"} if self.expected else {"smallest_expected", "fakes_expected"}
        if name in missing:
            return None
        every = [getattr(part, name) for part in self.findings]
        if name == "candidates":
            every = [[row._asdict() for row in part] for part in every]
        return plain(every) if self.tally.by else plain(every[0])


def _appearing(part: GroupFindings) -> str:
    """Clauses on the number of fake reports that make kinds of values appear."""
    kinds = {
        "any value": part.fakes,
        "one that begins like a frequent value": part.fakes_continued,
        "one of the expected values": part.fakes_expected,
    }
    clauses: list[str] = []
    fewest = math.inf
    for what, number in kinds.items():
        if number is not None and number < fewest:
            fewest = number
            clauses.append(f"{number:,} {what}" if clauses else f"{number:,} fake reports can make {what} appear")
    return ", ".join(clauses)


def shown_value(value: str | int, other: bool) -> str:
    """Write a value for a text: control characters as escapes, and a text that looks like *other* in quotes.

    >>> shown_value("(other)", True), shown_value("(other)", False)
    ('(other)', "'(other)'")
    """
    return shortened(printable(str(quoted_value(value, other))), VALUE_WIDTH)


def quoted_value(value: str | int, other: bool) -> str | int:
    """Quote a text that looks like *other*."""
    return repr(value) if value == OTHER and not other else value


def discover(
    tally: OpenTally,
    *,
    level: float = 0.95,
    above: float = 0.0,
    expected: Sequence[str] | Sequence[int] | None = None,
    power: float = 0.8,
    simultaneous: bool = False,
) -> Discovery:
    """Find the frequent values of an open domain.

    The family-wise error rate is at most 1 - ``level``, for all true values. That is for one analysis of the reports:
    for two, such as one of half of the respondents and one of all, assign half of the error to each.

    Parameters
    ----------
    tally : OpenTally
        Reports of an `OpenDomain`, as `warner.tally` gives them.
    level : float
        Confidence level.
    above : float
        Name only values with a share above this one in the population; respondents must then be a sample of it.
    expected : sequence of str or of int, optional
        Values that are known beforehand, such as the words of a dictionary: they are always tested, with half of the
        error probability, and detected at smaller shares.
    power : float
        Probability of detection of the smallest detectable share.
    simultaneous : bool
        Whether the error probability is that of all groups together, or of each.

    Returns
    -------
    Discovery
        The values with their shares and intervals, as a table, text, dictionary or JSON.

    Examples
    --------
    >>> from warner import OpenDomain, tally
    >>> rng = np.random.default_rng(1)
    >>> apps = OpenDomain(epsilon=4, bits=32)
    >>> people = apps.values.encoded([7_000_000] * 3000 + rng.integers(2**32, size=7000).tolist())
    >>> found = discover(tally(apps.draw(people.blocks, rng.bytes), apps, codes=True))
    >>> found.values
    (7000000,)
    >>> bool(found.table()["low"][0] < 0.3 < found.table()["high"][0])
    True
    """
    if not isinstance(tally, OpenTally):
        raise TypeError(
            f"tally must be an OpenTally, of reports of an open domain, but got {type(tally).__name__}; shares of a "
            "list of answers are estimated by warner.estimate"
        )
    check_level(level)
    check_power(power)
    if isinstance(above, bool) or not isinstance(above, float | int | np.floating) or not 0 <= above < 1:
        raise ValueError(f"above must be a share from 0 to before 1, but got {above!r}")
    sizes = np.atleast_2d(tally.level_sizes)
    if not len(sizes) or (not tally.by and not sizes.all()):
        empty = int(np.argmin(sizes.sum(axis=0) > 0)) + 1
        raise ValueError(
            f"tally must have reports of each of the {tally.design.levels} levels, but level {empty} has none of its "
            f"{int(sizes.sum()):,}; collect more reports"
        )
    codes, values = _expected(tally.design, expected)
    together = len(sizes) if simultaneous else 1
    findings = tuple(
        _of_group(tally.design, tally.of_group(number), together, level, above, power, codes)
        for number in range(len(sizes))
    )
    return Discovery(tally, level, above, power, simultaneous, values, findings)


def _expected(design: OpenDomain, expected: Sequence[Any] | None) -> tuple[Integers | None, tuple[str | int, ...]]:
    """Codes of the expected values, with *other* after them, and the distinct values."""
    if expected is None:
        return None, ()
    if isinstance(expected, str | bytes):
        raise TypeError(f"expected must be a list of values, but got {expected!r}")
    listed, other = list(expected), design.values.other_blocks()
    coded = design.values.encoded(listed)
    wrong = coded.status < 0
    if other is not None:
        wrong |= (coded.blocks == other).all(axis=1)
    if wrong.any():
        strange = listed[int(np.argmax(wrong))]
        raise ValueError(f"expected must be {design.values.described()}, but got {shortened(repr(strange))}")
    if not listed:
        raise ValueError("expected must hold at least one value; leave it out if none is known")
    codes = np.unique(coded.blocks, axis=0)
    values = tuple(value for value in map(design.values.decoded, codes.tolist()) if value is not None)
    return (codes if other is None else np.vstack([codes, other])), values


def _of_group(
    design: OpenDomain,
    reports: Sequence[LevelReports],
    together: int,
    level: float,
    above: float,
    power: float,
    expected: Integers | None,
) -> GroupFindings:
    """Search the reports of one of `together` groups that share the error probability."""
    result = search(design, reports, (1 - level) / together, above=above, expected=expected)
    people, n = [len(part) for part in reports], len(reports[-1])
    support = np.array([hit.count for hit in result.hits], dtype=np.int64)
    critical = np.array([hit.critical for hit in result.hits], dtype=np.int64)
    (counts, least), index = np.unique(np.stack([support, critical]), axis=1, return_inverse=True)
    limits = selective_intervals(counts, least, n, design.p, design.q, level)
    share, low, high = (part[index] for part in (limits.value, limits.low, limits.high))
    p = at_least(support, n, design.q + design.gain * above)
    parts = np.array([hit.part for hit in result.hits], dtype=np.float64)
    other = design.values.other_blocks()
    codes = None if other is None else tuple(other.tolist())
    listed = result.expected_critical
    candidates = [
        CandidateValue(value, count, (count / n - design.q) / design.gain, blocks == codes)
        for blocks, count in (result.candidates if n else [])
        if (value := design.values.decoded(blocks)) is not None
    ]
    smallest = smallest_share(design, people, result.critical, power=power)
    fakes = fewest_crafted(design.q, people, result.critical, power=power)

    def at_last_level(critical: int | None) -> int | None:
        crafted = None if critical is None else fewest_crafted(design.q, people[-1:], [critical], power=power)
        return None if crafted is None else crafted[0]

    return GroupFindings(
        tuple(value for hit in result.hits if (value := design.values.decoded(hit.blocks)) is not None),
        np.array([hit.blocks == codes for hit in result.hits], dtype=bool),
        support,
        critical,
        share,
        low,
        high,
        p,
        np.minimum(1.0, together * p / np.maximum(parts, 1e-300)),
        smallest,
        None if listed is None else smallest_share(design, people[-1:], [listed], power=power),
        lower_bound(design.values.number, sum(people), design.epsilon, power) if sum(people) else math.inf,
        tuple(candidates),
        result.tested,
        result.kept,
        0.01 * sum(people) / (n * design.gain) if n else math.inf,
        None if fakes is None else sum(fakes),
        at_last_level(result.easiest),
        at_last_level(result.easiest_expected),
    )
