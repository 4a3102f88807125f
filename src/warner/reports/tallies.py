"""Counted reports with their design: `Tally`, and `Pool` for several designs.

Arrays of internal methods always have an axis for the groups; `Tally.squeezed` drops it if there are no groups.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from warner.arrays import LARGEST_TOTAL, Array, Counts, Integers, Mask, PerGroup, Sets
from warner.designs import design_from_dict, listed_design
from warner.designs.contract import Design, Device
from warner.designs.facts import LinearCombination, SamplingModel, added_up
from warner.documents import Document, Saved, checked, loaded, parsed, skipped_fields
from warner.reports.counts import (
    LONG_ROW,
    OPTION,
    Block,
    Histograms,
    aggregated_names,
    agree,
    as_histograms,
    left_out,
    new_numbers,
    number_of_reports,
    refuse_impossible,
    refuse_options_together,
    refuse_other_total,
    refuse_squares,
    selected_groups,
    shortened_keys,
    sum_of_invalid,
)
from warner.reports.design_based import (
    LinearScores,
    design_based,
    refuse_other_sums,
    sample_from_dict,
    smallest_effective,
    steady_effective,
)
from warner.reports.samples import effective_number
from warner.text import amount, counted, group_name, printable, reports_counted

if TYPE_CHECKING:
    import os
    from collections.abc import Set as AbstractSet

    from warner.designs.labels import Labels
    from warner.reports.linearization import ComplexSample
    from warner.reports.subtotals import StoredReports


# Tallies


FORMAT = "warner tally"
VERSION = 1
DAMAGED_TALLY = "this tally is damaged: "
RESULTS = {"value", "reports", "respondents", "share", "people", "se", "low", "high", "outside"}  # of Estimate.table
COUNTS_IN_REPR = 4
NUMERIC = re.compile(r"[-+]?\d{1,15}(\.\d+)?")  # a text that is a number
SUMMED = ("counts", "n", "histogram", "missing", "unknown", "squares", "people")  # fields that add up

Group: TypeAlias = tuple[Any, ...]  # one value for each name in `by`


class GroupedReports(Saved):
    """Counted reports of one design, in groups: a tally of a list of answers, or of an open domain."""

    design: Any
    n: PerGroup
    missing: PerGroup
    unknown: PerGroup
    by: tuple[str, ...]
    groups: tuple[Group, ...]
    dropped: Mapping[str, int]

    @property
    def weighted(self) -> bool:
        """Return True if counts are sums of weights."""
        return False

    @property
    def parts(self) -> tuple[Self, ...]:
        """The collections: the tally itself."""
        return (self,)

    def group_names(self) -> list[str]:
        """Names of the groups; one empty name without groups."""
        return [group_name(group) for group in self.groups] if self.by else [""]

    def left_out(self) -> str:
        """Return a sentence on the invalid values that were left out; empty if there were none."""
        return left_out(int(np.sum(self.unknown)), self.dropped, self.design.report_form)

    def shown_epsilon(self) -> str:
        """Write the epsilon of one report, rounded up."""
        return str(self.design.shown_epsilon())

    def _check_numbers(self, *names: str) -> None:
        """Check fields that are numbers, one for all or one for each group; with groups, these become arrays."""
        shape = (len(self.groups),) if self.by else ()
        given = {name: np.asarray(value) for name in names if (value := getattr(self, name)) is not None}
        for name, value in given.items():
            whole = value.dtype.kind in "iu" and ((value >= 0) & (value <= LARGEST_TOTAL)).all()
            if name != "squares" and not whole:
                found = reprlib.repr(value.tolist())
                raise ValueError(f"{name} must be a whole number from 0 to 2^53, but got {found}")
            if value.dtype.kind not in "iuf" or not (value >= 0).all() or value.shape not in {(), shape}:
                raise ValueError(f"{name} must be a number of at least 0, for each group if there are groups")
            if self.by:
                object.__setattr__(self, name, np.broadcast_to(value, shape))

    def _groups_document(self) -> Document:
        left_out: Document = {name: np.asarray(getattr(self, name)).tolist() for name in ("missing", "unknown")}
        return left_out | {"by": list(self.by), "groups": [list(group) for group in self.groups]}

    def _refuse_other(self, other: GroupedReports, facts: Mapping[str, str]) -> None:
        for name, what in facts.items():
            if (mine := getattr(self, name)) != (theirs := getattr(other, name)):
                raise ValueError(f"tallies must have the same {what} to add up, but got {mine!r} and {theirs!r}")

    def __radd__(self, other: object) -> Self:
        return self if type(other) is int and other == 0 else NotImplemented  # where `sum` begins

    def _described(self, kinds: str, drawn: str, listed: str) -> str:
        reports = reports_counted(np.sum(self.n), weighted=self.weighted)
        groups = counted(len(self.groups), "group", "groups")
        grouped = f" in {groups} by {printable(', '.join(self.by))}" if self.by else ""
        lost = {name: int(np.sum(getattr(self, name))) for name in ("missing", "unknown")}
        left = "".join(f"; {number:,} {name}" for name, number in lost.items() if number)
        return f"{type(self).__name__} of {reports} {kinds}{grouped}{drawn}: {listed}{left}"


@dataclass(frozen=True, eq=False, repr=False)
class Tally(GroupedReports):
    """Number of reports that support each answer, with the design that randomized them.

    Made by `tally`, or directly from counts. Tallies of the same design add up with ``+`` and ``sum``, so that shards
    can be counted anywhere and merged exactly.

    Attributes
    ----------
    design : Design
        Design of every report; all that follows uses its epsilon.
    counts : ndarray of shape (k,), or (groups, k)
        Number of reports of each answer, in the domain's order (for a `Channel`, of each output; for reports that are
        sets, the number that contain the answer); sums of weights if there are weights.
    n : int or float, or ndarray of shape (groups,)
        Number of reports, or the sum of their weights. Optional if each report is counted once.
    histogram : ndarray of shape (types,), or (groups, types), or None
        Number of reports of each type (``design.law.types``), if a design has types: of each value of a report that is
        a whole number, or of each size of a set. Counts and n are optional if they follow from it.
    missing, unknown : int, or ndarray of shape (groups,)
        Number of rows left out because the value was missing, or was not in the domain.
    by : tuple of str
        Names of the columns that define the groups; empty without groups.
    groups : tuple of tuple
        The groups, each with one value for each name in `by`; a missing value, None, is a group.
    squares : float or ndarray of shape (groups,), or None
        With weights, the sum of their squares.
    people : int or ndarray of shape (groups,), or None
        With weights, the number of reports with a weight above 0, if it is known.
    sample : ComplexSample or None
        Counts by cluster and stratum, or by replicate weights, of a complex sample.
    backend : str or None
        Data-frame library of the reports, which results use.
    kept : StoredReports or None
        The reports themselves, if they were kept for the likelihood; not written to files.
    skipped_files : mapping of str to str
        Files that were skipped, with the reasons.
    dropped : mapping of str to int
        Number of reports left out for each invalid value, as far as values are known; not written to files.

    Examples
    --------
    >>> from warner import RandomizedResponse
    >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
    >>> Tally(survey, [40, 60]) + Tally(survey, [1, 2], missing=3)
    <Tally of 103 reports among 2 answers: 41 'yes', 62 'no'; 3 missing>
    """

    design: Design
    counts: Any = None
    n: PerGroup = field(default=None, kw_only=True)
    histogram: Any = field(default=None, kw_only=True)
    missing: PerGroup = field(default=0, kw_only=True)
    unknown: PerGroup = field(default=0, kw_only=True)
    by: tuple[str, ...] = field(default=(), kw_only=True)
    groups: tuple[Group, ...] = field(default=(), kw_only=True)
    squares: PerGroup = field(default=None, kw_only=True)
    people: PerGroup = field(default=None, kw_only=True)
    sample: ComplexSample | None = field(default=None, kw_only=True)
    backend: str | None = field(default=None, kw_only=True)
    kept: StoredReports | None = field(default=None, kw_only=True)
    dropped: Mapping[str, int] = field(default_factory=dict, kw_only=True)
    skipped_files: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    _largest: float = field(default=0.0, init=False, repr=False)

    def __post_init__(self) -> None:
        refuse_design(self.design, "Tally(design, counts)")
        refuse_grouping(self.by, self.groups)
        leading = (len(self.groups),) if self.by else ()
        self._take_histogram(leading)
        array = np.asarray(self.counts)
        width = len(self.design.law.columns)
        shape = (*leading, width)
        if array.shape != shape:
            raise ValueError(
                f"counts must have shape {shape}, one for each possible report (and group), but got shape {array.shape}"
            )
        if self.squares is None and array.dtype.kind == "f":
            raise ValueError("counts must be whole numbers, or come with squares, the sum of the squared weights")
        histograms = as_histograms(self._as_weights(array), width)
        self._check_numbers("missing", "unknown", "people", "squares")
        refuse_impossible(histograms.counts, self.design.law)
        array = self._keep_private("counts", histograms.counts)
        follows = self.n is None and self.design.law.exclusive
        n = histograms.n if follows else number_of_reports(self.n, array, self.design.law)
        refuse_other_total(self.histogram, n)
        refuse_squares(self.squares, n)
        object.__setattr__(self, "n", n[()])
        object.__setattr__(self, "_largest", histograms.largest)

    def _keep_private(self, name: str, counts: Counts) -> Counts:
        """Set a field to a read-only copy, and return it."""
        array = np.array(counts)
        array.flags.writeable = False
        object.__setattr__(self, name, array)
        return array

    def _as_weights(self, array: Counts) -> Counts:
        return array.astype(np.float64) if self.squares is not None and array.dtype.kind in "iu" else array

    def _take_histogram(self, leading: tuple[int, ...]) -> None:
        types = self.design.law.types
        if self.histogram is None:
            if self.counts is None:
                raise TypeError("a tally needs counts" + (", or the histogram of its reports" if types else ""))
            return
        if types is None:
            raise TypeError(f"histogram must be left out for a {self.design.mechanism}, which has no kinds of reports")
        array = np.array(self.histogram)
        if array.shape != (shape := (*leading, len(types))):
            raise ValueError(
                f"histogram must have shape {shape}, one for each kind of report (and group), but got {array.shape}"
            )
        if self.squares is None and array.dtype.kind == "f":
            raise ValueError("histogram must be whole numbers, or come with squares, the sum of the squared weights")
        histogram = as_histograms(self._as_weights(array), len(types), "histogram")
        array = self._keep_private("histogram", histogram.counts)
        if self.n is None:
            object.__setattr__(self, "n", histogram.n[()])
        counts = types.support(array)
        if self.counts is None:
            if counts is None:
                raise TypeError("counts must be given: they do not follow from the histogram under this design")
            object.__setattr__(self, "counts", counts)
        elif np.asarray(self.counts).dtype.kind not in "iuf":
            raise ValueError("counts must be whole numbers of at most 2^53, or sums of weights")
        elif counts is not None and not agree(np.asarray(self.counts), counts):
            raise ValueError("counts must be those that follow from the histogram, but they differ")
        total, found = types.total_support(array), np.asarray(self.counts).sum(axis=-1)
        if total is not None and not agree(found, total):
            raise ValueError(
                f"counts must sum to the sizes of all sets, which by the histogram are {total.tolist()}, but sum to "
                f"{found.tolist()}"
            )

    # A tally as others see it, be it one or several

    @property
    def domain(self) -> Labels:
        """The possible answers."""
        return self.design.domain

    @property
    def k(self) -> int:
        """The number of possible answers, K."""
        return self.design.k

    @property
    def weighted(self) -> bool:
        """Return True if counts are sums of weights."""
        return self.squares is not None

    @property
    def simple(self) -> bool:
        """Return True if this is a simple random sample: no weights, strata or clusters."""
        return self.squares is None and self.sample is None

    @cached_property
    def effective(self) -> PerGroup:
        """Effective number of reports: the size of a simple random sample with the same precision.

        With weights, Kish's (sum of w)^2 / (sum of w^2); for a complex sample, the smallest of all answers.
        """
        if self.sample is not None:
            return self.squeezed(smallest_effective(self))
        return self.n if self.squares is None else effective_number(self.n, self.squares)

    @cached_property
    def steady(self) -> PerGroup:
        """Effective number of reports under one design effect common to all answers.

        For a complex sample, Kish's number over the mean design effect (Rao and Scott), or Kish's alone with fewer than
        six clusters.
        """
        return self.effective if self.sample is None else self.squeezed(steady_effective(self))

    @cached_property
    def drawn(self) -> SamplingModel:
        """Sampling model of all answers in the groups of a complex sample that have reports."""
        return self.readout(self.answered)

    @cached_property
    def answered(self) -> Mask:
        """Return True for groups with reports, of shape (groups,)."""
        return np.atleast_1d(self.n) > 0

    @property
    def one_long_row(self) -> bool:
        """Return True if this is one histogram so long that work is done on its distinct counts."""
        return bool(self.counts.dtype == np.int64 and self.counts.shape[-1] == self.counts.size > LONG_ROW)

    @property
    def counts_answers(self) -> bool:
        """Return True if there is one count for each answer."""
        return self.design.law.columns == self.domain

    def rows(self) -> tuple[Counts, Counts]:
        """Return counts of shape (groups, columns) and numbers of reports of shape (groups,)."""
        return self.counts.reshape(-1, self.counts.shape[-1]), np.atleast_1d(self.n)

    @property
    def has_likelihood(self) -> bool:
        """Return True if counts, histogram or stored reports determine the likelihood."""
        return self._histograms.has_likelihood(self.design.law)

    def blocks(self, group: int = 0) -> Iterator[Block]:
        """Iterate over the likelihoods of the stored reports of a group, with their frequencies."""
        return self._histograms.row(group).blocks(self.design.law)

    def histograms(self, groups: Sequence[int] | Integers | None) -> Histograms:
        """Return the checked counts of these groups."""
        everything = self._histograms
        return everything if len(everything.n) == 1 or groups is None else everything.select(groups)

    @cached_property
    def _histograms(self) -> Histograms:
        histogram = None if self.histogram is None else self.histogram.reshape(-1, self.histogram.shape[-1])
        counts, n = self.rows()
        effective = None if self.simple else np.atleast_1d(self.steady).astype(np.float64)
        return Histograms(counts, n, self._largest, histogram, self.kept, np.arange(len(n)), effective)

    def readout(
        self,
        groups: Sequence[int] | Integers | Mask | None = None,
        sets: Sets | None = None,
        *,
        minus: Sets | None = None,
        target: str = "population",
    ) -> SamplingModel:
        """Return the sampling model of shares in these groups, in all groups if None; see `Law.readout`."""
        if self.sample is not None:
            found = design_based(self, LinearScores(self.design, sets, minus), groups, target)
            return replace(found, fuzzy=isinstance(sets, LinearCombination))
        counts, n = self.scaled()
        histogram = self.scaled_histogram()
        if groups is not None:
            counts, n = counts[groups], n[groups]
            histogram = None if histogram is None else histogram[groups]
        found = self.design.law.readout(counts, n, sets, minus=minus, target=target, histogram=histogram)
        return replace(found, fuzzy=True) if isinstance(sets, LinearCombination) else found

    def scaled(self) -> tuple[Counts, Array]:
        """Return counts and totals with a row for each group, scaled to the effective number of reports if weighted."""
        counts, number = self.rows()
        if self.simple:
            return counts, number[:, np.newaxis].astype(np.float64)
        return counts * self._worth, np.reshape(self.effective, (-1, 1))

    def scaled_histogram(self) -> Counts | None:
        """Return the histogram of types, scaled like `scaled`; None if the design has no types."""
        histogram = self._histograms.histogram
        return histogram if histogram is None or self.simple else histogram * self._worth

    @property
    def _worth(self) -> Array:
        """Effective number of reports per unit of weight, of shape (groups, 1)."""
        n = np.reshape(self.n, (-1, 1)).astype(np.float64)
        return np.divide(np.reshape(self.effective, n.shape).astype(np.float64), n, out=np.zeros_like(n), where=n > 0)

    def squeezed(self, values: Counts) -> PerGroup:
        """Drop the axis of the groups if there are none."""
        if self.by:
            return values
        return values[0] if values.ndim > 1 else values[0].item()

    def under(self, design: Design) -> Tally:
        """Return the same counts under another design with the same columns."""
        sample = None if self.sample is None else replace(self.sample, cells=self.sample.cells.under(design))
        return replace(self, design=design, sample=sample)

    # Values

    def __add__(self, other: object) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        self._refuse_other(other, {"design": "design", "by": "grouping", "weighted": "use of weights"})
        if (self.sample is None) != (other.sample is None):
            raise ValueError("tallies must both have strata, clusters or replicate weights to add up, or neither")
        groups = in_order((*self.groups, *other.groups))
        mine, theirs = self.with_groups(groups), other.with_groups(groups)
        # A field that one of them lacks is missing in the sum.
        sums = {
            name: getattr(mine, name) + getattr(theirs, name)
            for name in (*SUMMED, "kept", "sample")
            if getattr(mine, name) is not None and getattr(theirs, name) is not None
        }
        skipped = {**self.skipped_files, **other.skipped_files}
        dropped = sum_of_invalid(self.dropped, other.dropped)
        return Tally(self.design, by=self.by, groups=groups, dropped=dropped, skipped_files=skipped, **sums)

    def with_groups(self, groups: tuple[Group, ...]) -> Tally:
        """Return the same reports with these groups, in this order; new groups have no reports."""
        if groups == self.groups:
            return self
        index = numbers_of(self.groups, groups)
        moved: dict[str, Any] = {
            name: added_up(index, values, len(groups)) for name, values in self._summed_fields().items()
        }
        return replace(self, groups=groups, kept=self._renumbered(index), **moved)

    def _summed_fields(self) -> dict[str, Any]:
        fields = {name: getattr(self, name) for name in SUMMED}
        return {name: np.asarray(values) for name, values in fields.items() if values is not None}

    def _renumbered(self, numbers: list[int]) -> StoredReports | None:
        return None if self.kept is None else self.kept.renumbered(numbers)

    def aggregate(self, by: str | Sequence[str] = ()) -> Tally:
        """Add up groups, for coarser groups or none: equal to a tally made at once with this `by`.

        Parameters
        ----------
        by : str or sequence of str
            Names among those of the tally's groups, in any order; without names, all groups are added up.

        Examples
        --------
        >>> from warner import RandomizedResponse
        >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
        >>> groups = (("Mon", "FR"), ("Mon", "IT"), ("Tue", "FR"))
        >>> days = Tally(survey, [[40, 60], [1, 2], [30, 70]], by=("day", "country"), groups=groups)
        >>> days.aggregate(by="day").counts.tolist(), days.aggregate().counts.tolist()
        ([[41, 62], [30, 70]], [71, 132])
        """
        names = aggregated_names(by, self.by)
        if names == self.by:
            return self
        if OPTION not in names:
            refuse_options_together("by", self.by, self.groups)
        keys = shortened_keys(self.by, self.groups, names)
        if self.sample is not None:
            return self.sample.aggregated(self, names)
        return self.summed(names, keys)

    def filter(self, **columns: object) -> Tally:
        """Select the groups with these values: equal to a tally made at once with ``where=``.

        Not defined for complex samples, whose groups are domains of one sample.

        Parameters
        ----------
        **columns
            Values by the names of the tally's groups, such as ``country="FR"``; None selects missing values.

        Examples
        --------
        >>> from warner import RandomizedResponse
        >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
        >>> groups = (("Mon", "FR"), ("Mon", "IT"), ("Tue", "FR"))
        >>> days = Tally(survey, [[40, 60], [1, 2], [30, 70]], by=("day", "country"), groups=groups)
        >>> days.filter(country="FR").aggregate(by="day").counts.tolist()
        [[40, 60], [30, 70]]
        """
        rows = selected_groups(self.by, self.groups, columns)
        if len(rows) == len(self.groups):
            return self
        if self.sample is not None:
            raise ValueError(
                f"filter must be left out for a tally with {self.sample.described()}: the variance of a group depends "
                "on the whole sample; estimate by group, or add groups up with aggregate"
            )
        fields = {name: values[rows] for name, values in self._summed_fields().items()}
        kept = self._renumbered(new_numbers(rows, len(self.groups)))
        dropped = {} if np.any(self.unknown) else self.dropped  # the groups of invalid values are not known
        return replace(self, groups=tuple(self.groups[row] for row in rows), kept=kept, dropped=dropped, **fields)

    def summed(self, by: tuple[str, ...], keys: Sequence[Group], **more: Any) -> Tally:
        """Return the tally of the groups with these `keys`, one for each present group; equal keys are added up."""
        groups = in_order(keys)
        index = numbers_of(keys, groups)
        fields = self._summed_fields().items()
        sums: dict[str, Any] = {name: added_up(index, values, max(len(groups), 1)) for name, values in fields}
        sums = sums if by else {name: values[0] for name, values in sums.items()}
        law = self.design.law
        for name in ["counts"] * (law.sufficient == "histogram") + ["n"] * law.exclusive:  # which follow
            sums.pop(name, None)
        facts = {name: getattr(self, name) for name in ("dropped", "skipped_files", "backend")}
        facts |= {"kept": self._renumbered(index), **more}
        return Tally(self.design, by=by, groups=groups if by else (), **sums, **facts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        mine, theirs = (
            (one.design, one.by, one.groups, None if one.sample is None else one.sample.to_dict())
            for one in (self, other)
        )
        arrays = (name for name in SUMMED if name != "people")
        return mine == theirs and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in arrays)

    def __hash__(self) -> int:
        return hash((self.design, self.by, self.groups, self.counts.sum()))

    # Files

    def to_dict(self) -> Document:
        """Return the tally as a JSON document: the design, and counts with a row for each group."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "design": self.design.to_dict(),
            "counts": self.counts.tolist(),
            **({} if self.design.law.exclusive else {"n": np.asarray(self.n).tolist()}),
            **({} if self.histogram is None else {"histogram": self.histogram.tolist()}),
            **self._groups_document(),
            "squares": None if self.squares is None else np.asarray(self.squares).tolist(),
            **({} if self.people is None else {"people": np.asarray(self.people).tolist()}),
            **({} if self.sample is None else {"sample": self.sample.to_dict()}),
            **skipped_fields(self.skipped_files),
        }

    @classmethod
    def from_dict(cls, fields: Document) -> Tally:
        """Read a document of `to_dict`; anything else raises an error that names the reason."""
        names = {"design", "counts", "missing", "unknown", "by", "groups", "squares"}
        checked(fields, FORMAT, VERSION, names, frozenset({"n", "histogram", "sample", "people", "skipped_files"}))
        try:
            numbers: dict[str, Any] = {name: _json_numbers(name, fields.get(name)) for name in SUMMED}
            sample = None if "sample" not in fields else sample_from_dict(fields, cls.from_dict)
            more = grouping_from_json(fields)
            read = cls(design_from_dict(fields["design"]), **more, **numbers, sample=sample)
            return read if sample is None else refuse_other_sums(sample, read)
        except (TypeError, ValueError) as error:
            reason = str(error).removeprefix(DAMAGED_TALLY)  # of the cells of a sample
            raise ValueError(f"{DAMAGED_TALLY}{reason}") from None

    @classmethod
    def from_json(cls, text: str) -> Tally | Pool:  # type: ignore[override]
        """Read a tally or a pool from JSON; anything else raises an error that names the reason."""
        fields = parsed(text, FORMAT)
        return Pool.from_dict(fields) if fields.get("format") == POOL_FORMAT else cls.from_dict(fields)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Tally | Pool:  # type: ignore[override]
        """Read a tally that `save` wrote, or a pool."""
        return loaded(path, cls.from_json)

    def __repr__(self) -> str:
        totals = self.counts.sum(axis=0) if self.by else self.counts
        shown = zip(totals[:COUNTS_IN_REPR], self.design.law.columns[:COUNTS_IN_REPR], strict=True)
        listed = ", ".join(f"{amount(number)} {label!r}" for number, label in shown)
        listed += ", ..." if totals.size > COUNTS_IN_REPR else ""
        kinds = f"among {totals.size:,} {'answers' if self.counts_answers else 'outputs'}"
        drawn = "" if self.sample is None else f", {printable(self.sample.described())}"
        skipped = counted(len(self.skipped_files), "file", "files")
        more = f"; {skipped} skipped" if self.skipped_files else ""
        return f"<{self._described(kinds, drawn, listed)}{more}>"


