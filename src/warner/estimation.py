"""estimate, Estimate: the shares of a tally with log-likelihood, certificate and confidence intervals."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import starmap
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.designs.facts import full_symmetry
from warner.designs.labels import all_labels
from warner.designs.ordered import is_numeric
from warner.documents import Document, skipped_fields
from warner.estimators import UNBIASED, Certificate, Method, fitted, refuse_silent
from warner.estimators.auto import SQUARED_ERROR_ROUNDING, Choice, choices, choices_in_words
from warner.estimators.likelihood import CERTIFICATE_FIELDS, shortfall
from warner.estimators.methods import AUTO, MethodAsked, described, method_asked
from warner.estimators.projections import SUM_ROUNDING
from warner.inference.answer_tables import (
    FIRST_ROWS,
    NO_CLUSTERS,
    answers_shown,
    collected,
    groups_counted,
    largest_first,
    left_out,
    name_columns,
    respondents,
    respondents_column,
    rows_left_out,
    sample_column,
    sample_in_words,
    sample_notes,
    totals_of,
)
from warner.inference.checking import fit_warning
from warner.inference.comparisons import Comparison, remainder, unmirrored
from warner.inference.intervals import Confidence, Interval, interval, limits
from warner.inference.quantities import Quantities
from warner.reports.linearization import RESULT_COLUMN
from warner.reports.tallies import Collected, Pool, holds_every_answer, refuse_uncounted
from warner.results import Column, Estimates, Limits, TableResult, TableRows, group_column, group_columns
from warner.text import conjoined, counted
from warner.typesetting import amount_cells, count_cells, fragment, plain_table

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from warner.arrays import Array, Counts, Label, PerGroup
    from warner.designs.contract import Design
    from warner.inference.means import Mean, MeanComparison, Quantile
    from warner.inference.presence import Presence
    from warner.inference.ranking import Ranking
    from warner.inference.totals import Totals

ANSWERS_DRAWN = 30  # with a name each


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(TableResult):
    """Estimated shares of the true answers, with confidence intervals and diagnostics.

    Attributes
    ----------
    tally : Tally or Pool
        The counted reports, with their design.
    method : str
        The estimator: auto, a name of `warner.estimators.METHODS`, or the name of a custom function.
    shares : ndarray of shape (k,), or (groups, k)
        The estimated shares, in the domain's order; NaN for a group without reports.
    log_likelihood : float or ndarray of shape (groups,)
        Log-likelihood of the shares, in nats for all reports, without the multinomial coefficient; for stored reports,
        up to a constant that depends on the reports alone. NaN if a share is negative, or without a likelihood.
    certificate : Certificate or None
        Distance of the shares from the maximum of the likelihood; None if shares may not be a distribution, if a group
        has no reports, and if counts alone have no likelihood.
    choices : tuple of Choice
        For auto, the estimator of each group with reports, with predicted errors.
    """

    tally: Collected
    method: str
    shares: Array
    log_likelihood: PerGroup
    certificate: Certificate | None
    choices: tuple[Choice, ...] = ()
    _by_default: bool = False

    @property
    def design(self) -> Design:
        """Design of the reports; a pool has a design for each collection."""
        if isinstance(self.tally, Pool):
            raise AttributeError("a pool has several designs: see tally.parts")
        return self.tally.design

    def table(
        self, level: float = 0.95, *, target: str = "population", simultaneous: bool = False, anytime: bool = False
    ) -> dict[str, Counts]:
        """Return the estimate as columns, with a row for each answer (and group), in the domain's order.

        Parameters
        ----------
        level : float
            Confidence level of the intervals. With weights these use the effective number of reports, and are
            approximate.
        target : {"population", "realised"}
            Target of the intervals: the share in the population, or in the sample.
        simultaneous : bool
            Simultaneous coverage of the intervals of all answers of a group.
        anytime : bool
            Simultaneous coverage at all numbers of reports, for repeated analyses while reports arrive. The intervals
            are 1.6 to 2 times as wide for 100 to 10,000 reports.

        Returns
        -------
        dict of str to ndarray
            The names of `by`, then ``value``, ``reports`` (the count), ``share``, ``people`` (the share times the
            number of reports), ``se`` (standard error of the unbiased estimate; a count of 0 is replaced by half a
            report), ``low`` and ``high`` (the interval), and ``outside``: whether the share lies outside its own
            interval. This is the bias of the estimator, not an error: use the interval, or ``method="inv"``. For a
            complex sample also ``sample``: the basis of the design-based intervals. The arrays are read-only: copy a
            column to change it in place.
        """
        return dict(self._arrays(Confidence(level, target, simultaneous, anytime)))

    def _columns(self, *, rows: int | None = None, **options: Any) -> list[Column]:
        """Return the columns; for readers the first of two answers only, and with `rows` the largest shares first."""
        confidence = Confidence(**options)
        if (leading := self._leading(confidence)) is not None:
            return [*starmap(Column, self._arrays(confidence).items()), *leading.leading(rows)]
        table = self._of_interest(confidence)
        shown = self._rows_shown(table, rows)
        some, totals = {name: column[shown] for name, column in table.items()}, totals_of(self.tally, table)
        totals = None if totals is None else totals[shown]
        counts = []
        if "reports" in table:
            counts = [Column(heading="reports", texts=partial(count_cells, some["reports"], totals))]
        elif totals is not None:
            counts = [Column(heading="N", texts=partial(amount_cells, totals))]
        if self.tally.by and "respondents" in some:
            counts.append(Column(heading="respondents", texts=partial(amount_cells, some["respondents"])))
        error = some["se"] if self.tally.weighted or self.tally.sample is not None else None
        estimates = Estimates(some["share"], some["low"], some["high"], error, unit="share")
        interval = f"{self._kind_of_interval(confidence)}{confidence}"
        return [
            *starmap(Column, self._arrays(confidence).items()),
            *name_columns(self.tally, table, shown),
            *counts,
            *estimates.shown("share", interval, some["outside"].tolist()),
        ]

    def _rows_shown(self, table: dict[str, Counts], rows: int | None) -> NDArray[np.intp]:
        """Return the rows of a table that readers see: all, or the `rows` largest of each group."""
        return largest_first(self.tally, table, rows, ordered=self._ordered)

    def _title(self, *, rows: int | None = None, **options: Any) -> str:
        by = [groups_counted(self.tally)] if self.tally.by else []
        leading = self._leading(Confidence(**options))
        what = "shares" if leading is None else conjoined([one.name for one in leading.parts])
        estimated = f"Estimated {what} ({self._name()}) from {collected(self.tally)}"
        return ", ".join([estimated, *by, *left_out(self.tally)])

    def _foundations(self) -> list[str]:
        reports = ", ".join([f"N = {collected(self.tally)}", *left_out(self.tally), f"estimator {self._name()}"])
        return [reports, *(f"warning: {doubt}" for doubt in self.warnings())]

    def _footnotes(self, *, rows: int | None = None, **options: Any) -> list[str]:
        confidence, tally = Confidence(**options), self.tally
        leading = self._leading(confidence)
        notes = self._notes_on_shares(confidence, rows) if leading is None else leading.notes_on_answers(tally, rows)
        if confidence.anytime:
            notes.append("the intervals are valid however often you look while reports arrive")
        if tally.sample is not None:
            notes.append("; ".join([sample_in_words(tally, confidence), *self._sample_notes()]))
        elif tally.weighted:
            effective = f"{float(np.sum(tally.effective)):,.1f}"
            notes.append(f"intervals are approximate: weights count as {effective} reports; {NO_CLUSTERS}")
        return [*notes, *(f"warning: {doubt}" for doubt in self.warnings()), *self._why()]

    def _notes_on_shares(self, confidence: Confidence, rows: int | None) -> list[str]:
        table = self._of_interest(confidence)
        notes = rows_left_out(self.tally, table, rows)
        notes += [remainder(self.tally.domain)] if answers_shown(self.tally, table) == 1 else []
        if not self.tally.by:
            notes += [number.text() for number in self._mean_and_median(confidence) or ()]
        if table["outside"][self._rows_shown(table, rows)].any():
            notes.append(f"* outside its own interval: {self._estimator.outside}")
        return notes

    def _why(self) -> list[str]:
        if self.choices and self.choices[0].errors:
            return [choices_in_words(self.choices)]
        if self.choices:
            return [f"auto chose {self.choices[0].method}: {self._estimator.reason(self.tally)}"]
        return [f"the default here is {self.method}: {self._reason()}"] if self._reason() else []

    # What a page, a plot and a text all need is computed once for each `Confidence`, and kept.

    @cached_property
    def _cache(self) -> dict[tuple[str, Confidence], Any]:
        return {}

    def _kept(self, name: str, confidence: Confidence, compute: Callable[[], Any]) -> Any:
        if (name, confidence) not in self._cache:
            self._cache[name, confidence] = compute()
        return self._cache[name, confidence]

    def _limits(self, confidence: Confidence) -> Limits:
        """Return limits and standard errors of all shares, and the methods of the intervals."""
        found: Limits = self._kept("limits", confidence, lambda: limits(self.tally, confidence))
        return found

    def _approximate(self, confidence: Confidence) -> bool:
        return self.tally.weighted or not self._limits(confidence).exact

    def _kind_of_interval(self, confidence: Confidence) -> str:
        """Return the word before "interval": design-based, approximate, or nothing for exact intervals."""
        if self.tally.sample is not None:
            return "design-based "
        return "approximate " if self._approximate(confidence) else ""

    def _sample_notes(self) -> list[str]:
        return sample_notes(self.tally, self.method, {chosen.method for chosen in self.choices} or {self.method})

    def _arrays(self, confidence: Confidence) -> dict[str, Counts]:
        """Return the table with these intervals, as read-only arrays."""
        arrays: dict[str, Counts] = self._kept("arrays", confidence, lambda: self._tabulated(self._limits(confidence)))
        for column in arrays.values():
            column.flags.writeable = False
        return arrays

    def _of_interest(self, confidence: Confidence) -> dict[str, Counts]:
        """Return the table as readers see it: without the second of two complementary answers."""
        return unmirrored(self._arrays(confidence), self.tally.k)

    def _tabulated(self, ends: Limits) -> dict[str, Counts]:
        tally = self.tally
        groups = len(ends.low)
        shares = self.shares.reshape(groups, -1)
        values = all_labels(tally.domain)
        names = group_columns(tally.by, tally.groups, tally.k)
        reports = {"reports": tally.parts[0].counts.ravel()} if tally.counts_answers else {}
        return names | {
            "value": np.tile(values, groups) if groups > 1 else values,
            **reports,
            **respondents_column(tally),
            "share": shares.ravel(),
            "people": (shares * np.reshape(tally.n, (groups, 1))).ravel(),
            "se": ends.error.ravel(),
            "low": ends.low.ravel(),
            "high": ends.high.ravel(),
            "outside": np.logical_or(shares < ends.low, shares > ends.high).ravel(),
            **sample_column(tally),
        }

    def interval(
        self,
        answers: Label | Collection[Label] | None = None,
        *,
        level: float = 0.95,
        target: str = "population",
        simultaneous: bool = False,
        anytime: bool = False,
        method: str | None = None,
        cumulative: bool = False,
        above: float | None = None,
        below: float | None = None,
        within: tuple[float, float] | None = None,
        values: Any = None,
    ) -> Interval:
        """Return the confidence interval of the share of an answer, of a set of answers, or of every answer.

        It is based on the counts, not on the estimator.

        Parameters
        ----------
        answers : label or collection of labels, optional
            One answer, or a set whose shares are added up; every answer apart if not given. Under randomized response
            the interval of a set is about as wide as that of one answer. Where reports support several answers, it
            widens with their number, up to half of all answers.
        level, target, simultaneous, anytime
            As for `table`.
        method : {"clopper_pearson", "wilson", "exact", "score"}, optional
            For the population: ``clopper_pearson``, the default, is exact in the sense of *at least*; ``wilson`` is
            narrower, and approximate. For the share in the sample: ``exact``, the default, is so in the same sense; for
            very many reports (a variance above 100,000) the default is ``score``, which is approximate.
        cumulative : bool
            Give the intervals of the shares of all answers up to each, in the domain's order.
        above, below, within : number, or two of them
            The share of numeric answers above or below a number, or within two, both of them included. The result is a
            `ShareBeyond`, which has a ``value`` and a standard error as well.
        values : mapping, sequence or "numbers", optional
            With `above`, `below` or `within`: the number of each answer, as for `mean`.

        Examples
        --------
        >>> from warner import RandomizedResponse, Tally
        >>> survey = RandomizedResponse(["never", "once", "often"], odds=(2, 1))
        >>> result = estimate(Tally(survey, [400, 350, 250]))
        >>> result.interval("once")
        28.2 to 52.2 %, 95 % interval (population), clopper_pearson
        >>> result.interval(["once", "often"])  # at least once
        27.6 to 52.2 %, 95 % interval (population), clopper_pearson
        """
        confidence = Confidence(level, target, simultaneous, anytime)
        if above is not None or below is not None or within is not None:
            if answers is not None or cumulative or method is not None:
                raise TypeError("give answers, cumulative or method, or one of above, below and within, not both")
            from warner.inference.totals import share_beyond

            bounds = {"above": above, "below": below, "within": within}
            return self._with_library(share_beyond(self.tally, self.shares, confidence, **bounds, values=values))
        if values is not None:
            raise TypeError("values are for above, below and within, the share beyond a number; give one of these")
        return self._with_library(interval(self.tally, answers, confidence, method=method, cumulative=cumulative))

    def mean(
        self, values: Any = None, *, level: float = 0.95, target: str = "population", anytime: bool = False
    ) -> Mean:
        """Estimate the mean of numeric answers, in each group, with its interval.

        The mean is always the unbiased estimate, to which its interval belongs, whatever the method of the shares.

        Parameters
        ----------
        values : mapping, sequence or "numbers", optional
            The number of each answer: a sequence in the order of the domain, or by the answers' names. If not given,
            the answers themselves, which must be integers or texts that are decimal numbers. For brackets, give their
            midpoints.
        level, target, anytime
            As for `table`.

        Examples
        --------
        Warner's question with two answers that count 0 and 1 drinks: the mean is the share of the second.

        >>> from warner import RandomizedResponse, Tally
        >>> result = estimate(Tally(RandomizedResponse([0, 1], truth="3/4"), [60, 40]))
        >>> result.mean()
        mean 0.300, 0.107 to 0.506, 95 % interval (population), clopper_pearson
        >>> often = RandomizedResponse(["never", "once", "often"], odds=(2, 1))
        >>> estimate(Tally(often, [400, 350, 250])).mean({"never": 0, "once": 1, "often": 5})
        mean 0.40, 0.00 to 0.90, approximate 95 % interval (population), linear
        """
        from warner.inference.means import mean

        return self._with_library(mean(self.tally, values, Confidence(level, target, anytime=anytime)))

    def standard_deviation(self, values: Any = None, *, level: float = 0.95, target: str = "population") -> Mean:
        """Estimate the standard deviation of numeric answers, in each group, with its confidence interval.

        Parameters are those of `mean`. The interval for two values has the coverage of the interval of their share; the
        interval for three or more values is approximate.
        """
        from warner.inference.means import standard_deviation

        return self._with_library(standard_deviation(self.tally, values, Confidence(level, target)))

    def quantile(
        self,
        tau: float,
        values: Any = None,
        *,
        level: float = 0.95,
        target: str = "population",
        anytime: bool = False,
        method: str | None = None,
    ) -> Quantile:
        """Estimate a quantile of numeric answers, in each group: the smallest number with at least `tau` up to it.

        Its interval assumes nothing about the distribution, and is exact where those of cumulative shares are. Where
        there are many answers it is wide.

        Parameters
        ----------
        tau : float
            Between 0 and 1: 0.5 for the median.
        values, level, target, anytime
            As for `mean`.
        method : {"smooth"}, optional
            An interval, and a value, by the curves of `smooth`, for numbers in ascending order: several times narrower
            on a fine grid, and approximate, because it assumes that neighboring numbers are about equally common. The
            page "Numbers" has its measured coverage.

        Examples
        --------
        >>> from warner import RandomizedResponse, Tally
        >>> result = estimate(Tally(RandomizedResponse(range(5), odds=(20, 1)), [100, 300, 400, 150, 50]))
        >>> result.quantile(0.9)
        90 % quantile 3, 3 to 3, 95 % interval (population), clopper_pearson
        """
        confidence = Confidence(level, target, anytime=anytime)
        from warner.inference.means import quantile

        return self._with_library(quantile(self.tally, self.shares, tau, values, confidence, method=method))

    def median(
        self,
        values: Any = None,
        *,
        level: float = 0.95,
        target: str = "population",
        anytime: bool = False,
        method: str | None = None,
    ) -> Quantile:
        """Estimate the median: `quantile` at 0.5."""
        return self.quantile(0.5, values, level=level, target=target, anytime=anytime, method=method)

    @property
    def _ordered(self) -> bool:
        """Return True if answers have an order, by the designs or by the estimator."""
        return self._estimator.ordered or all(part.design.ordered for part in self.tally.parts)

    def _numbers(self, confidence: Confidence) -> tuple[Any, ...]:
        """Return mean, median and standard deviation if answers are ordered numbers; nothing otherwise."""
        if not self._ordered or not is_numeric(self.tally.domain):
            return ()
        from warner.inference.means import summary_of_numbers

        found = self._kept("numbers", confidence, lambda: summary_of_numbers(self.tally, self.shares, confidence))
        return tuple(map(self._with_library, found))

    def _mean_and_median(self, confidence: Confidence) -> tuple[Mean, Quantile] | None:
        mean, median, *_ = self._numbers(confidence) or (None, None)
        return None if mean is None else (mean, median)

    def _leading(self, confidence: Confidence) -> Quantities | None:
        """Return the numbers that readers see instead of shares; None to show shares."""
        numbers = () if self.tally.k == 2 else self._numbers(confidence)
        return Quantities(numbers) if numbers else None

    def _summaries(self, **options: Any) -> tuple[Any, ...]:
        """Return mean, median and standard deviation, if the text contains them; options are those of `table`."""
        confidence = Confidence(**options)
        if (leading := self._leading(confidence)) is not None:
            return leading.parts
        return () if self.tally.by else self._mean_and_median(confidence) or ()

    def compare_means(
        self, between: tuple[object, object], values: Any = None, *, level: float = 0.95, target: str = "population"
    ) -> MeanComparison:
        """Compare the means of two groups: their difference with its interval, and a test of equality.

        Exact, by Barnard's test, where reports are binomial in the mean; by the normal law elsewhere.

        Parameters
        ----------
        between : tuple of two groups
            The groups, of a tally with ``by``.
        values, level, target
            As for `mean`.
        """
        from warner.inference.means import compare_means

        return self._with_library(compare_means(self.tally, between, values, Confidence(level, target)))

    def compare(
        self,
        first: Label,
        second: Label | None = None,
        *,
        between: tuple[object, object] | None = None,
        level: float = 0.95,
        target: str = "population",
        test: str = "barnard",
    ) -> Comparison:
        """Compare two answers, or one answer between two groups: difference, ratio and a test of equality.

        Intervals for the population leave out equality exactly where the p-value is below 1 - ``level``. The test says
        what it is: exact wherever it can be, and normal from support counts alone, which do not tell enough.

        Parameters
        ----------
        first, second : label
            The answers; in each group, if there are groups.
        between : tuple of two groups, optional
            Compare the first answer between these groups, in the place of a second answer.
        level, target
            As for `table`.
        test : {"barnard", "fisher"}
            Between groups. Barnard's exact test is the stronger one; beyond 50,000 people Fisher's takes its place.

        Examples
        --------
        >>> from warner import RandomizedResponse, Tally
        >>> survey = RandomizedResponse(["never", "once", "often"], odds=(2, 1))
        >>> estimate(Tally(survey, [400, 350, 250])).compare("never", "often")
        'never' against 'often'
        difference (points)  95 % interval (population)  ratio, 95 % interval       p
                      +60.0              +40.1 to +80.4  3.59 or more          <0.001
        Exact test of equality in the population.
        """
        from warner.inference.comparisons import compare, compare_groups

        confidence = Confidence(level, target)
        if (second is None) == (between is None):
            raise TypeError("compare needs a second answer, or between=(group, group)")
        if between is not None:
            return self._with_library(compare_groups(self.tally, first, between, confidence, self.shares, test=test))
        return self._with_library(compare(self.tally, first, second, confidence, self.shares))

    def totals(self, population: Any = None, values: Any = None, *, level: float = 0.95) -> Totals:
        """Estimate the population total of each answer, or the total of a number, with intervals.

        Parameters
        ----------
        population : number, or a sequence with one for each group, optional
            Size of the population: totals are its products with the shares, or with the mean. If not given, weights
            must be members of the population per report, of a complex sample: totals are then sums of weights (Horvitz
            and Thompson), which also vary with the sum of all weights.
        values : mapping, sequence or "numbers", optional
            For the total of a number: the number of each answer, as for `mean`.
        level : float
            Confidence level of the intervals.

        Examples
        --------
        30 % of 10,777 people, with the limits of the share.

        >>> from warner import RandomizedResponse, Tally
        >>> result = estimate(Tally(RandomizedResponse(["yes", "no"], truth="3/4"), [40, 60]))
        >>> result.totals(population=10_777)
        Estimated totals
        value  total     se  95 % interval (population)
        yes    3,233  1,056              1,149 to 5,449
        no     7,544  1,056              5,328 to 9,628
        N = 100 reports, epsilon 1.099.
        Population size: known population.
        Method of the interval: clopper_pearson.
        """
        from warner.inference.totals import totals

        given = population, values, Confidence(level)
        return self._with_library(totals(self.tally, self.shares, *given, outside=self._estimator.outside))

    def commonest(self, count: int, *, level: float = 0.95, target: str = "population") -> Ranking:
        """Return the answers that are certainly among the `count` most common ones, and those that may be.

        Examples
        --------
        >>> from warner import RandomizedResponse, Tally
        >>> survey = RandomizedResponse(["never", "once", "often"], odds=(2, 1))
        >>> estimate(Tally(survey, [400, 350, 250])).commonest(2)
        Certainly among the 2 most common answers (95 % confidence, population):
          never, once
        """
        from warner.inference.ranking import ranking

        return self._with_library(ranking(self.tally, count, Confidence(level, target)))

    def present(self, *, level: float = 0.95, correction: str = "holm", power: float = 0.8) -> Presence:
        """Detect answers with a share above zero: those whose reports exceed the noise.

        Parameters
        ----------
        level : float
            One minus the family-wise error rate (``holm``), or the false discovery rate (``bh``).
        correction : {"holm", "bh"}
            Correction for the number of answers: Holm's is proven; Benjamini and Hochberg's, which detects more, is
            supported by simulation.
        power : float
            Probability of detection of the smallest detectable share.

        Examples
        --------
        >>> from warner import RandomizedResponse, Tally
        >>> survey = RandomizedResponse(["never", "once", "often"], odds=(2, 1))
        >>> estimate(Tally(survey, [400, 350, 250])).present()
        Detected answers (the family-wise error rate is at most 5 %):
          never, once
          a share of 16.65 % is detected with a probability of 80 %
        """
        from warner.inference.presence import presence

        return self._with_library(presence(self.tally, level=level, correction=correction, power=power))

    def _json_fields(self, **options: Any) -> Document:
        """Return design, method, reports, kind of intervals, and the rows; options are those of `table`."""
        tally, confidence = self.tally, Confidence(**options)
        left = {*tally.by, RESULT_COLUMN}
        values = {name: column for name, column in self._arrays(confidence).items() if name not in left}
        designs = [part.design.to_dict() for part in tally.parts]
        numbers = {one.name: one.to_dict() for one in self._numbers(confidence)}
        summaries = {"mean": numbers.pop("mean"), "quantiles": [numbers.pop("median")]} if numbers else {}
        summaries |= {name.replace(" ", "_"): one for name, one in numbers.items()}
        return {
            "format": "warner estimate",
            "version": 1,
            **({"design": designs[0]} if len(designs) == 1 else {"designs": designs}),
            "method": self.method,
            **({"reason": self._reason()} if self._reason() else {}),
            **({"choices": [chosen._asdict() for chosen in self.choices]} if self.choices else {}),
            "reports": np.asarray(tally.n).sum().item(),
            **({} if (people := respondents(tally)) is None else {"respondents": int(people.sum())}),
            "missing": int(np.sum(tally.missing)),
            "unknown": int(np.sum(tally.unknown)),
            **skipped_fields(self._skipped_files()),
            **{name: getattr(confidence, name) for name in ("level", "target", "simultaneous", "anytime")},
            "interval": self._limits(confidence).method,
            "approximate": self._approximate(confidence),
            **({} if tally.sample is None else {"sample": sample_in_words(tally, confidence)}),
            **({"sample_notes": self._sample_notes()} if self._sample_notes() else {}),
            "warnings": self.warnings(),
            **summaries,
            "values": TableRows(group_column(tally.by, tally.groups, tally.k) | values),
        }

    def text(self, *, rows: int = FIRST_ROWS, **options: Any) -> str:
        """Return the table for a terminal: the largest shares first, each with a bar.

        Parameters
        ----------
        rows : int
            Number of answers to print for each group.
        **options
            Options of `table`.
        """
        shown, confidence = self._printed(rows=rows, **options), Confidence(**options)
        if self._leading(confidence) is not None:
            return plain_table(shown)
        table = self._of_interest(confidence)
        shares = np.nan_to_num(table["share"]).clip(min=0)
        # A single share has no other beside it: its bar is a part of the whole.
        largest = 1.0 if shares.size == 1 else max(float(shares.max()), 1e-9)
        return plain_table(shown, bars=(shares[self._rows_shown(table, rows)] / largest).tolist())

    def _repr_html_(self) -> str:
        return fragment(self._printed(rows=FIRST_ROWS))

    def plot(
        self,
        *,
        level: float = 0.95,
        target: str = "population",
        simultaneous: bool = False,
        anytime: bool = False,
        rows: int = ANSWERS_DRAWN,
        cumulative: bool = False,
        title: str | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Plot the estimated shares with their intervals, next to the reported shares.

        Answers that are known to have an order, as those of a square wave, keep it; all others are drawn by their
        shares, the largest first. Of many groups, those with the most reports are drawn; all of them where they have an
        order.

        Parameters
        ----------
        level, target, simultaneous, anytime
            Of the intervals, as for `table`.
        rows : int
            Draw at most this many answers by name. If there are more, they are drawn by rank, without names; with
            groups, the most common ones are drawn. Of two answers the first is drawn, of at most this many groups. More
            ordered answers are drawn as an area over their axis, with their mean if they are numbers.
        cumulative : bool
            Draw the shares of all answers up to each, in the domain's order, with their limits: the distribution
            function, and the median of numbers that are known to have an order.
        title : str, optional
            The headline, such as the question that was asked. It is shown as it is: a dollar sign starts no formula.
        ax : matplotlib Axes, optional
            Where to draw; if not given, a new pyplot figure of a fitting size.

        Returns
        -------
        matplotlib Axes
            The axes that were drawn on; its figure is ``.figure``.
        """
        from warner.output.estimate_plots import estimate_picture

        confidence = Confidence(level, target, simultaneous, anytime)
        return estimate_picture(self, confidence, rows=rows, cumulative=cumulative, title=title).plot(ax)

    def save_plot(
        self,
        path: str | os.PathLike[str],
        *,
        level: float = 0.95,
        target: str = "population",
        simultaneous: bool = False,
        anytime: bool = False,
        rows: int = ANSWERS_DRAWN,
        cumulative: bool = False,
        title: str | None = None,
    ) -> None:
        """Plot the estimate to a PNG, SVG or PDF file, atomically; no display is needed.

        Parameters
        ----------
        path : path
            Where to write it; the format follows from its ending: .png, .svg or .pdf.
        level, target, simultaneous, anytime, rows, cumulative, title
            As for `plot`.
        """
        from warner.output.estimate_plots import estimate_picture

        confidence = Confidence(level, target, simultaneous, anytime)
        estimate_picture(self, confidence, rows=rows, cumulative=cumulative, title=title).save(path)

    def save_page(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        question: str | None = None,
        level: float = 0.95,
        target: str = "population",
        simultaneous: bool = False,
        anytime: bool = False,
    ) -> None:
        """Write one HTML page with results, their accuracy, and the method.

        The page stands alone and loads nothing from the network. It is written whole or not at all.

        Parameters
        ----------
        path : path
            Where to write the page.
        title : str, optional
            The page's headline.
        question : str, optional
            The question that people were asked, word for word.
        level, target, simultaneous, anytime
            Of the intervals, as for `table`.
        """
        from warner.output.pages import save_page

        save_page(self, path, Confidence(level, target, simultaneous, anytime), title=title, question=question)

    def _name(self) -> str:
        """Name of the estimator; for auto, also of its choice."""
        taken = list(dict.fromkeys(chosen.method for chosen in self.choices))
        return f"{self.method}: {', '.join(taken)}" if taken else self.method

    @property
    def _estimator(self) -> Method:
        """Properties of the estimator; for auto, of the choice for the first group."""
        return described(self.choices[0].method if self.choices else self.method)

    def warnings(self) -> list[str]:
        """Return warnings: values left out, reports that do not fit, shares all equal."""
        return list(self._warnings)

    @cached_property
    def _misfit(self) -> str:
        return fit_warning(self.tally)

    @cached_property
    def _warnings(self) -> list[str]:
        rows = np.atleast_2d(self.shares)
        silent = (rows == rows[:, :1]).all(axis=-1)  # because people are alike, or because no support exceeds the noise
        symmetric = all(full_symmetry(part.design.law) is not None for part in self.tally.parts)
        silent &= (
            symmetric and silent.any() and fitted(self.tally, UNBIASED)[0].max(axis=-1) < SQUARED_ERROR_ROUNDING**0.5
        )
        where = f" in {counted(int(silent.sum()), 'group', 'groups')}" if self.tally.by else ""
        nothing = f"no answer was supported more often than by noise alone{where}, so that all shares are the same"
        total = f"the shares do not sum to 100 %, because {self.method} gives no distribution"
        complete = holds_every_answer(self.tally)
        partly = complete and not described(self.method).valid and (np.abs(rows.sum(axis=-1) - 1) > SUM_ROUNDING).any()
        short = shortfall(self.certificate) if described(self.method).maximises_likelihood else ""
        messages = [*(part.left_out() for part in self.tally.parts), self._misfit, short, self._caution()]
        return [*filter(None, [*messages, nothing if silent.any() else "", total if partly else ""])]

    def _caution(self) -> str:
        answered = np.flatnonzero(self.tally.answered)
        parts = [(part.design, part.histograms(answered)) for part in self.tally.parts]
        return self._estimator.caution(np.atleast_2d(self.shares)[answered], parts)

    def _reason(self) -> str:
        """Reason for the default method; empty if the method was requested."""
        return self._estimator.reason(self.tally) if self._by_default else ""


