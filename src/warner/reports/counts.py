"""Counts of reports, checked once at the public entry points, and invalid values.

Counts are whole numbers (int64) or sums of weights (float64), of shape (..., columns): one for each column of the
design. Only a few counts of many answers are distinct (at most about sqrt(2 N) of N reports), and equal counts have
equal shares, intervals and p-values: `Histograms.distinct` computes them once.
"""

from __future__ import annotations

from ast import literal_eval
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias
from unicodedata import normalize

import numpy as np

from warner.arrays import LARGEST_TOTAL, Array, Counts, Integers, Mask
from warner.designs.labels import OUTSIDE, Labels
from warner.designs.report_forms import Form, all_reports
from warner.text import counted, enumerated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike

    from warner.designs.contract import Design
    from warner.designs.facts import ChannelOperator
    from warner.designs.law import Law
    from warner.reports.subtotals import StoredReports
    from warner.reports.tallies import Group


# Counts


LONG_ROW = 2**12  # longer histograms are cheaper by their distinct counts than answer by answer
SMALL_TABLE = 2**12  # cells that stay in the processor's cache
CACHED_COUNTS = 2**16  # counts worked on at a time
RARE = 16  # at most one count in so many is beyond the table, if a longer table avoids that
MISSING_CODES = {"NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "-99", "-9", "."}  # in other programs
REPORTS_LISTED = 5  # impossible reports named in an error


class Block(NamedTuple):
    """Likelihood of some reports, and the number or weight of each."""

    operator: ChannelOperator
    amounts: Counts


@dataclass(frozen=True, eq=False)
class DistinctCounts:
    """Distinct counts of one histogram, in ascending order, with their frequencies.

    A table with a cell for each count from the smallest on maps counts to results; the few counts beyond its end, the
    heavy ones, are mapped separately. No array has the length of the histogram.
    """

    values: Integers
    repeats: Integers
    counts: Integers
    smallest: int
    cells: int
    heavy: Integers  # positions
    rank: Integers  # of each heavy count among the values

    @cached_property
    def from_the_largest(self) -> tuple[Integers, Integers]:
        """Number of columns with at least each count, and their sum, from the largest count on."""
        return np.cumsum(self.repeats[::-1]), np.cumsum((self.repeats * self.values)[::-1])

    @cached_property
    def from_the_smallest(self) -> tuple[Integers, Integers]:
        """Number of columns with at most each count, and their sum, from the smallest count on."""
        return np.cumsum(self.repeats), np.cumsum(self.repeats * self.values)

    def for_each_column(self, results: Array) -> Array:
        """Map results for distinct counts to the columns."""
        light = self.values[: self.values.searchsorted(self.smallest + self.cells)]
        table = np.zeros(self.cells + 1, dtype=results.dtype)
        table[light - self.smallest] = results[: light.size]
        if not self.smallest and not self.heavy.size:
            return table.take(self.counts)
        columns = np.empty(self.counts.size, dtype=results.dtype)
        for part, cells in _in_cells(self.counts, self.smallest, self.cells):
            table.take(cells, out=columns[part], mode="clip")
        columns[self.heavy] = results[self.rank]
        return columns


@dataclass(frozen=True, eq=False)
class Histograms:
    """Checked counts, int64 or float64 of shape (..., columns), with the number of reports, of shape (...).

    Where there is more: the histogram of the types of reports, of shape (..., types), and the reports themselves, with
    the numbers that the groups have there, of shape (...). Of weights, the number of reports that they are worth.
    """

    counts: Counts
    n: Counts
    largest: float
    histogram: Counts | None = None
    kept: StoredReports | None = None
    groups: Integers | None = None
    effective: Array | None = None

    @property
    def whole(self) -> bool:
        return self.counts.dtype == np.int64

    @property
    def single(self) -> bool:
        return self.n.size == 1

    @cached_property
    def distinct(self) -> DistinctCounts:
        return distinct_counts(self.counts.reshape(-1), int(self.largest))

    def rows(self) -> Histograms:
        """Return the same counts with a single leading axis."""
        if self.counts.ndim == 2:
            return self
        effective = None if self.effective is None else self.effective.reshape(-1)
        counts = self.counts.reshape(-1, self.counts.shape[-1])
        return Histograms(counts, self.n.reshape(-1), self.largest, effective=effective)

    def row(self, index: int) -> Histograms:
        """Return one histogram; cached, so that its distinct counts are computed once."""
        if index not in self._rows:
            self._rows[index] = self.select(index)
        return self._rows[index]

    def select(self, indices: Any) -> Histograms:
        counts, n = self.counts[indices], self.n[indices]
        parts = (self.histogram, self.groups, self.effective)
        histogram, groups, effective = (None if part is None else part[indices] for part in parts)
        return Histograms(counts, n, counts.max(initial=0), histogram, self.kept, groups, effective)

    def in_reports(self) -> tuple[Counts, Counts]:
        """Return counts and numbers of reports; those of weights are scaled to, and not above, the effective number."""
        if self.effective is None:
            return self.counts, self.n
        effective = self.effective[..., np.newaxis]
        return np.minimum(self.counts * (effective / self.n[..., np.newaxis]), effective), self.effective

    def _statistic(self, law: Law) -> Counts | None:
        return {"counts": self.counts, "histogram": self.histogram, None: None}[law.sufficient]

    def has_likelihood(self, law: Law) -> bool:
        """Return True if counts, histogram or stored reports determine the likelihood."""
        return self._statistic(law) is not None or self.kept is not None

    def streamed(self, law: Law) -> bool:
        """Return True if the likelihood requires reports that are read again at every pass."""
        return law.sufficient is None and self.kept is not None and self.kept.streamed

    def blocks(self, law: Law) -> Iterator[Block]:
        """Iterate over the likelihoods of the reports of one histogram, with their frequencies."""
        if (statistic := self._statistic(law)) is not None:
            yield Block(law.likelihood(), statistic)
            return
        assert self.kept is not None
        group = None if self.groups is None else int(self.groups)
        for reports, amounts, _ in self.kept.blocks(group):
            yield Block(law.likelihood(reports), np.ones(len(reports)) if amounts is None else amounts)

    @cached_property
    def _rows(self) -> dict[int, Histograms]:
        return {}


def checked(counts: ArrayLike, design: Design | ChannelOperator, n: ArrayLike | None = None) -> Histograms:
    """Check counts of n reports (default: their sum) under a design, and that they carry information."""
    histograms = as_histograms(counts, len(design.law.columns))
    if n is not None or not design.law.exclusive:
        number = number_of_reports(n, histograms.counts, design.law)
        histograms = Histograms(histograms.counts, number, histograms.largest)
    refuse_empty(histograms.n)
    refuse_uninformative(design.law)
    refuse_impossible(histograms.counts, design.law)
    return histograms


def multinomial(counts: ArrayLike, design: Design | ChannelOperator) -> Histograms:
    """Check counts with a known likelihood: those of reports that are counted once each."""
    if not design.law.exclusive:
        raise TypeError(
            "a report of this design supports several answers, so that counts have no likelihood of their own; give "
            "the reports: design.law.likelihood(reports) instead of the design"
        )
    return checked(counts, design)


def refuse_uninformative(law: Law) -> None:
    if law.design is not None and law.design.epsilon == 0:
        raise ValueError(
            "the design must have an epsilon above 0: with p = q, rows that do not differ, reports carry no "
            "information on the answers"
        )


def refuse_impossible(counts: Counts, law: Law) -> None:
    """Raise an error for reports that are impossible under the design."""
    possible = _possible(law)
    if possible is None or possible.all():
        return
    amounts = counts.reshape(-1, counts.shape[-1]).sum(axis=0)
    where = np.flatnonzero(~possible & (amounts > 0))
    if where.size:
        shown = ", ".join(f"{law.columns[j]!r} {amounts[j]:,} times" for j in where[:REPORTS_LISTED].tolist())
        more = f" and {where.size - REPORTS_LISTED} more" if where.size > REPORTS_LISTED else ""
        raise ValueError(
            f"counts must be of reports that are possible under the design, but some are not: {shown}{more}"
        )


def _possible(law: Law) -> Mask | None:
    """Return True for each column with a positive probability under some answer; None if all have one."""
    most = law.bounds().most
    return None if most is None or np.ndim(most) == 0 else np.asarray(most) > 0


def as_histograms(counts: ArrayLike, width: int, name: str = "counts") -> Histograms:
    """Check counts whose last axis has this width; errors use this name."""
    if isinstance(counts, np.ma.MaskedArray) and np.ma.getmaskarray(counts).any():
        raise ValueError(
            f"{name} must not be masked: give 0 for an answer that was never reported, or leave it out of the domain"
        )
    array = np.asarray(counts)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be numbers, but got an array of {array.dtype}")
    if array.shape[-1:] != (width,):
        raise ValueError(
            f"{name} must have one entry for each of the {width} answers (or kinds of reports) of the design, but got "
            f"shape {array.shape}"
        )
    return _weighted(array.astype(np.float64), name) if array.dtype.kind == "f" else _whole_counts(array, name)


def refuse_amounts(name: str, bad: int, shown: Sequence[str] = ()) -> None:
    """Raise an error if some counts or weights are `bad`; `shown` are the first of them."""
    listed = f": {', '.join(shown)}{', ...' if bad > len(shown) else ''}" if shown else ""
    if bad and name == "counts":
        wrong = counted(bad, "is not", "are not")
        raise ValueError(f"counts must be whole numbers from 0 to 2^53, but {wrong}{listed}")
    if bad:
        wrong = counted(bad, "is negative, missing or infinite", "are negative, missing or infinite")
        raise ValueError(f"{name} must be finite numbers of at least 0, but {wrong}{listed}")


def refuse_overflow(total: float) -> None:
    if total > LARGEST_TOTAL:
        raise ValueError(f"counts must sum to at most 2^53, but sum to about {total:.3g}")


def _whole_counts(array: Counts, name: str) -> Histograms:
    # One pass finds both the largest and any negative count: seen as unsigned, that one is above 2^63.
    signed = array.dtype.kind == "i"
    array = array.astype(np.int64 if signed else np.uint64, copy=False)
    largest = int(array.view(np.uint64).max(initial=0))
    if signed and largest >= 2**63:
        _bad_counts(f"{name} must not be negative", array < 0, array)
    array = array.view(np.int64)
    safe = largest * array.shape[-1] < 2**63
    roughly = 0.0 if safe else array.sum(axis=-1, dtype=np.float64).max(initial=0)
    totals = array.sum(axis=-1)  # overflows only where `roughly` is far too large already
    most = max(roughly, largest, int(totals.max(initial=0)))
    if most > LARGEST_TOTAL:
        raise ValueError(f"{name} must sum to at most 2^53 = 9.01e15, the limit of doubles, but got {most:.3g}")
    return Histograms(array, totals, largest)


def _weighted(array: Array, name: str) -> Histograms:
    if not (array >= 0).all():
        _bad_counts(f"{name} must be numbers of at least 0", ~(array >= 0), array)
    with np.errstate(over="ignore"):
        totals = array.sum(axis=-1)
    if not np.isfinite(totals).all():
        raise ValueError(f"{name} must be finite and have a finite sum; rescale them")
    return Histograms(array, totals, float(array.max(initial=0)))


def _bad_counts(rule: str, wrong: Mask, array: Counts) -> NoReturn:
    where = tuple(int(index) for index in np.argwhere(wrong)[0])
    raise ValueError(f"{rule}, but got {array[where].item()!r} at position {where[0] if len(where) == 1 else where}")


def number_of_reports(n: ArrayLike | None, counts: Counts, law: Law) -> Counts:
    """Check that counts can come from n reports, each counted for as many columns as the design has it."""
    total = counts.sum(axis=-1)
    if n is None:
        if law.exclusive:
            return np.asarray(total)
        raise TypeError(
            "n must be given, the number of reports: under this design a report may support several answers, so that "
            "the counts do not sum to it"
        )
    number = np.asarray(n)
    if number.shape != total.shape or number.dtype.kind not in "iuf" or not (number >= 0).all():
        raise ValueError(f"n must be a number of reports for each histogram, of shape {total.shape}, but got {n!r}")
    if not np.isfinite(number.astype(np.float64).sum()):
        raise ValueError(f"n must be finite, but got {n!r}")
    weighted = counts.dtype.kind == "f"
    if not weighted and ((number != np.floor(number)) | (number > LARGEST_TOTAL)).any():
        raise ValueError(f"n must be a whole number of reports of at most 2^53, as the counts are, but got {n!r}")
    number = number.astype(counts.dtype)
    close = 1e-9 * np.maximum(total, 1) if weighted else 0  # sums of weights are rounded
    if law.support_size is not None and (np.abs(total - law.support_size * number) > close).any():
        rule = "the sum of the counts" if law.exclusive else f"their sum divided by {law.support_size:,}"
        times = "once" if law.exclusive else f"{law.support_size:,} times"
        raise ValueError(
            f"n must be {rule}, because each report is counted {times}, but the counts sum to {total.tolist()} and n "
            f"is {number.tolist()}"
        )
    if counts.size and (counts.max(axis=-1) > number + close).any():
        raise ValueError("n must be at least every count: no answer is supported by more reports than there are")
    # Under a symmetry, an answer has one column, or one for ones and one for zeros: then a report is in one at most.
    each = 1 if law.symmetry is None else len(law.columns) // law.k
    together = counts.reshape(*total.shape, each, counts.shape[-1] // each).sum(axis=-2)
    if each > 1 and (together > (number + close)[..., np.newaxis]).any():
        raise ValueError(
            "n must be at least the ones and zeros of every answer together: an answer is asked about once"
        )
    return number


def agree(first: Counts, second: Counts) -> bool:
    """Return True if two sums of the same amounts are equal, up to rounding for weights."""
    if first.shape != second.shape:
        return False
    if first.dtype.kind in "iu" and second.dtype.kind in "iu":
        return bool((first == second).all())
    return bool(np.allclose(first, second, rtol=1e-9, atol=1e-9 * float(np.abs(second).max(initial=1))))


def refuse_other_total(histogram: Counts | None, n: Counts) -> None:
    if histogram is not None and not agree(histogram.sum(axis=-1), np.asarray(n)):
        raise ValueError(
            f"histogram must sum to n, the number of reports, but sums to {histogram.sum(axis=-1).tolist()} and n is "
            f"{np.asarray(n).tolist()}"
        )


def refuse_squares(squares: ArrayLike | None, n: Counts) -> None:
    """Raise an error for a sum of squares that is impossible for weights with this sum."""
    if squares is None:
        return
    root = np.sqrt(np.broadcast_to(np.asarray(squares, dtype=np.float64), np.shape(n)))
    some = np.asarray(n) > 0
    # sum of w^2 <= (sum of w)^2 <= (number of weights) * (sum of w^2)
    fits = (root > 0) & (root <= n * (1 + 1e-9)) & (n <= root * LARGEST_TOTAL**0.5)
    if not np.all(fits | ~some):
        raise ValueError(
            f"squares must be the sum of the squared weights, from n^2 / 2^53 to n^2, but got {np.asarray(squares)} "
            f"for n = {np.asarray(n)}; rescale weights that are too small or too large to be squared"
        )


def refuse_empty(totals: Counts) -> None:
    if not totals.all():
        where = "" if totals.ndim == 0 else f" in the histogram at position {np.argwhere(totals == 0)[0].tolist()}"
        raise ValueError(f"counts must hold at least one report, but all are zero{where}")


def distinct_counts(counts: Integers, largest: int) -> DistinctCounts:
    """Find the distinct counts of a histogram, in two passes and with a table no longer than the histogram."""
    longest = max(counts.size, LONG_ROW)
    nobody = np.zeros(0, dtype=np.int64)
    if largest < longest:
        tally = np.bincount(counts)
        values = np.flatnonzero(tally)
        return DistinctCounts(values, tally[values], counts, 0, largest + 1, nobody, nobody)
    smallest = int(counts.min())
    cells = min(longest, SMALL_TABLE, largest - smallest + 1)
    tally, heavy = _tallied(counts, smallest, cells)
    if heavy.size > counts.size // RARE and cells < longest:  # a short table misses too many
        cells = min(longest, largest - smallest + 1)
        tally, heavy = _tallied(counts, smallest, cells)
    light = np.flatnonzero(tally[:cells])
    large, rank, times = np.unique(counts[heavy], return_inverse=True, return_counts=True)
    return DistinctCounts(
        np.concatenate([light + smallest, large]),
        np.concatenate([tally[light], times]),
        counts,
        smallest,
        cells,
        heavy,
        light.size + rank,
    )


def _tallied(counts: Integers, smallest: int, cells: int) -> tuple[Integers, Integers]:
    """Return the frequency of each count from the smallest on, and the positions of counts beyond the last cell."""
    tally = np.zeros(cells + 1, dtype=np.int64)
    heavy = [np.zeros(0, dtype=np.int64)]
    for part, piece in _in_cells(counts, smallest, cells):
        times = np.bincount(piece, minlength=cells + 1)
        tally += times
        if times[cells]:
            heavy.append(part.start + np.flatnonzero(piece == cells))
    return tally, np.concatenate(heavy)


def _in_cells(counts: Integers, smallest: int, cells: int) -> Iterator[tuple[slice, Integers]]:
    """Iterate over counts in pieces: their distance from the smallest, at most the number of cells."""
    step = max(CACHED_COUNTS, cells)
    buffer = np.empty(min(step, counts.size), dtype=np.int64)
    for start in range(0, counts.size, step):
        part = slice(start, min(start + step, counts.size))
        piece = buffer[: part.stop - start]
        np.minimum(counts[part], smallest + cells, out=piece)
        if smallest:
            piece -= smallest
        yield part, piece


# Invalid values


Unknowns: TypeAlias = dict[str, int]  # values as they are shown, and how often each is there

VALUES_LISTED = 5  # values in an error or a warning
VALUES_KEPT = 1000  # distinct values that are counted
ROWS_SEEN = 2**20  # rows with invalid values that are examined

# Ways in which two labels may differ and look alike, and how each is undone.
DIFFERENCES: dict[str, Callable[[str], str]] = {
    "spaces": lambda text: " ".join(text.split()),
    "Unicode form": lambda text: normalize("NFKC", text),
    "case": lambda text: normalize("NFC", text.casefold()),
}


def unknown_values(values: Any, status: Integers, number: Integers | None = None) -> Unknowns:
    """Count the invalid values, by their representation; each row represents a `number` of reports."""
    if all_reports(status):
        return {}
    if isinstance(values, np.ndarray) and values.shape[:1] != status.shape:
        values = values.ravel()
    found: Unknowns = {}
    for index in np.flatnonzero(status == OUTSIDE)[:ROWS_SEEN].tolist():
        value = values[index]
        plain = value.as_py() if hasattr(value, "as_py") else value
        shown = repr(plain.item() if isinstance(plain, np.generic) else plain)
        if shown in found or len(found) < VALUES_KEPT:
            found[shown] = found.get(shown, 0) + (1 if number is None else int(number[index]))
    return found


def sum_of_invalid(first: Mapping[str, int], second: Mapping[str, int]) -> Unknowns:
    return dict((Counter(first) + Counter(second)).most_common(VALUES_KEPT))


def refuse_unknown(number: int, found: Unknowns, form: Form, what: str = "reports") -> None:
    if not found:
        return
    shown = [_meant(value, form) for value in list(found)[:VALUES_LISTED]]
    listed = ", ".join(shown) + (", ..." if len(found) > VALUES_LISTED else "")
    remedy = form.remedy
    if empty := [value.strip("'") for value in found if value.strip("'") in MISSING_CODES]:
        remedy = f'If {empty[0]!r} is a missing value, give missing="{empty[0]}"'
    raise ValueError(
        f"{what} must be {form.rule}, but {number:,} {'is' if number == 1 else 'are'} not: {listed}. {remedy}, "
        'or leave them out with unknown="drop"'
    )


def left_out(number: int, found: Mapping[str, int], form: Form) -> str:
    """Return a sentence on the values that were left out; empty if there were none."""
    if not number:
        return ""
    summary = f"{counted(number, 'invalid value was', 'invalid values were')} left out"
    most = sorted(found.items(), key=lambda pair: -pair[1])[:VALUES_LISTED]
    listed = [f"{_meant(value, form)} {'once' if times == 1 else f'{times:,} times'}" for value, times in most]
    rest = number - sum(times for _, times in most)
    others = [f"{counted(rest, 'other', 'others')}"] if rest > 0 and listed else []
    return f"{summary}: {', '.join([*listed, *others])}" if listed else summary


def _meant(shown: str, form: Form) -> str:
    """Representation of a value, with the label that it nearly matches."""
    try:
        value = literal_eval(shown)
    except (ValueError, SyntaxError):
        return shown
    if isinstance(value, str) and _names_file(value):
        return f"{shown} (the name of a file, which must be given as a path, not as a text)"
    labels = form.labels
    if labels is None or isinstance(value, bool) or not isinstance(value, str | int | float):
        return shown
    if isinstance(labels[0], int):
        return f"{shown} (which is {found} in another spelling)" if (found := _equal_label(value, labels)) else shown
    if not isinstance(value, str):
        return f"{shown} (a number, and the label {str(value)!r} is a text)" if str(value) in labels else shown
    label = _labels_by_normal_form(tuple(map(str, labels))).get(_without_differences(value, tuple(DIFFERENCES)))
    if label is None:
        return shown
    return f"{shown} (which differs from {label!r} only in {spelling_difference(value, label)})"


def _names_file(value: str) -> bool:
    try:
        return Path(value).is_file()
    except OSError:  # too long for a name
        return False


def _equal_label(value: str | float, labels: Labels) -> str:
    """Return the label that a text such as 07 represents."""
    try:
        number = float(str(value).strip().replace(",", "."))
    except ValueError:
        return ""
    return str(int(number)) if number.is_integer() and int(number) in labels else ""


@lru_cache(maxsize=8)
def _labels_by_normal_form(labels: tuple[str, ...]) -> dict[str, str]:
    """Return labels by their normalized text, where that is unique."""
    undone = [_without_differences(label, tuple(DIFFERENCES)) for label in labels]
    times = Counter(undone)
    return {text: label for text, label in zip(undone, labels, strict=True) if times[text] == 1}


def _without_differences(text: str, names: tuple[str, ...]) -> str:
    for name in names:
        text = DIFFERENCES[name](text)
    return text


def spelling_difference(value: str, label: str) -> str:
    """Name the differences of two texts: case, spaces or Unicode form.

    >>> spelling_difference("Yes ", "yes")
    'spaces and case'
    """
    for size in range(1, len(DIFFERENCES) + 1):
        for names in combinations(DIFFERENCES, size):
            if _without_differences(value, names) == _without_differences(label, names):
                return " and ".join(names)
    return " and ".join(DIFFERENCES)


# Groups that are added up or selected


OPTION = "option"  # the name of the groups of a question with several answers


def refuse_options_together(argument: str, by: Sequence[str], groups: Iterable[tuple[Any, ...]]) -> None:
    """Raise an error if groups are different options of one question, which can have the same respondents."""
    if by[:1] == (OPTION,) and len({group[0] for group in groups}) > 1:
        raise ValueError(
            f"{argument} must not join or compare the options of one question, which can have the same respondents; "
            "estimate each option alone (if the column 'option' holds groups of different respondents, rename it)"
        )


def aggregated_names(by: str | Sequence[str], known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names to group by, which must be among those of a tally."""
    names = (by,) if isinstance(by, str) else tuple(by)
    _refuse_unknown_names("by", names, known)
    if len(set(names)) < len(names):
        raise ValueError(f"by must name each column once, but got {', '.join(map(repr, names))}")
    return names


def _refuse_unknown_names(argument: str, names: Iterable[object], known: tuple[str, ...]) -> None:
    for name in names:
        if name not in known:
            grouped = f"grouped by {', '.join(map(repr, known))}" if known else "without groups"
            raise ValueError(
                f"{argument} must name columns that the tally is grouped by, but got {name!r} for a tally {grouped}; "
                "count the reports again"
            )


def shortened_keys(by: tuple[str, ...], groups: Sequence[Group], names: tuple[str, ...]) -> list[Group]:
    """Return the values of each group under these names."""
    return [tuple(group[by.index(name)] for name in names) for group in groups]


def selected_groups(by: tuple[str, ...], groups: tuple[Group, ...], columns: Mapping[str, object]) -> list[int]:
    """Return the indices of the groups with these values; numbers may be texts."""
    _refuse_unknown_names("filter", columns, by)
    rows = list(range(len(groups)))
    for name, value in columns.items():
        position = by.index(name)
        present = {group[position]: _as_text(group[position]) for group in groups}
        if _as_text(value) not in present.values():
            listed = enumerated([repr(known) for known in present], VALUES_LISTED)
            raise ValueError(f"{name} must be one of the tally's values, {listed}, but got {value!r}")
        rows = [row for row in rows if present[groups[row][position]] == _as_text(value)]
    return rows


def _as_text(value: object) -> str | None:
    return None if value is None else str(int(value) if isinstance(value, float) and value.is_integer() else value)


def new_numbers(rows: Sequence[int], groups: int) -> list[int]:
    """Return the new number of each group after a selection of rows; -1 for groups that are left out."""
    numbers = {row: new for new, row in enumerate(rows)}
    return [numbers.get(row, -1) for row in range(groups)]