def grouping_from_json(fields: Document) -> dict[str, Any]:
    by, groups = fields["by"], fields["groups"]
    if not isinstance(by, list) or not isinstance(groups, list) or any(not isinstance(group, list) for group in groups):
        raise ValueError("by must be a list of names, and groups a list of lists of values")
    skipped = fields.get("skipped_files", {})
    if not isinstance(skipped, dict) or any(not isinstance(reason, str) for reason in skipped.values()):
        raise ValueError("skipped_files must be names of files with texts")
    return {"by": tuple(by), "groups": tuple(map(tuple, groups)), "skipped_files": skipped}


def refuse_grouping(by: tuple[str, ...], groups: tuple[Group, ...], columns: AbstractSet[str] = RESULTS) -> None:
    """Raise an error for names that clash with `columns` of a result, or groups that are not distinct."""
    if not isinstance(by, tuple) or any(not isinstance(name, str) or not name for name in by):
        raise ValueError(f"by must be a tuple of names that are not empty, but got {by!r}")
    if twice := [name for index, name in enumerate(by) if name in by[:index]]:
        raise ValueError(f"by must name each column once, but {twice[0]!r} occurs twice")
    if clash := columns & set(by):
        raise ValueError(f"by must not name a group {min(clash)!r}, which is a column of the result; rename it")
    if not isinstance(groups, tuple) or any(not isinstance(group, tuple) for group in groups):
        raise ValueError("groups must be a tuple of tuples, with one value for each name in by")
    for value in (value for group in groups for value in group):
        if not isinstance(value, str | int | float | None) or (isinstance(value, float) and not math.isfinite(value)):
            raise ValueError(f"groups must hold strings, finite numbers or None, but one holds {reprlib.repr(value)}")
    if any(len(group) != len(by) for group in groups) or len(set(groups)) < len(groups):
        raise ValueError("groups must be distinct, with one value for each name in by")