def estimate(tally: Collected, *, method: MethodAsked = None, rng: np.random.Generator | None = None) -> Estimate:
    """Estimate the true shares behind counted reports.

    Parameters
    ----------
    tally : Tally or Pool
        The reports; each group is estimated separately.
    method : {"mle", "inv", "inv_n", "inv_p", "shrink", "smooth", "auto"}, a name of `estimators.METHODS`, or function
        The estimator; `warner.estimators` describes them. The default has the least error known: ``smooth`` for designs
        with ordered answers (square wave, cut-off response; up to 100 groups), ``shrink`` for one symmetric design with
        20 answers or more, without groups; elsewhere ``mle``, or ``inv_p`` if reports support several answers. ``auto``
        is `shrink` for one symmetric design with 20 answers or more, with groups too; elsewhere it chooses `mle`,
        `inv_p` or `inv_n`, in each group, by the smallest predicted error. A custom function of counts and design
        returns shares.
    rng : numpy.random.Generator, optional
        Source of randomness for ``auto``; seeded from the counts if not given, so that the choice is reproducible.

    Warns
    -----
    UserWarning
        If the reports do not fit the design, or the collections of a pool do not fit one population; see `check`.

    Examples
    --------
    >>> from warner import RandomizedResponse, Tally
    >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
    >>> estimate(Tally(survey, [40, 60]))
    Estimated shares (mle) from 100 reports among 2 answers, epsilon 1.099
    value    reports  share (%)  95 % interval (population)
    yes    40 of 100       30.0                10.7 to 50.6  ███████
    The share of 'no' is 100 % minus that of 'yes'.
    """
    result = estimated(tally, method=method, rng=rng)
    if result._misfit:
        warnings.warn(result._misfit, stacklevel=2)
    return result


