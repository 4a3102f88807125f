r"""Complex samples: counts by primary sampling unit, and the variances that follow from them.

A tally of a complex sample also contains the counts of each *cell*: the reports of one group in one cluster and
stratum, or of one group under one set of replicate weights. A group is a domain: all clusters of the sample count for
it, including clusters without respondents of the group. Sampling models are linear in the counts, so they are evaluated
once more for each cell, for any design.

**Variances.** The page "Groups and complex samples" of the documentation derives them. With scores a of reports, of the
expectation :math:`b + g y`, and their sums :math:`U_{hc}` by cluster, linearized, the variance of a frequency is [1]_

.. math:: V = \sum_h (1 - f_h) \frac{m_h}{m_h - 1} \sum_c (U_{hc} - \bar U_h)^2 + \sum_h f_h D_h,

where :math:`f_h` is the sampled part of the :math:`m_h` clusters of stratum h, 0 if it is not known or small. Counts by
cluster are sufficient; respondents drawn alone, as clusters of one, also need :math:`\sum w_i^2` for each kind of
report. :math:`D_h` remains in a finite population: the variance of the randomization if all members of a cluster
respond, otherwise that of respondents within clusters. The textbook factor :math:`1 - f_h` alone has about half the
nominal coverage at a sampled part of 0.9.

**Few or unequal clusters.** If one cluster has much of the weight, its own score shrinks toward zero, V is too small,
and clusters less strata are too many degrees of freedom. As in regressions, centered scores are then divided by
:math:`\sqrt{1 - \frac{m}{m-1}(J_c - \bar J_h)}`, with :math:`J_c` the cluster's part of all weight (CR2, the
bias-reduced linearization [2]_), with Satterthwaite's degrees of freedom: with S the covariances of these scores for
independent respondents of equal variance, :math:`(\operatorname{tr} S)^2 / \operatorname{tr} S^2`.

**Small domains** [3]_ have at most k - 1 degrees of freedom, with k their effective sample size by weights. A domain in
one cluster is *blind*: it shows nothing about the variance between clusters, and its interval is the whole range.

References
----------
.. [1] C.-E. Särndal, B. Swensson, J. Wretman, "Model Assisted Survey Sampling", Springer 1992, chapters 4 and 5.
.. [2] R. M. Bell, D. F. McCaffrey, "Bias reduction in standard errors for linear regression with multi-stage samples",
   Survey Methodology 28 (2002), 169-181.
.. [3] E. L. Korn, B. I. Graubard, "Confidence intervals for proportions with small expected number of positive counts
   estimated from survey data", Survey Methodology 24 (1998), 193-201.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import stdtrit

from warner.arrays import LARGEST_TOTAL, SMALLEST, Array, Counts, Integers, Numbers
from warner.designs.facts import added_up
from warner.reports.counts import shortened_keys
from warner.reports.samples import refuse_few_units, refuse_parts, refuse_split_clusters
from warner.text import counted, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warner.documents import Document
    from warner.reports.design_based import LinearScores
    from warner.reports.tallies import Group, Tally


# Linearization


UNEQUAL_FREEDOM = 0.7  # part of clusters less strata: with fewer degrees of freedom, clusters are unequal
LEAST_WEIGHT_LEFT = 1e-9  # least part of the weight in all clusters but one


class Moments(NamedTuple):
    """Weighted sums of the reports of one domain, by unit and set of answers, (units, sets)."""

    sums: Array
    weight: Array
    everybody: Array
    squares: Array | None = None
    device: Array | None = None


class Deviations(NamedTuple):
    """Linearized scores of estimates by unit, (units, sets); the squares of `centred` sum to the variance."""

    centred: Array
    sums: Array
    squares: Array | None
    device: Array | None

    def difference(self, other: Deviations) -> Deviations:
        pairs = zip(self[2:], other[2:], strict=True)
        squares, device = (None if mine is None or theirs is None else mine + theirs for mine, theirs in pairs)
        return Deviations(self.centred - other.centred, self.sums - other.sums, squares, device)

    def scaled(self, factor: Array) -> Deviations:
        squares, device = (None if part is None else part * factor**2 for part in self[2:])
        return Deviations(self.centred * factor, self.sums * factor, squares, device)


@dataclass(frozen=True, eq=False)
class Units:
    """Primary sampling units: clusters in strata, or all respondents of a stratum if they are drawn `alone`.

    `stratum` is the stratum of each unit, counted from 0, and `people` its number of respondents in all domains.
    `sampled` is the part of the units of each stratum that was sampled. With `whole`, all members of a sampled cluster
    are respondents.
    """

    stratum: Integers
    people: Array
    alone: bool
    sampled: Array | None = None
    whole: bool = False

    @cached_property
    def sizes(self) -> Array:
        """Number of clusters, or of respondents drawn alone, in the stratum of each unit."""
        sizes = np.bincount(self.stratum, self.people if self.alone else None).astype(np.float64)
        return np.maximum(sizes, 2.0)[self.stratum]  # a stratum without weight has no respondents, and no variance

    @property
    def number(self) -> int:
        return int(self.people.sum()) if self.alone else len(self.stratum)

    @property
    def strata(self) -> int:
        return int(self.stratum.max(initial=-1)) + 1

    def freedom_of(self, weight: Array) -> float:
        """Return clusters less strata, of the strata in which a domain with this weight by unit has respondents."""
        touched = np.bincount(self.stratum, weight, minlength=self.strata) > 0
        sizes = np.bincount(self.stratum, self.people if self.alone else None, minlength=self.strata)
        return float((sizes[touched] - 1).sum())

    @property
    def part(self) -> Array:
        return np.zeros(len(self.stratum)) if self.sampled is None else self.sampled[self.stratum]

    def means(self, values: Array) -> Array:
        totals = added_up(self.stratum, values, self.strata)
        return np.asarray(totals[self.stratum] / self.sizes[:, np.newaxis])

    def deviations(self, moments: Moments, frequency: Array) -> tuple[Deviations, float]:
        """Linearize the frequencies of one domain; also return their degrees of freedom."""
        total = moments.weight.sum(axis=0)
        total = np.where(total > 0, total, 1.0)  # without respondents nothing varies
        scores = (moments.sums - frequency * moments.weight) / total
        squares, device = (None if part is None else part / total**2 for part in (moments.squares, moments.device))
        if self.alone:
            return Deviations(scores, scores, squares, device), self.freedom_of(moments.everybody)
        factor, freedom = self.leverage(moments.everybody / moments.everybody.sum())
        centred = (scores - self.means(scores)) * factor[:, np.newaxis]
        return Deviations(centred, scores, squares, device), freedom

    def shown(self, part: Array, worth: float) -> tuple[float, float]:
        r"""Degrees of freedom of a domain of respondents drawn alone, and the part of its variance that V shows.

        With :math:`J_h` the `part` of the domain's weight in a stratum of :math:`n_h` respondents, and its effective
        sample size k, the squared deviations within the stratum have the expectation :math:`e_h = J_h (1 - 1/k) -
        J_h (1 - J_h)/n_h` times the variance. So :math:`d = k \sum_h e_h`, and V shows :math:`\sum_h n_h e_h / (n_h -
        1)` of the variance on average: all of it for a whole sample, one half for two respondents.
        """
        expected = part * (1 - 1 / worth) - part * (1 - part) / self.sizes
        return worth * float(expected.sum()), float((self.sizes / (self.sizes - 1) * expected).sum())

    def leverage(self, part: Array) -> tuple[Array, float]:
        r"""Factors of centered scores where clusters with this `part` of all weight are unequal, else ones.

        With them come the degrees of freedom. S has the entries :math:`d_c d_k C_{ck}` with the squared factors
        :math:`d_c` and, e being J less the mean of its stratum, :math:`C_{ck} = [c = k] J_c + [h_c = h_k] (\alpha_c +
        \alpha_k) - e_c e_k`, where :math:`\alpha_c = \bar J_h / 2m_h - J_c / m_h`: sums over strata are enough.
        """
        sizes, mean = self.sizes, self.means(part[:, np.newaxis])[:, 0]
        away = part - mean
        remaining = 1 - sizes / (sizes - 1) * away
        root = 1 / np.sqrt(np.where(remaining > LEAST_WEIGHT_LEFT, remaining, np.inf))
        d = sizes / (sizes - 1) * root**2
        alpha = mean / (2 * sizes) - part / sizes
        own = 2 * alpha - away**2
        sums = [
            np.bincount(self.stratum, d * value) for value in (np.ones_like(d), alpha, alpha**2, away, alpha * away)
        ]
        ones, first, second, apart, mixed = sums
        trace = (d * (own + part)).sum()
        squares = (d * away**2).sum() ** 2 + (2 * ones * second + 2 * first**2 - 4 * mixed * apart).sum()
        squares += (d**2 * ((own + part) ** 2 - own**2)).sum()
        freedom = float(trace**2 / squares) if squares > 0 else 1.0
        most = self.freedom_of(part)
        if freedom >= UNEQUAL_FREEDOM * most:
            return np.ones_like(root), most
        return root, min(freedom, most)

    def variance(self, deviations: Deviations) -> Array:
        """Return the variances; NaN where counts do not determine them."""
        _, sums, squares, device = deviations
        between = self.between(deviations, 1 - self.part)
        if self.sampled is None:
            return between
        assert squares is not None
        assert device is not None
        # If counts do not determine the noise of the randomization, the population counts as infinite.
        endless = np.full(between.shape, np.nan) if self.alone else self.between(deviations)
        remaining = self._remaining(sums, squares, device)
        return np.where(np.isfinite(remaining), between + np.maximum(remaining, 0), endless)

    def between(self, deviations: Deviations, part: Numbers = 1.0) -> Array:
        """Variances between units, with this part of each stratum not sampled; 1 for an infinite population."""
        centred, sums, squares, _ = deviations
        factor = (part * self.sizes / (self.sizes - 1))[:, np.newaxis]
        if not self.alone:
            return np.asarray((factor * centred**2).sum(axis=0))
        assert squares is not None
        return np.asarray((factor * (squares - sums**2 / self.sizes[:, np.newaxis])).sum(axis=0))

    def _remaining(self, sums: Array, squares: Array, device: Array) -> Array:
        """Return the variance that remains in a finite population: randomization, and variation within clusters."""
        part, people = self.part[:, np.newaxis], self.people[:, np.newaxis]
        if self.alone or self.whole:
            return np.asarray((part * device).sum(axis=0))
        within = _unbiased(people, squares - sums**2 / np.maximum(people, 1), device)
        return np.asarray((part * within).sum(axis=0))

    def jackknife(self, moments: Moments, frequency: Array) -> Array:
        """Deviations by the jackknife, with one cluster left out at a time; their squares sum to the variance."""
        up = (self.sizes / (self.sizes - 1))[:, np.newaxis]

        def without_each(values: Array) -> Array:
            by_stratum = self.means(values) * self.sizes[:, np.newaxis]
            return np.asarray(values.sum(axis=0) + (up - 1) * by_stratum - up * values)

        weight = without_each(moments.weight)
        with np.errstate(invalid="ignore", divide="ignore"):
            moved = np.where(weight > 0, without_each(moments.sums) / weight - frequency, 0.0)
        return np.asarray(moved / np.sqrt(up))


def _unbiased(people: Array, squares: Array, alone: Numbers = 0.0) -> Array:
    """Multiply sums of squared deviations of n people by n / (n - 1); that of one respondent is `alone`."""
    return np.where(people > 1, people / np.maximum(people - 1, 1) * squares, alone)


def fewer_people(people: Numbers, freedom: Numbers, tail: Numbers) -> Array:
    """Part of the effective sample size that remains where the variance has few degrees of freedom.

    >>> float(fewer_people(200, 30, 0.025).round(4)), float(fewer_people(4, 30, 0.025))  # t of 199 and 30 degrees
    (0.9323, 1.0)
    """
    ratio = stdtrit(np.maximum(people - 1, 1), tail) / stdtrit(np.maximum(freedom, 1), tail)
    return np.asarray(np.minimum(ratio**2, 1.0))


# Cluster samples


STRATUM, CLUSTER, REPLICATE = "(stratum)", "(cluster)", "(replicate)"  # names in the keys of cells
METHODS_OF_VARIANCE = ("linearised", "jackknife")
LEAST_SHOWN = 1e-9  # part of a variance, of a domain of one respondent, who shows none
RESULT_COLUMN = "sample"  # column on the basis of design-based intervals


class Shown(NamedTuple):
    """Information of groups on their design-based variances: of one group, or of shape (groups, 1)."""

    freedom: Any  # degrees of freedom of the variance between clusters, or between respondents drawn alone
    part: Any = 1.0  # of the variance that the sample shows on average
    blind: Any = False  # the group lies in one cluster
    certain: Any = False  # the group's strata are censuses, so that the sample adds no variance
    fixed: Any = 0.0  # squared weights left to the randomization by a finite population, over the others

    @classmethod
    def of_groups(cls, groups: Iterable[Shown]) -> Shown:
        return cls(*(np.array(column)[:, np.newaxis] for column in zip(*groups, strict=True)))


class Together(NamedTuple):
    """Design-based covariance of the shares of two groups, and degrees of freedom of their difference."""

    covariance: float  # 0 if counts do not determine it
    freedom: float
    within: float = 0.0  # variance of the difference from variation within clusters; 0 if it is not known


@dataclass(frozen=True, eq=False)
class ComplexSample(ABC):
    """Tally by the names of groups and then those of cells; with weights, `people` with a weight above 0 by cell."""

    cells: Tally
    people: Any = None
    cell_arrays: ClassVar[tuple[str, ...]] = ()  # other fields with a row for each cell

    @abstractmethod
    def described(self) -> str:
        """Describe the sample, such as "32 schools in 4 regions"."""

    @abstractmethod
    def accuracy(self, question: LinearScores, frequency: Array, groups: list[Group]) -> tuple[Array, Array, Shown]:
        """Return variances of frequencies, (groups, sets), those of an infinite population, and information on them."""

    @abstractmethod
    def of_difference(self, question: LinearScores, frequency: Array, gain: Array, pair: list[Group]) -> Together:
        """Return the covariance of the shares of one set in two groups."""

    @abstractmethod
    def of_totals(self, question: LinearScores, totals: Array, groups: list[Group]) -> tuple[Array, Array]:
        """Return variances of totals of scores less their base, (groups, sets), and degrees of freedom, (groups, 1)."""

    def within_clusters(self, question: LinearScores, groups: list[Group]) -> Array:
        """Part of the variances of totals, (groups, sets), from variation within clusters; 0 if not known."""
        return np.zeros((len(groups), 1))

    @abstractmethod
    def to_dict(self) -> Document: ...

    @property
    def names(self) -> tuple[str, ...]:
        """Names in the keys of cells besides those of groups."""
        return tuple(name for name in self.cells.by if name in {STRATUM, CLUSTER, REPLICATE})

    @property
    def depth(self) -> int:
        """Number of values of a group in the key of a cell."""
        return len(self.cells.by) - len(self.names)

    @cached_property
    def _cells_of(self) -> dict[Group, list[int]]:
        """Indices of the cells with reports, by group."""
        found: dict[Group, list[int]] = {}
        for index, key in enumerate(self.cells.groups):
            if self.cells.answered[index]:
                found.setdefault(key[: self.depth], []).append(index)
        return found

    def _rows(self, group: Group) -> tuple[list[int], Counts, Array]:
        """Return the cells of a group, their counts, and their sums of weights, (cells, 1)."""
        indices = self._cells_of.get(group, [])
        return indices, self.cells.counts[indices], np.asarray(self.cells.n)[indices].astype(np.float64)[:, np.newaxis]

    @cached_property
    def reports(self) -> Counts:
        """Number of reports of each cell with a weight above 0."""
        return np.asarray(self.cells.n if self.people is None else self.people)

    def people_of(self, groups: list[Group]) -> Array:
        """Return the number of reports of each group, (groups, 1)."""
        return np.array([[self.reports[self._cells_of.get(group, [])].sum()] for group in groups], dtype=np.float64)

    def summed(self, by: tuple[str, ...]) -> Tally:
        """Return the tally of the groups: the sums of their cells."""
        if RESULT_COLUMN in by:
            raise ValueError(f"by must not name a group {RESULT_COLUMN!r}, which is a column of the result; rename it")
        return self.cells.summed(by, [key[: self.depth] for key in self.cells.groups], sample=self)

    def aggregated(self, tally: Tally, by: tuple[str, ...]) -> Tally:
        """Return the tally of coarser groups: the sums of the cells of one unit, or of one set of weights."""
        names = (*by, *self.names)
        keys = shortened_keys(self.cells.by, self.cells.groups, names)
        cells = self.cells.summed(names, keys)
        sample = replace(self, cells=cells, **self._in_cells(keys, cells.groups))
        groups = shortened_keys(tally.by, tally.groups, by)
        return replace(tally, sample=None).summed(by, groups, sample=sample)

    def _in_cells(self, keys: Sequence[Group], groups: Sequence[Group]) -> dict[str, Counts]:
        """Add up the fields with a row for each cell, whose new keys are among those of the new `groups`."""
        from warner.reports.tallies import numbers_of

        index = numbers_of(keys, groups)
        given = {name: getattr(self, name) for name in ("people", *self.cell_arrays)}
        return {name: added_up(index, v, len(groups)) for name, v in given.items() if v is not None}

    def _with_cells_of(self, other: Self) -> Self:
        """Return the sample with the cells of both."""
        cells = self.cells + other.cells
        mine, theirs = (one._in_cells(one.cells.groups, cells.groups) for one in (self, other))
        return replace(self, cells=cells, **(mine | {name: mine.get(name, 0) + theirs[name] for name in theirs}))

    def _cells_document(self) -> Document:
        fields = self.cells.to_dict()
        names = ("counts", "n", "histogram", "missing", "unknown", "groups", "squares")
        people = {} if self.people is None else {"people": np.asarray(self.people).tolist()}
        return {name: fields[name] for name in names if name in fields} | people


@dataclass(frozen=True, eq=False)
class ClusterSample(ComplexSample):
    """Respondents drawn in strata, in clusters or alone."""

    cell_arrays = ("squares", "without_weight")
    squares: Any = None  # with weights, sums of squares for each kind of report, of shape (cells, columns)
    strata: str | None = None  # name of the strata
    clusters: str | None = None  # name of the clusters
    sampled: tuple[float, ...] | None = None  # sampled part of the clusters of each stratum
    whole: bool = False  # all members of a sampled cluster are respondents
    method: str = "linearised"  # of the variance, or "jackknife"
    without_weight: Any = None  # number of respondents with a weight of 0 in each cell

    # Units

    @cached_property
    def _cell_keys(self) -> list[tuple[Any, Any]]:
        names = self.cells.by
        stratum, cluster = (names.index(name) if name in names else None for name in (STRATUM, CLUSTER))
        return [
            (None if stratum is None else key[stratum], None if cluster is None else key[cluster])
            for key in self.cells.groups
        ]

    @cached_property
    def _keys(self) -> list[tuple[Any, Any]]:
        """Stratum and cluster of each unit, in a fixed order."""
        from warner.reports.tallies import in_order

        return list(in_order(self._cell_keys))

    @cached_property
    def strata_keys(self) -> list[Any]:
        return list(dict.fromkeys(stratum for stratum, _ in self._keys))

    @cached_property
    def _unit(self) -> Integers:
        from warner.reports.tallies import numbers_of

        return np.array(numbers_of(self._cell_keys, self._keys), dtype=np.int64)

    @cached_property
    def units(self) -> Units:
        number = {key: index for index, key in enumerate(self.strata_keys)}
        stratum = np.array([number[stratum] for stratum, _ in self._keys], dtype=np.int64)
        everybody = self.reports if self.without_weight is None else self.reports + self.without_weight
        people = np.bincount(self._unit, everybody.astype(np.float64), minlength=len(self._keys))
        if self.clusters is None:
            refuse_few_units(np.bincount(stratum, people), "people")
        else:
            strata_of = Counter(cluster for _, cluster in self._keys)
            refuse_split_clusters([name for name, times in strata_of.items() if times > 1])
            refuse_few_units(np.bincount(stratum), "clusters")
        sampled = None if self.sampled is None else np.array(self.sampled)
        return Units(stratum, people.astype(np.float64), self.clusters is None, sampled, self.whole)

    def described(self) -> str:
        units = self.units
        drawn = counted(units.number, "respondent", "respondents")
        if self.clusters is not None:
            drawn = _named(units.number, self.clusters, "cluster", "clusters")
        inside = "" if self.strata is None else f" in {_named(units.strata, self.strata, 'stratum', 'strata')}"
        return drawn + inside

    # Variances

    def _moments(self, question: LinearScores, frequency: Array, group: Group) -> Moments:
        indices, counts, n = self._rows(group)
        units, unit = self.units, self._unit[indices]

        def in_units(values: Array) -> Array:
            result = np.zeros((len(units.stratum), values.shape[1]))
            result[unit] = values
            return result

        found = question.readout(counts, n)
        sums = np.asarray(found.count, dtype=np.float64)
        weight, everybody = np.broadcast_to(found.trials, sums.shape), in_units(n)[:, 0]
        if not units.alone and units.sampled is None:
            return Moments(in_units(sums), in_units(weight), everybody)
        squared, total = self._squared(group)
        once, asked = question.sums(squared, total), question.readout(squared, total).trials
        twice = question.squared_sums(squared, once, found.exact)
        about = twice - 2 * frequency * once + frequency**2 * asked
        device = twice - 2 * found.base * once + np.square(found.base) * asked
        device = device - np.square(found.gain) * question.squared_shares(squared, total)
        # The device may ask a random part of the respondents: its variance is about their mean.
        part = question.counted_parts(counts, n)
        device = part * device + (1 - part) * about
        return Moments(in_units(sums), in_units(weight), everybody, in_units(about), in_units(device))

    def accuracy(self, question: LinearScores, frequency: Array, groups: list[Group]) -> tuple[Array, Array, Shown]:
        variance, endless, shown = np.empty(frequency.shape), np.empty(frequency.shape), []
        for row, group in enumerate(groups):
            moments = self._moments(question, frequency[row], group)
            deviations, freedom = self.units.deviations(moments, frequency[row])
            shown.append(self._shown(moments.everybody, group, freedom))
            if self.method == "jackknife":
                variance[row] = endless[row] = (self.units.jackknife(moments, frequency[row]) ** 2).sum(axis=0)
            else:
                variance[row] = self.units.variance(deviations)
                endless[row] = variance[row] if self.sampled is None else self.units.between(deviations)
        return variance, endless, Shown.of_groups(shown)

    def _shown(self, weight: Array, group: Group, freedom: float) -> Shown:
        """Return the information of a group on its variance, from its weight in each unit."""
        units, reached = self.units, weight > 0
        sampled = reached & (units.part < 1)  # clusters of other strata do not vary
        certain = not sampled.any() and (units.alone or units.whole)
        varying = np.where(sampled, weight, 0.0) if sampled.any() else weight
        part = varying / max(varying.sum(), SMALLEST)
        if not units.alone:
            if not sampled.any():  # respondents vary within their clusters alone
                freedom = float(self.people_of([group])[0, 0]) - np.count_nonzero(reached)
            elif (varying < weight).any():
                freedom = units.leverage(part)[1]
            return Shown(freedom, 1.0, np.count_nonzero(sampled) == 1, certain)
        squares = self._squares(group)
        most, shown = units.shown(part, varying.sum() ** 2 / max(squares[varying > 0].sum(), SMALLEST))
        random, fixed = ((part * squares).sum() for part in (1 - units.part, units.part))
        return Shown(min(freedom, most), max(shown, LEAST_SHOWN), False, certain, fixed / random if random > 0 else 0.0)

    def _squared(self, group: Group) -> tuple[Counts, Array]:
        """Return sums of squared weights: of each kind of report, (cells, columns), and of all, (cells, 1)."""
        indices, counts, n = self._rows(group)
        kinds = counts if self.squares is None else np.asarray(self.squares)[indices]
        return kinds, n if self.cells.squares is None else np.asarray(self.cells.squares)[indices][:, np.newaxis]

    def _squares(self, group: Group) -> Array:
        unit = self._unit[self._rows(group)[0]]
        return np.bincount(unit, self._squared(group)[1][:, 0], minlength=len(self._keys)).astype(np.float64)

    def _worth(self, group: Group) -> float:
        """Kish's effective sample size of a group."""
        return float(self._rows(group)[2].sum() ** 2 / max(self._squares(group).sum(), SMALLEST))

    def of_difference(self, question: LinearScores, frequency: Array, gain: Array, pair: list[Group]) -> Together:
        moments = [self._moments(question, f, group) for f, group in zip(frequency, pair, strict=True)]
        both = [self.units.deviations(m, f) for m, f in zip(moments, frequency, strict=True)]
        if self.method == "jackknife":
            moved = [self.units.jackknife(m, f) / gain for m, f in zip(moments, frequency, strict=True)]
            each = [float((part**2).sum()) for part in (*moved, moved[0] - moved[1])]
        else:
            one, two = (deviations.scaled(1 / gain) for deviations, _ in both)
            each = [float(self.units.variance(part)[0]) for part in (one, two, one.difference(two))]
        facts = zip(moments, pair, both, strict=True)
        shown = [self._shown(m.everybody, group, freedom).freedom for m, group, (_, freedom) in facts]
        freedom = self._freedom_of_difference(moments, each, shown, [self._worth(group) for group in pair])
        covariance, within = (each[0] + each[1] - each[2]) / 2, self._within(question, pair) / float(gain[0]) ** 2
        return Together(covariance if np.isfinite(covariance) else 0.0, freedom, within)

    def _freedom_of_difference(
        self, moments: list[Moments], variances: list[float], freedoms: list[float], worth: list[float]
    ) -> float:
        """Return clusters less strata; where groups or clusters are unequal, Welch's degrees of freedom, if fewer.

        They are taken at equal variances too: a variance with one degree of freedom can happen to be small.
        """
        weights = [one.everybody for one in moments]
        most = self.units.freedom_of(weights[0] + weights[1])
        if all(freedom >= self.units.freedom_of(w) for freedom, w in zip(freedoms, weights, strict=True)):
            return most
        one, two = (max(freedom, SMALLEST) for freedom in freedoms)

        def welch(a: float, b: float) -> float:
            return (a + b) ** 2 / (a**2 / one + b**2 / two) if a + b > 0 else min(freedoms)

        return min(most, welch(*variances[:2]), welch(1 / worth[0], 1 / worth[1]))

    def _within(self, question: LinearScores, pair: list[Group]) -> float:
        r"""Return the variance of two frequencies within clusters.

        It is :math:`\sum_c b_c/(b_c - 1) \sum_{i \in c} w_i^2 (a_i - \bar a_c)^2 / (\sum w)^2` over the respondents of
        each group in each cluster: they are independent of each other, and clusters can only add to it.
        """
        if self.units.alone or self.whole:
            return 0.0
        total = 0.0
        for group in pair:
            indices, counts, n = self._rows(group)
            squared, weight = self._squared(group)
            mean, once = question.sums(counts, n) / n, question.sums(squared, weight)
            twice = question.squared_sums(squared, once, question.readout(squared, weight).exact)
            people = self.reports[indices].astype(np.float64)[:, np.newaxis]
            scatter = _unbiased(people, twice - 2 * mean * once + mean**2 * weight)
            total += float(scatter.sum()) / float(n.sum()) ** 2
        return max(total, 0.0) if np.isfinite(total) else 0.0

    def of_totals(self, question: LinearScores, totals: Array, groups: list[Group]) -> tuple[Array, Array]:
        rows, freedom = [], []
        for group in groups:
            _, counts, n = self._rows(group)
            base = np.atleast_1d(np.asarray(question.readout(counts, n).base, dtype=np.float64))
            moments = self._moments(question, base, group)
            scores = moments.sums - base * moments.weight
            centred = scores - self.units.means(scores)
            rows.append(self.units.variance(Deviations(centred, scores, moments.squares, moments.device)))
            freedom.append([self.units.freedom_of(moments.everybody)])
        return np.array(rows), np.array(freedom)

    def within_clusters(self, question: LinearScores, groups: list[Group]) -> Array:
        r"""Return :math:`\sum_c b_c/(b_c - 1) \sum_{i \in c} (u_i - \bar u_c)^2` of the u of totals, (groups, sets)."""
        if self.units.alone or self.whole:
            return super().within_clusters(question, groups)
        rows = []
        for group in groups:
            indices, counts, n = self._rows(group)
            squared, weight = self._squared(group)
            found, once = question.readout(counts, n), question.readout(squared, weight)
            twice = question.squared_sums(squared, np.asarray(once.count, dtype=np.float64), once.exact)
            squares = twice - 2 * found.base * once.count + np.square(found.base) * once.trials
            people = self.reports[indices].astype(np.float64)[:, np.newaxis]
            scatter = squares - (found.count - found.base * found.trials) ** 2 / people
            rows.append(np.nan_to_num(np.maximum(_unbiased(people, scatter).sum(axis=0), 0)))
        return np.array(rows)

    # Values and files

    def __add__(self, other: ComplexSample) -> ClusterSample:
        if not isinstance(other, ClusterSample):
            raise ValueError("tallies must have the same kind of sample to add up, but one has replicate weights")
        for name in ("strata", "clusters", "whole", "method"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                raise ValueError(f"tallies must have the same {name} to add up, but got {mine!r} and {theirs!r}")
        for index, role in enumerate(("strata", "clusters")):
            _refuse_lookalikes(role, [key[index] for key in self._keys + other._keys])
        return replace(self._with_cells_of(other), sampled=self._sampled_together(other))

    def _sampled_together(self, other: ClusterSample) -> tuple[float, ...] | None:
        if self.sampled is None or other.sampled is None:
            if self.sampled is not other.sampled:
                raise ValueError("tallies must both have sampled, the part of each stratum, to add up, or neither")
            return None
        mine, theirs = (dict(zip(one.strata_keys, one.sampled or (), strict=True)) for one in (self, other))
        differing = [key for key in mine if theirs.get(key, mine[key]) != mine[key]]
        if differing:
            raise ValueError(
                f"tallies must agree on the part of each stratum that was sampled, but differ on {differing[0]!r}"
            )
        both = mine | theirs
        from warner.reports.tallies import in_order

        return tuple(both[key] for (key,) in in_order((key,) for key in both))

    def to_dict(self) -> Document:
        return {
            "strata": self.strata,
            "clusters": self.clusters,
            "sampled": None if self.sampled is None else list(self.sampled),
            "whole": self.whole,
            "variance": self.method,
            "cells": self._cells_document()
            | ({} if self.squares is None else {"kind_squares": np.asarray(self.squares).tolist()})
            | ({} if self.without_weight is None else {"without_weight": np.asarray(self.without_weight).tolist()}),
        }

    @classmethod
    def from_dict(cls, fields: Document, cells: Tally, people: Any) -> ClusterSample:
        squares = fields["cells"].get("kind_squares")
        kinds = None if squares is None else numbers_of_cells("kind_squares", squares, cells.counts.shape)
        sampled, method = fields["sampled"], fields["variance"]
        for name in ("strata", "clusters"):
            if fields[name] is not None and not isinstance(fields[name], str):
                raise ValueError(f"{name} must be a name, or null, but is {fields[name]!r}")
        if method not in METHODS_OF_VARIANCE or not isinstance(fields["whole"], bool):
            raise ValueError(f"variance must be {' or '.join(METHODS_OF_VARIANCE)}, and whole true or false")
        names = fields["strata"], fields["clusters"]
        sample = cls(cells, people, kinds, *names, None, fields["whole"], method, _without_weight(fields, cells))
        if sampled is None:
            return sample
        if not isinstance(sampled, list) or len(sampled) != len(sample.strata_keys):
            raise ValueError("sampled must be a list of numbers, one for each stratum")
        refuse_parts(sampled)
        return replace(sample, sampled=tuple(sampled))


def _without_weight(fields: Document, cells: Tally) -> Integers | None:
    given = fields["cells"].get("without_weight")
    if given is None:
        return None
    numbers = numbers_of_cells("without_weight", given, (len(cells.groups),))
    if not cells.weighted or (numbers != np.rint(numbers)).any() or (numbers > LARGEST_TOTAL).any():
        raise ValueError("without_weight must be whole numbers, of cells with weights")
    return numbers.astype(np.int64)


def _named(number: int, name: str, one: str, several: str) -> str:
    """Count clusters or strata by their name: plural of a lower-case word, else in parentheses.

    >>> _named(32, "school", "cluster", "clusters"), _named(32, "PSU_ID", "cluster", "clusters")
    ('32 schools', '32 clusters (PSU_ID)')
    """
    if name == one:
        return counted(number, one, several)
    if name.isascii() and name.isalpha() and name.islower() and len(name) > 2:
        return counted(number, name, plural(name))
    return f"{counted(number, one, several)} ({name})"


def _refuse_lookalikes(role: str, names: Iterable[Any]) -> None:
    """Raise an error for names that differ only in their type, such as numbers in a table and texts in a file."""
    known: dict[str, Any] = {}
    for name in names:
        if known.setdefault(str(name), name) != name:
            raise ValueError(
                f"{role} of tallies that add up must be all numbers or all texts, but got {known[str(name)]!r} and "
                f"{name!r}, which would count as two"
            )


def numbers_of_cells(name: str, values: Any, shape: tuple[int, ...]) -> Array:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers") from None
    if array.shape != shape or not (array >= 0).all():
        raise ValueError(f"{name} must be numbers of at least 0, of shape {shape}, but has shape {array.shape}")
    return array