def _json_numbers(name: str, value: object) -> PerGroup:
    """Read a number or lists of numbers, more strictly than NumPy."""
    if value is None and name in {"n", "histogram", "squares", "people"}:
        return None
    rows = value if isinstance(value, list) else [value]
    cells = [cell for row in rows for cell in (row if isinstance(row, list) else [row])]
    strange = [cell for cell in cells if type(cell) not in {int, float}]
    if strange:
        raise ValueError(f"{name} must be numbers, but holds {reprlib.repr(strange[0])}")
    if len({len(row) if isinstance(row, list) else None for row in rows}) > 1:
        raise ValueError(f"{name} must have lists of one length, one for each group")
    return np.array(value)[()]


def refuse_design(design: object, usage: str) -> None:
    if isinstance(design, Device):
        listed_design(design)  # whose error has a remedy for a device without a list of answers
    elif not isinstance(design, Design):
        raise TypeError(
            f"design must be a design, such as a RandomizedResponse, but got {type(design).__name__}: {usage}"
        )


def in_order(groups: Iterable[Group]) -> tuple[Group, ...]:
    """Return the distinct groups, in their fixed order."""
    return tuple(sorted(set(groups), key=group_order))


def numbers_of(keys: Iterable[Group], groups: Iterable[Group]) -> list[int]:
    """Return the position of each key among the groups."""
    positions = {group: position for position, group in enumerate(groups)}
    return [positions[key] for key in keys]