def estimated(tally: Collected, *, method: MethodAsked = None, rng: np.random.Generator | None = None) -> Estimate:
    """Estimate as `estimate` does, without a warning, for callers that pass on `Estimate.warnings`."""
    refuse_uncounted(tally, "estimate(Tally(design, counts))")
    chosen, custom = method_asked(method, tally)
    refuse_silent(tally)
    result = _auto(tally, rng) if chosen == AUTO else _by_method(tally, chosen, custom)
    return replace(result, _by_default=method is None)


def _by_method(tally: Collected, method: str, custom: Method | None = None) -> Estimate:
    shares, fits, proof = fitted(tally, method, custom)
    if proof is not None and not tally.by:
        proof = Certificate(*(tally.squeezed(getattr(proof, name)) for name in CERTIFICATE_FIELDS))
    return Estimate(tally, method, tally.squeezed(shares), tally.squeezed(fits), proof)


def _auto(tally: Collected, rng: np.random.Generator | None) -> Estimate:
    """Choose for each group the estimator with the smallest predicted error."""
    options = choices(tally, rng)
    estimates = {name: _by_method(tally, name) for name in dict.fromkeys(option.method for option in options)}
    first = next(iter(estimates.values()))
    if len(estimates) == 1:
        return replace(first, method=AUTO, choices=options)
    shares, fits = first.shares.copy(), first.log_likelihood.copy()
    proofs = None
    if first.certificate is not None:
        proofs = [getattr(first.certificate, name).copy() for name in CERTIFICATE_FIELDS]
    groups, taken_by = np.flatnonzero(tally.answered), np.array([option.method for option in options])
    for name, taken in estimates.items():
        mine = groups[taken_by == name]
        shares[mine], fits[mine] = taken.shares[mine], taken.log_likelihood[mine]
        for proof, fact in zip(proofs or (), CERTIFICATE_FIELDS, strict=False):
            proof[mine] = getattr(taken.certificate, fact)[mine]
    return Estimate(tally, AUTO, shares, fits, None if proofs is None else Certificate(*proofs), options)
