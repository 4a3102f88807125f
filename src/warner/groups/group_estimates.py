"""Shares of many groups, partially pooled: `estimate_groups`, and what it gives, `GroupEstimates`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import starmap
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtrc

from warner.designs.labels import all_labels
from warner.designs.ordered import is_numeric
from warner.documents import Document, skipped_fields
from warner.estimators import refuse_silent
from warner.estimators.projections import nearest_shares
from warner.groups.fay_herriot import (
    FEWEST_GROUPS_FOR_ANY_LAW,
    DirectEstimates,
    Pooled,
    all_partially_pooled,
    direct_estimates,
    shares_under_any_law,
)
from warner.groups.group_intervals import (
    ALIKE,
    COVERAGE_WORDS,
    HETEROGENEITY_TOLERANCE,
    GroupIntervals,
    GroupMeans,
    GroupRanks,
    GroupTest,
    NotBinomialError,
    agreeing_interval,
    binomial_counts,
    check_kind,
    cochran_test,
    conditional_test,
    exact_limits,
    expected_ranks,
    group_means,
    interval_heading,
    pooled_share,
    pooled_sum,
    q_profile,
    squared_correlations,
    summed_cochran_test,
)
from warner.groups.random_walk import (
    Covariates,
    RandomWalks,
    Series,
    axis_of_values,
    group_covariates,
    has_position,
    ordered_series,
    without_position,
)
from warner.inference.answer_tables import (
    FIRST_ROWS,
    ROWS_OF_ALL_GROUPS,
    answers_shown,
    collected,
    groups_counted,
    respondents,
    respondents_column,
)
from warner.inference.comparisons import remainder, unmirrored
from warner.inference.intervals import mirrored, positions_of
from warner.reports.counts import refuse_options_together
from warner.reports.tallies import Collected, holds_every_answer, refuse_uncounted
from warner.results import Column, Estimates, TableResult, TableRows, critical_value, group_column, group_columns, plain
from warner.simulate import seeded_by
from warner.text import counted, enumerated, level_text, points, printable, quoted
from warner.typesetting import amount_cells, fragment, labels, percent_cells, plain_table

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes

    from warner.arrays import Array, Counts, Label, PerGroup
    from warner.inference.binomial import Binomial


FORMAT = "warner group estimates"
ENOUGH = 0.8  # weight of the groups' own reports from which on separate estimates are as good
GROUPS_ADVISED, CELLS_ADVISED = 5, 10**6  # groups, and shares, for which it is looked up whether to pool them
SIZES_MATTER = 3.3  # standard errors of a correlation with the size of groups that are more than chance, p = 0.001
ANSWERS_NAMED = 5  # answers whose spreads are named in a sentence
GROUP_COLUMNS = {"value", "reports", "respondents", "share", "se", "low", "high", "own"}  # columns of the table

OWN_EXPLAINED = "own (%) is the weight of the group's own reports in a share; the rest comes from the other groups"
OWN_OF_MEANS = (
    "own (%) is the weight of the group's own reports in a mean; the rest comes from the other groups; the shares of "
    "the answers are in table() and interval() (--csv)"
)
ANY_LAW_EXPLAINED = (
    "groups form clusters, or some lie far out: shares are shrunk toward the most likely distribution of the shares "
    "(nonparametric maximum likelihood), not to their mean; own and the widths of intervals are those of a normal "
    "distribution"
)


@dataclass(frozen=True, eq=False, repr=False)
class GroupEstimates(TableResult):
    """Shares of many groups, each shrunk toward the others; noisier groups are shrunk more.

    Attributes
    ----------
    tally : Tally or Pool
        The counted reports, by group; groups that `on` has besides are there without reports.
    shares : ndarray of shape (groups, k)
        The partially pooled shares, each row a distribution where the domain holds everybody's answer. A group without
        reports has a share as well.
    errors : ndarray of shape (groups, k)
        Their standard errors, with what is not known of the spread between groups.
    own : ndarray of shape (groups, k)
        The weight of the group's own reports in its share, from 0 to 1; the rest comes from the other groups.
    overall : ndarray of shape (k,)
        The mean shares that groups are drawn to, where there are no covariates and no order.
    spread : float or ndarray of shape (k,)
        The standard deviation of the shares between groups, the most likely one, which may be 0: of the first of two
        answers, or of each. With covariates it is that about the regression; along an order, that of one step.
    on : tuple of str
        The covariates.
    along : str or None
        The column along which the shares follow a random walk.
    law : {"normal", "any"}
        The law of the shares between groups: "normal", or "any" where a hundred groups or more form clusters or lie far
        out, so that the most likely law of all is much more likely than a beta law. Shares are then means under it.
    """

    tally: Collected
    shares: Array
    errors: Array
    own: Array
    overall: Array
    spread: PerGroup
    on: tuple[str, ...]
    along: str | None
    covariates: Covariates
    series: Series | None
    law: str = "normal"

    @cached_property
    def direct(self) -> list[DirectEstimates]:
        """The direct estimates of the shares, one for each answer; of two answers, of the first alone."""
        return direct_estimates(self.tally, [[0]] if self._mirrored else None)

    @cached_property
    def _mirrored(self) -> bool:
        return _mirrored(self.tally)

    @property
    def numeric(self) -> bool:
        """True if answers are ordered numbers, of which readers see means."""
        ordered = self.tally.k > 2 and all(part.design.ordered for part in self.tally.parts)
        return ordered and is_numeric(self.tally.domain)

    def table(self, level: float = 0.95, *, kind: str = "average") -> dict[str, Counts]:
        """Return the shares as columns, a row for each group and answer.

        Parameters
        ----------
        level : float
            Of the intervals.
        kind : {"average", "each"}
            Whether intervals hold on average over the groups, or for each of them. Of those that hold on average, 95 %
            contain their share, but fewer of groups unlike the others, which are shrunk toward them. Those for
            each group are wider, and exact where the share shows in a binomial count (FAB limits of Yu and Hoff).

        Returns
        -------
        dict of str to ndarray
            The names of `by`, then ``value``, ``reports`` (of the group), ``share``, ``se``, ``low``, ``high`` and
            ``own``: the weight of the group's own reports.
        """
        return super().table(level, kind=kind)

    def arrays(self, level: float, kind: str) -> dict[str, Counts]:
        """Return the columns of `table`."""
        tally, groups = self.tally, len(self.tally.groups)
        low, high = self.limits(level, kind)
        return group_columns(tally.by, tally.groups, tally.k) | {
            "value": np.tile(all_labels(tally.domain), groups),
            "reports": np.repeat(np.atleast_1d(tally.n), tally.k),
            **respondents_column(tally),
            "share": self.shares.ravel(),
            "se": self.errors.ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
            "own": self.own.ravel(),
        }

    def _columns(self, level: float = 0.95, *, kind: str = "average", rows: int | None = None) -> list[Column]:
        """Return the columns; readers see the first of two answers alone, and with `rows` a part of the rows."""
        arrays = self.arrays(level, kind)
        if self.numeric:
            means = self.mean(level=level, kind=kind)
            readers = (means if rows is None else means.first_groups(rows))._columns()
            headed = [Column(heading=one.heading, texts=one.shown) for one in readers if one.heading]
            return [*starmap(Column, arrays.items()), *headed]
        table = unmirrored(arrays, self.tally.k)
        shown, *_ = self._rows_shown(table, rows)
        table = {name: column[shown] for name, column in table.items()}
        error = None if self.tally.simple else table["se"]
        estimates = Estimates(table["share"], table["low"], table["high"], error, unit="share")
        amounts = [name for name in ("reports", "respondents") if name in table]
        return [
            *starmap(Column, arrays.items()),
            *(Column(heading=name, texts=labels(table[name])) for name in (*self.tally.by, "value")),
            *(Column(heading=name, texts=partial(amount_cells, table[name])) for name in amounts),
            Column(heading="own (%)", texts=partial(percent_cells, table["own"], 0)),
            *estimates.shown("share", self.interval_name(level, kind)),
        ]

    def _rows_shown(self, table: dict[str, Counts], rows: int | None) -> tuple[Any, int, int]:
        """Return the rows of the first groups and largest shares, and the numbers of groups and answers left out."""
        answers, groups = answers_shown(self.tally, table), len(self.tally.groups)
        if rows is None:
            return slice(None), 0, 0
        some = min(rows, groups)
        few = min(answers, FIRST_ROWS, max(ROWS_OF_ALL_GROUPS // max(some, 1), 1))
        order = np.tile(range(answers), (some, 1))
        if few < answers:
            order = np.argsort(-table["share"].reshape(-1, answers)[:some], axis=1, kind="stable")[:, :few]
        return (order + answers * np.arange(some)[:, np.newaxis]).ravel(), groups - some, answers - few

    def _title(self, *_: Any, **__: Any) -> str:
        on = f", on {printable(enumerated(list(self.on)))}" if self.on else ""
        along = f", along {printable(self.along)}" if self.along else ""
        of = f"{'means' if self.numeric else 'shares'} of {groups_counted(self.tally)}"
        return f"Partially pooled {of}{on}{along}, from {collected(self.tally)}"

    def _footnotes(self, level: float = 0.95, *, kind: str = "average", rows: int | None = None) -> list[str]:
        tally, table = self.tally, self.of_interest(level, kind)
        _, groups, answers = self._rows_shown(table, rows)
        left = [counted(groups, "more group", "more groups")] * bool(groups)
        left += [f"{counted(answers, 'more answer', 'more answers')} in each group"] * bool(answers)
        one_answer = answers_shown(tally, table) == 1
        return [
            *[f"... and {', '.join(left)}"] * bool(left),
            *[remainder(tally.domain)] * one_answer,
            OWN_OF_MEANS if self.numeric else OWN_EXPLAINED,
            *[ANY_LAW_EXPLAINED] * (self.law == "any"),
            *([] if self.numeric else [self._spread_note(level)]),
            self.test().text(),
            self.explanation(level, kind),
            *(f"warning: {doubt}" for doubt in self.warnings()),
        ]

    def _spread_note(self, level: float) -> str:
        step = "spread about the regression" if self.on else "spread between groups"
        name, roughly = ("one step", "") if self.along else (step, ", if shares are roughly normal")
        ends = zip(*map(np.atleast_1d, (self.spread, *self.spread_interval(level))), strict=True)
        # An end just above 0 is not written as 0, which the test leaves out.
        spreads = [
            f"{points(spread)} ({level_text(level)} interval "
            f"{'above 0' if 0 < low <= HETEROGENEITY_TOLERANCE else f'{100 * low:.3g}'} to {100 * high:.3g}"
            for spread, low, high in ends
        ]
        if len(spreads) == 1:
            return f"{name}: {spreads[0]}{roughly})"
        order = np.argsort(-np.nan_to_num(self.overall), kind="stable")[:ANSWERS_NAMED].tolist()
        named = "; ".join(f"{quoted(self.tally.domain[index])} {spreads[index]})" for index in order)
        most = f" of the {ANSWERS_NAMED} most common answers" if len(spreads) > ANSWERS_NAMED else ""
        return f"{name}{most}{roughly}: {named}"

    def of_interest(self, level: float, kind: str) -> dict[str, Counts]:
        """Return the table as readers see it: of two answers that mirror each other, the first alone."""
        return unmirrored(self.arrays(level, kind), self.tally.k)

    def limits(self, level: float, kind: str) -> tuple[Array, Array]:
        """Return the ends of the intervals of all shares, of shape (groups, k)."""
        reach = critical_value(level)
        check_kind(kind)
        if kind == "each":
            each = [self._exact_limits_of(level, index) for index in range(self.tally.k)]
            low, high = (np.stack(ends, axis=1) for ends in zip(*each, strict=True))
        else:
            low, high = (np.clip(self.shares + side * reach * self.errors, 0, 1) for side in (-1, 1))
        return low, high

    def answer_limits(self, index: int, level: float, kind: str) -> tuple[Array, Array]:
        """Return the ends of the intervals of one answer's share, of shape (groups,), without those of the others."""
        critical_value(level)
        if kind == "each":
            return self._exact_limits_of(level, index)
        low, high = self.limits(level, kind)
        return low[:, index], high[:, index]

    @cached_property
    def _answer_limits(self) -> dict[tuple[float, int], tuple[Array, Array]]:
        return {}

    def _exact_limits_of(self, level: float, index: int) -> tuple[Array, Array]:
        """Return the ends of the exact intervals of one answer's share, which are cached."""
        if self._mirrored and index == 1:
            low, high = self._exact_limits_of(level, 0)
            return 1 - high, 1 - low
        if (level, index) not in self._answer_limits:
            direct, matrix = self.direct[index], self.covariates.matrix
            self._answer_limits[level, index] = exact_limits(self.tally, None, index, direct, matrix, level, self.along)
        return self._answer_limits[level, index]

    def interval(
        self, answers: Label | Collection[Label] | None = None, *, level: float = 0.95, kind: str = "average"
    ) -> GroupIntervals:
        """Compute the intervals of one answer's share in all groups, of a set of answers, or of every answer.

        Parameters
        ----------
        answers : label or collection of labels, optional
            One answer, or a set whose shares are added up; every answer apart if not given.
        level, kind
            As for `table`.
        """
        if answers is None:
            return GroupIntervals(self.tally, *self.limits(level, kind), level, kind)
        one = isinstance(answers, str) or not isinstance(answers, Iterable)
        selected = positions_of([answers] if one else list(answers), self.tally.domain)  # type: ignore[list-item,arg-type]
        if len(set(selected)) < len(selected) or not 0 < len(selected) < self.tally.k:
            raise ValueError(f"answers must be different answers, at least one and not all, but got {answers!r}")
        if len(selected) > 1:
            _, low, high = pooled_sum(self, [selected], level, kind)
        else:
            low, high = self.answer_limits(selected[0], level, kind)
        return GroupIntervals(self.tally, low, high, level, kind)

    def mean(self, values: Any = None, *, level: float = 0.95, kind: str = "average") -> GroupMeans:
        """Estimate the mean of answers that are numbers, or have numbers, in each group.

        Means are partially pooled as shares are: noisier means are shrunk more.

        Parameters
        ----------
        values : mapping, sequence or "numbers", optional
            The number of each answer, as for `Estimate.mean`.
        level, kind
            As for `table`.
        """
        return self._with_library(group_means(self, values, level, kind))

    def spread_interval(self, level: float = 0.95) -> tuple[PerGroup, PerGroup]:
        """Compute the interval of the spread between groups; one for each of more than two answers.

        It holds if the shares of groups are roughly normal about their mean (or the regression): Viechtbauer's
        Q-profile. Along an order it is the profile-likelihood interval of a step.
        """
        critical_value(level)
        if self.series is None:
            ends = [
                q_profile(direct, self.covariates.matrix, level) if direct.informative.any() else (np.nan, np.nan)
                for direct in self.direct
            ]
        else:
            ends = [walk.limits(level) if walk.direct.informative.any() else (np.nan, np.nan) for walk in self._walks]
        low, high = np.array(ends).T
        if not self._mirrored:
            return low, high
        first, last = float(low[0]), float(high[0])
        return (first, last) if self._test.approximate else agreeing_interval(first, last, self._test, level)

    @cached_property
    def _walks(self) -> list[RandomWalks]:
        assert self.series is not None
        return [RandomWalks(direct, self.series) for direct in self.direct]

    def test(self) -> GroupTest:
        """Test whether all groups have the same shares; with covariates, whether they lie on the regression.

        Along an order the hypothesis is that nothing changes, against a random walk.

        Examples
        --------
        >>> from warner import RandomizedResponse, Tally
        >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
        >>> counts = [[40, 60], [45, 55], [65, 35], [38, 62], [48, 52]]
        >>> towns = Tally(survey, counts, by=("town",), groups=(("A",), ("B",), ("C",), ("D",), ("E",)))
        >>> estimate_groups(towns).test()
        Test that all groups are alike: p = 0.004 (exact, conditional likelihood ratio 18.58, one-sided p = 0.002)
        """
        hypothesis = "nothing changes" if self.along else "all groups lie on the regression" if self.on else ALIKE
        return replace(self._test, tally=self.tally, hypothesis=hypothesis)

    @cached_property
    def _test(self) -> GroupTest:
        if self.series is not None:
            return _walk_test(self._walks)
        if self._mirrored:
            counts = None if self.on else _counts_of_first(self.tally)
            exact = None if counts is None else conditional_test(counts)
            return exact or cochran_test(self.direct[0], self.covariates.matrix)
        identified = [index for index, direct in enumerate(self.direct) if direct.informative.any()]
        squared = squared_correlations(self.tally, identified, np.nan_to_num(self.overall), self._rng())
        return summed_cochran_test([self.direct[index] for index in identified], self.covariates.matrix, squared)

    def _rng(self) -> np.random.Generator:
        return seeded_by(np.concatenate([np.ravel(part.counts) for part in self.tally.parts]))

    def ranks(self, answer: Label | None = None, *, count: int = 1, level: float = 0.95) -> GroupRanks:
        """Compute the expected rank of each group by the share of an answer, 1 for the largest, with its range.

        Parameters
        ----------
        answer : label, optional
            The answer; of two the first if not given.
        count : int
            For the probability of being among the first `count`.
        level : float
            Of the ranges.
        """
        index = self.index_of(answer)
        groups = len(self.tally.groups)
        if not isinstance(count, int | np.integer) or not 1 <= count <= groups:
            raise ValueError(f"count must be a whole number from 1 to {groups:,}, the number of groups, got {count!r}")
        critical_value(level)
        seed = int(self._rng().integers(2**31))
        found = expected_ranks(self.shares[:, index], self.errors[:, index], int(count), level, seed)
        return GroupRanks(self.tally, self.tally.domain[index], *found, int(count), level)

    def index_of(self, answer: Label | None) -> int:
        """Return the position of an answer in the domain; of two answers the first by default."""
        if answer is not None:
            return positions_of([answer], self.tally.domain)[0]
        if self.tally.k > 2:
            names = enumerated([quoted(label) for label in self.tally.domain])
            raise ValueError(f"answer must be named, because there are more than two: {names}")
        return 0

    def warnings(self) -> list[str]:
        """Return warnings: too few groups, enough reports in each group, or shares related to group sizes."""
        return list(self._warnings)

    @cached_property
    def _warnings(self) -> list[str]:
        warnings = [
            *filter(None, (*(part.left_out() for part in self.tally.parts), without_position(self.tally, self.along)))
        ]
        if self.tally.answered.sum() < 2:
            return [*warnings, "there is one group with reports, and nothing to pool: its share is its own"]
        weight = np.nan_to_num(self.shares * self.own).sum() / max(float(np.nan_to_num(self.shares).sum()), 1e-12)
        if weight > ENOUGH and self.law == "normal":
            warnings.append(
                f"groups have enough reports of their own ({100 * weight:.0f} % of each share comes from them): "
                "separate estimates are as good (warner.estimate)"
            )
        if self._sizes_matter():
            warnings.append(
                "shares depend on the size of groups, so small groups are shrunk toward large ones that differ; add "
                "the logarithm of the size to the covariates"
            )
        if np.isnan(self.shares[has_position(self.tally, self.along)]).any():
            warnings.append("some shares cannot be estimated: no group has reports that depend on them")
        return warnings

    def _sizes_matter(self) -> bool:
        """Return True if the residuals of the direct estimates are correlated with the log group size."""
        direct, some = self.direct[0], self.direct[0].informative
        n = np.atleast_1d(self.tally.n)[some]
        if self.series is not None or some.sum() < 5 or n.min() == n.max():
            return False
        mean = float(np.nan_to_num(self.overall[0]))
        between = (self.spread if self._mirrored else self.spread[0]) ** 2
        sizes = np.log(n)
        root = np.sqrt(1 / (direct.sampling_variance(mean, between)[some] + between))
        design = np.column_stack([self.covariates.matrix[some], sizes - sizes.mean()]) * root[:, np.newaxis]
        coefficients, _, rank, _ = np.linalg.lstsq(design, direct.share[some] * root, rcond=None)
        if rank < design.shape[1]:  # the size is among the covariates
            return False
        error = np.sqrt(np.linalg.inv(design.T @ design)[-1, -1])
        return bool(abs(coefficients[-1]) > SIZES_MATTER * error)

    def explanation(self, level: float, kind: str) -> str:
        """Return a sentence on the coverage of the intervals."""
        if kind == "each":
            return f"each of these intervals has coverage {level_text(level)} for its own group{self._neglected}"
        return (
            f"over all groups, about {level_text(level)} of these intervals contain the true share; a group unlike the "
            "others is shrunk toward them: for a claim about one group, see its own interval "
            f"(warner.estimate){self._neglected}"
        )

    @property
    def _neglected(self) -> str:
        if self.tally.sample is None:
            return ""
        drawn = self.tally.sample.described()
        return f"; each group has its effective number of reports ({drawn}), that groups share clusters is neglected"

    def interval_name(self, level: float, kind: str) -> str:
        """Return the heading of the intervals."""
        return interval_heading(level, kind, approximate=kind == "each" and not self.tally.simple)

    def _json_fields(self, level: float = 0.95, *, kind: str = "average") -> Document:
        tally = self.tally
        values = {name: column for name, column in self.arrays(level, kind).items() if name not in tally.by}
        designs = [part.design.to_dict() for part in tally.parts]
        return {
            "format": FORMAT,
            "version": 1,
            **({"design": designs[0]} if len(designs) == 1 else {"designs": designs}),
            "reports": np.asarray(tally.n).sum().item(),
            **({} if (people := respondents(tally)) is None else {"respondents": int(people.sum())}),
            "by": list(tally.by),
            "on": list(self.on),
            "along": self.along,
            "law": self.law,
            "level": level,
            "kind": kind,
            "holds": COVERAGE_WORDS[kind],
            "meaning": self.explanation(level, kind),
            "overall": plain(self.overall),
            "spread": plain(self.spread),
            "spread_interval": [plain(end) for end in self.spread_interval(level)],
            "test": plain(self.test().to_dict()),
            "warnings": self.warnings(),
            **skipped_fields(self._skipped_files()),
            "values": TableRows(group_column(tally.by, tally.groups, tally.k) | values),
        }

    def text(self, *, rows: int = FIRST_ROWS, **options: Any) -> str:
        """Return the table for a terminal: of two answers the first alone, of many groups the first `rows`.

        Parameters
        ----------
        rows : int
            Show so many groups, each with its largest shares: 20 at most, and 200 rows of all groups together.
        **options
            Options of `table`.
        """
        return plain_table(self._printed(rows=rows, **options))

    def _repr_html_(self) -> str:
        return fragment(self._printed(rows=FIRST_ROWS))

    def plot(
        self,
        answer: Label | None = None,
        *,
        sort: bool = True,
        level: float = 0.95,
        kind: str = "average",
        title: str | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the shares of an answer with their intervals, beside the separate shares and the overall one.

        A caterpillar plot: a line for each group, in the order of the shares, or in that of the groups if not `sort`.
        Along an order it is a trend with a band.

        Parameters
        ----------
        answer : label, optional
            The answer; if not given, of two the first, and of ordered numbers the mean.
        sort : bool
            Whether the largest share is first.
        level, kind
            As for `table`.
        title : str, optional
            The headline.
        ax : matplotlib Axes, optional
            Where to draw; if not given, a new pyplot figure of a fitting size.
        """
        if answer is None and self.numeric:
            return self.mean(level=level, kind=kind).plot(along=self.along, title=title, ax=ax)
        from warner.output.group_plots import group_picture

        return group_picture(self, self.index_of(answer), sort=sort, level=level, kind=kind, title=title).plot(ax)

    def save_plot(self, path: str | os.PathLike[str], answer: Label | None = None, **options: Any) -> None:
        """Draw to a PNG, SVG or PDF file, atomically; options are those of `plot`."""
        if answer is None and self.numeric:
            known = {name: options.pop(name) for name in ("level", "kind") if name in options}
            options.pop("sort", None)
            self.mean(**known).save_plot(path, along=self.along, **options)
            return
        from warner.output.group_plots import group_picture

        group_picture(self, self.index_of(answer), **options).save(path)

    def save_page(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        question: str | None = None,
        level: float = 0.95,
        kind: str = "average",
    ) -> None:
        """Write one HTML page with the picture, the table, and explanations, atomically."""
        from warner.output.pages import save_group_page

        save_group_page(self, path, level=level, kind=kind, title=title, question=question)


def estimate_groups(
    tally: Collected, on: Any = None, along: str | None = None, *, different_people: bool = False
) -> GroupEstimates:
    r"""Estimate the shares of many groups together: noisier groups are shrunk more toward the others.

    Under randomization a group of 100 reports tells little by itself. Partially pooled with others its squared error
    falls to a fraction of that of a separate estimate, the more so the noisier reports are and the more groups there
    are; where groups have many reports, or are far apart, it is left as it is. The model is that of Fay and Herriot,
    on unbiased shares, with the noise that the design tells; shares are averaged over the spread between groups. It
    works for every design, for groups under different designs, for pools and for weights.

    Intervals have their coverage *on average over the groups*. A group unlike the others is shrunk toward them, and
    so is its interval: for a claim about one group use `warner.estimate`, or ``kind="each"``.

    Where a hundred groups or more form clusters, or some lie far out, and there are two answers, the law of the shares
    is estimated as well (`GroupEstimates.law`), and shares are drawn to the clusters rather than to the mean of all.

    Parameters
    ----------
    tally : Tally or Pool
        The reports, counted by group.
    on : data frame or mapping of columns, optional
        Covariates of the groups: the columns of `by`, and columns of numbers, with a row for each group. Groups are
        then drawn to a regression. Groups without reports that have covariates get a share.
    along : str, optional
        A column of `by` that has an order: numbers, dates, weeks, months or quarters. Shares then follow a random walk
        along it, one for each combination of the other columns, and groups without reports are bridged.
    different_people : bool
        Under a memoized design, say that no person is in two groups along the order: noise that a person keeps would
        otherwise be taken for a trend, or for none.

    Notes
    -----
    Pooled shares do not add up to the overall estimate, and should not be averaged over groups. Two groups are compared
    by `Estimate.compare`, never by two pooled intervals.

    Examples
    --------
    >>> from warner import RandomizedResponse, Tally
    >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
    >>> counts = [[38, 62], [45, 55], [52, 48], [41, 59], [60, 40], [47, 53], [3, 2], [0, 0]]
    >>> regions = Tally(survey, counts, by=("region",), groups=tuple((name,) for name in "ABCDEFGH"))
    >>> estimate_groups(regions)
    Partially pooled shares of 8 groups by region, from 605 reports among 2 answers, epsilon 1.099
    region  value  reports  own (%)  share (%)  95 % interval, on average over the groups
    A       yes        100       63       33.0                               14.4 to 51.7
    B       yes        100       63       41.8                               24.8 to 58.8
    C       yes        100       63       50.6                               33.2 to 67.9
    D       yes        100       63       36.8                               19.1 to 54.5
    E       yes        100       63       60.6                               40.5 to 80.7
    F       yes        100       63       44.3                               27.5 to 61.2
    G       yes          5       13       48.3                                7.6 to 89.0
    H       yes          0        0       45.1                                0.0 to 94.6
    The share of 'no' is 100 % minus that of 'yes'.
    Own (%) is the weight of the group's own reports in a share; the rest comes from the other groups.
    Spread between groups: 12.2 percentage points (95 % interval 0 to 33.8, if shares are roughly normal).
    Test that all groups are alike: p = 0.107 (exact, conditional likelihood ratio 13.02, one-sided p = 0.053).
    Over all groups, about 95 % of these intervals contain the true share; a group unlike the others is shrunk toward
    them: for a claim about one group, see its own interval (warner.estimate).
    """
    refuse_uncounted(tally, "estimate_groups(tally)")
    _refuse(tally, on, along, different_people=different_people)
    refuse_silent(tally)
    alike = Covariates(tally, (), np.ones((len(tally.groups), 1)))
    joined = alike if on is None else group_covariates(tally, on)
    tally = joined.tally
    series = None if along is None else _series(tally, along)
    mirrored = _mirrored(tally)
    answers = direct_estimates(tally, [[0]] if mirrored else None)
    means = np.array([direct.overall() if direct.informative.any() else np.nan for direct in answers])
    complete = holds_every_answer(tally)
    if not mirrored:
        identified = np.isfinite(means)
        means[identified] = nearest_shares(means[identified], complete=complete)
    shares, errors, own = np.full((3, len(tally.groups), len(answers)), np.nan)
    spread, law = np.full(len(answers), np.nan), "normal"
    for index, pooled in _all_pooled(answers, joined.matrix, series, means):
        shares[:, index], errors[:, index], own[:, index], spread[index] = *pooled[:3], pooled.spread
        if mirrored and on is None and series is None and len(tally.groups) >= FEWEST_GROUPS_FOR_ANY_LAW:
            counts = _counts_of_first(tally)
            clustered = None if counts is None else shares_under_any_law(counts, answers[0], pooled)
            shares[:, index], law = (shares[:, index], law) if clustered is None else (clustered, "any")
    if mirrored:
        first = np.clip(shares, 0, 1)
        shares, errors, own = np.hstack([first, 1 - first]), np.hstack([errors] * 2), np.hstack([own] * 2)
        means = np.array([means[0], 1 - means[0]])
    else:
        identified = np.isfinite(shares).all(axis=1)
        shares[identified] = nearest_shares(shares[identified], complete=complete)
    about = joined.names, along, joined, series, law
    result = GroupEstimates(tally, shares, errors, own, means, float(spread[0]) if mirrored else spread, *about)
    result.__dict__["direct"] = answers  # as they are known
    return result


def advice(tally: Collected) -> str:
    """Return advice if partial pooling would reduce the error of five groups or more; otherwise an empty text."""
    cells = len(tally.groups) * tally.k
    if not int(tally.answered.sum()) >= GROUPS_ADVISED or cells > CELLS_ADVISED:
        return ""
    together = estimate_groups(tally)
    if together.law == "any":
        return "groups form clusters, or some lie far out, and it would shrink each share toward them"
    shares = np.nan_to_num(together.shares)[tally.answered]
    own = float((shares * np.nan_to_num(together.own)[tally.answered]).sum() / shares.sum())
    if own >= ENOUGH:
        return ""
    return f"it would take {100 * (1 - own):.0f} % of each share from the other groups"


def _mirrored(tally: Collected) -> bool:
    return mirrored([part.design for part in tally.parts])


def _refuse(tally: Collected, on: Any, along: str | None, *, different_people: bool) -> None:
    if not tally.by:
        raise ValueError('tally must have groups, but has none; count the reports with by, as tally(..., by="region")')
    refuse_options_together("by", tally.by, tally.groups)
    if clash := GROUP_COLUMNS & set(tally.by):
        raise ValueError(f"by must not name a group {min(clash)!r}, which is a column of the result; rename it")
    if along is None:
        return
    if along not in tally.by:
        raise ValueError(f"along must name groups, as {enumerated([*map(repr, tally.by)])} does, but got {along!r}")
    if on is not None:
        raise ValueError("give on, for a regression on covariates, or along, for a trend, not both")
    if any(part.design.repetition() for part in tally.parts) and not different_people:
        raise ValueError(
            "along must be left out for a memoized design, under which a respondent keeps part of the noise from "
            "week to week; if no respondent is in two groups, confirm this with different_people=True"
        )


def _series(tally: Collected, along: str) -> Series:
    """Order the groups along a column, one series for each combination of the other columns."""
    index = tally.by.index(along)
    axis = axis_of_values([group[index] for group in tally.groups])
    if axis is None:
        raise ValueError(
            f"along must be a column of numbers, dates, weeks, months or quarters, but {along!r} has no order that can "
            "be read; number its values"
        )
    others = [tuple(value for i, value in enumerate(group) if i != index) for group in tally.groups]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(others))}
    return ordered_series(axis.positions, np.array([numbers[key] for key in others], dtype=np.int64))


def _counts_of_first(tally: Collected) -> Binomial | None:
    """Return the binomial counts of the first of two answers; None with weights, or without such counts."""
    try:
        return binomial_counts(tally, [[0]], 0) if tally.simple else None
    except NotBinomialError:
        return None


def _all_pooled(
    answers: list[DirectEstimates], covariates: Array, series: Series | None, means: Array
) -> Iterator[tuple[int, Pooled]]:
    """Pool each identified answer; yield its position and shares."""
    identified = [index for index, direct in enumerate(answers) if direct.informative.any()]
    some = [answers[index] for index in identified]
    if series is not None or len(answers) == 1:
        return zip(identified, (pooled_share(direct, covariates, series) for direct in some), strict=True)
    return zip(identified, all_partially_pooled(some, covariates, means[identified]), strict=True)


def _walk_test(walks: list[RandomWalks]) -> GroupTest:
    """Test that nothing changes along an order, by likelihood ratio, with Bonferroni's correction over answers."""
    identified = [walk for walk in walks if walk.direct.informative.any()]
    statistic = max(walk.likelihood_ratio() for walk in identified)
    # The printed one is that of the interval of the step, which is drawn as if 0 were no boundary.
    printed = float(chdtrc(1, statistic))
    one_sided = printed * max(walk.chance_of_a_step() for walk in identified) if statistic > 0 else 1.0
    printed, one_sided = (min(1.0, len(identified) * p) for p in (printed, one_sided))
    return GroupTest(statistic, 1, printed, one_sided, "likelihood ratio")