def group_order(group: Group) -> tuple[tuple[bool, bool, object], ...]:
    """Sort key of a group, for every engine: numbers, texts of numbers (1, 2, 10), other texts, missing values."""

    def key(value: object) -> object:
        if not isinstance(value, str):
            return 0 if value is None else value
        numeric = NUMERIC.fullmatch(value) is not None
        return not numeric, float(value) if numeric else 0.0, value

    return tuple((value is None, isinstance(value, str), key(value)) for value in group)


# Pools


POOL_FORMAT = "warner pool"


def _total(name: str, meaning: str) -> Any:
    """Property of a pool: the sum over its collections."""
    return property(lambda tallies: sum(getattr(part, name) for part in tallies.parts), doc=meaning)


@dataclass(frozen=True, repr=False)
class Pool(Saved):
    """Reports on the same answers collected under several designs; each respondent answers under one.

    Made by `pool`. `warner.estimate` maximizes the likelihood of all reports, with intervals from the efficient
    combination of the collections. It assumes that all collections come from the same population, which `warner.check`
    tests.

    Attributes
    ----------
    parts : tuple of Tally
        The collections, with the same answers and the same groups.
    """

    parts: tuple[Tally, ...]
    _format = POOL_FORMAT
    sample = None  # complex samples are not pooled
    counts_answers = False  # counts under several designs cannot be shown next to the answers
    n = _total("n", "Number of reports in all collections, of each group.")
    missing = _total("missing", "Number of rows left out because the value was missing.")
    unknown = _total("unknown", "Number of rows left out because the value was not in the domain.")
    effective = _total("effective", "Effective number of reports, of each group.")

    @property
    def domain(self) -> Labels:
        """The possible answers, the same in all collections."""
        return self.parts[0].domain

    @property
    def k(self) -> int:
        """The number of possible answers, K."""
        return self.parts[0].k

    @property
    def by(self) -> tuple[str, ...]:
        """Names of the columns that define the groups."""
        return self.parts[0].by

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups, the same in all collections."""
        return self.parts[0].groups

    @property
    def skipped_files(self) -> Mapping[str, str]:
        """Files that were skipped, with the reasons."""
        return {file: reason for part in self.parts for file, reason in part.skipped_files.items()}

    @property
    def weighted(self) -> bool:
        """Return True if the counts of a collection are sums of weights."""
        return any(part.weighted for part in self.parts)

    @property
    def simple(self) -> bool:
        """Return True if this is a simple random sample, without weights; complex samples are not pooled."""
        return not self.weighted

    @property
    def answered(self) -> Mask:
        """Return True for groups with reports, of shape (groups,)."""
        return np.atleast_1d(self.n) > 0

    @property
    def backend(self) -> str | None:
        """The data-frame library of the first collection."""
        return self.parts[0].backend

    def squeezed(self, values: Counts) -> PerGroup:
        """Drop the axis of the groups if there are none."""
        return self.parts[0].squeezed(values)

    def group_names(self) -> list[str]:
        """Names of the groups; one empty name without groups."""
        return self.parts[0].group_names()

    def shown_epsilon(self) -> str:
        """Write the largest epsilon of one report among the collections, rounded up."""
        return max(self.parts, key=lambda part: part.design.epsilon).shown_epsilon()

    def aggregate(self, by: str | Sequence[str] = ()) -> Pool:
        """Add up groups of all collections; see `Tally.aggregate`."""
        return Pool(tuple(part.aggregate(by) for part in self.parts))

    def filter(self, **columns: object) -> Pool:
        """Select the groups with these values in all collections; see `Tally.filter`."""
        return Pool(tuple(part.filter(**columns) for part in self.parts))

    def to_dict(self) -> Document:
        """Return the pool as a JSON document: its tallies."""
        return {"format": POOL_FORMAT, "version": VERSION, "parts": [part.to_dict() for part in self.parts]}

    @classmethod
    def from_dict(cls, fields: Document) -> Pool:
        """Read a document of `to_dict`; anything else raises an error that names the reason."""
        checked(fields, POOL_FORMAT, VERSION, {"parts"})
        parts = fields["parts"]
        read = [Tally.from_dict(part) for part in parts] if isinstance(parts, list) else []
        pooled = pool(read) if read else None
        if not isinstance(pooled, Pool) or len(pooled.parts) < len(read):
            raise ValueError("this pool is damaged: parts must be several tallies of different designs")
        return pooled

    def __repr__(self) -> str:
        reports = reports_counted(self.n, weighted=self.weighted)
        parts = "\n  ".join(map(repr, self.parts))
        return f"<Pool of {reports} of {len(self.parts)} designs among {self.k:,} answers:\n  {parts}>"


Collected: TypeAlias = Tally | Pool


def holds_every_answer(tally: Collected) -> bool:
    """Return True if the domain contains every answer, so that shares sum to one."""
    return all(part.design.law.exhaustive for part in tally.parts)


def refuse_uncounted(tally: object, usage: str) -> None:
    if not isinstance(tally, Tally | Pool):
        from warner.reports.open_tallies import OpenTally  # which loads all of open domains

        if isinstance(tally, OpenTally):
            raise TypeError(
                "tally must be of a design with a list of answers, but got reports of an open domain; warner.discover "
                "finds their frequent values, and tally.closed([...]) looks up a list"
            )
        raise TypeError(f"tally must be a Tally or a Pool, but got {type(tally).__name__}: {usage}")


def pool(tallies: Iterable[Tally]) -> Tally | Pool:
    """Combine tallies with the same answers that were collected under different designs.

    `warner.estimate` maximizes the likelihood of all reports, with a certificate, and intervals from the efficient
    combination of the collections. It assumes that all collections come from the same population, which `warner.check`
    tests. Tallies of one design are added up; if there is only one design, the result is a `Tally`.

    Parameters
    ----------
    tallies : iterable of Tally
        At least one; with the same names of groups, and all with weights or all without. A group that is missing in one
        has no reports there. Weights of all tallies must have one scale, such as members of the population per report.

    Examples
    --------
    With epsilon ln 3, 40 of 100 reports are "yes"; with ln 9, 34 of 100. Each alone gives 0.30.

    >>> from warner import RandomizedResponse, estimate
    >>> first = Tally(RandomizedResponse(["yes", "no"], odds=(3, 1)), [40, 60])
    >>> second = Tally(RandomizedResponse(["yes", "no"], odds=(9, 1)), [34, 66])
    >>> estimate(pool([first, second])).shares.round(3)
    array([0.3, 0.7])
    """
    parts = list(tallies) if isinstance(tallies, Iterable) else []
    wrong = [type(part).__name__ for part in parts if not isinstance(part, Tally)]
    if not parts or wrong:
        got = wrong[0] if wrong else type(tallies).__name__ if not isinstance(tallies, Iterable) else "none"
        remedy = "; reports of one open domain add up, tally + tally" if got == "OpenTally" else ""
        raise TypeError(f"tallies must be a list of at least one Tally, but got {got}{remedy}")
    first = parts[0]
    for part in parts:
        if part.domain != first.domain:
            mine, other = (f"{len(labels)} answers from {labels[0]!r}" for labels in (first.domain, part.domain))
            raise ValueError(
                f"tallies must be about the same answers, in the same order, to be pooled, but got {mine} and {other}"
            )
        if part.by != first.by:
            raise ValueError(f"tallies must have the same groups to be pooled, but got {first.by} and {part.by}")
        if part.weighted != first.weighted:
            raise ValueError("tallies must be all with weights or all without to be pooled")
        if part.design != first.design and (part.sample or first.sample) is not None:
            raise ValueError(
                "tallies with strata, clusters or replicate weights must be of one design to be put together"
            )
    groups = in_order(group for part in parts for group in part.groups)
    merged: dict[Design, Tally] = {}
    for part in parts:
        aligned = part.with_groups(groups)
        merged[part.design] = merged[part.design] + aligned if part.design in merged else aligned
    collections = tuple(merged.values())
    return collections[0] if len(collections) == 1 else Pool(collections)
