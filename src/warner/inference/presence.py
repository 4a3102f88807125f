r"""Detection of answers: tests of the hypothesis that no respondent has an answer, adjusted for their number.

If no respondent has an answer, its count is :math:`\text{Bin}(n, q)`: an exact p-value for each answer. Where a share
has no binomial count, a report has the distribution of an unknown mixture of the other answers' rows. Two statistics
have a tail that is bounded for all mixtures:

- *A count* (`CountTest`) of the reports in a set S. It is binomial, with a probability of at most
  :math:`b = \max_{j \ne i} C_j(S)`. So :math:`P(\text{Bin}(n, b) \ge c)` is a p-value for every S. S is the set that
  detects the smallest share: of few types of reports all sets are tried, of many the sets with the largest likelihood
  ratios.
- *A sum of scores* (`ScoreTest`), :math:`T = \sum_y c_y w_y`, with the weights of the unbiased share, which is T/n. The
  moment-generating function of a mixture is the mixture of theirs, so that for every s > 0

  .. math:: P(T \ge t) \le e^{-st} \max_{j \ne i} \Big(\sum_y C_{jy} e^{s w_y}\Big)^n,

  Chernoff's bound; the least of these bounds is a p-value. It applies where no set of reports separates the answer from
  mixtures of all others.

Both are chosen by the design and the number of reports alone. For tables that are too large for these tests a share is
compared with its standard error, which is *approximate*. Pooled collections are combined by Fisher's method: under
absence each p-value is independent and stochastically at least uniform. P-values are adjusted for their number by
Holm's step-down method [1]_, or the method of Benjamini and Hochberg [2]_.

.. [1] S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979),
   65-70.
.. [2] Y. Benjamini, Y. Hochberg, "Controlling the false discovery rate: a practical and powerful approach to multiple
   testing", J. R. Stat. Soc. B 57 (1995), 289-300.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import gammaincc, gammainccinv, ndtr, ndtri

from warner.arrays import SMALLEST, Array, Counts, Mask, PerGroup
from warner.inference.binomial import ROUNDING, at_each_count, at_least, check_power, log_binomial, smallest_share
from warner.inference.intervals import in_all_groups
from warner.inference.normal import ratio_to_error
from warner.inference.ranking import (
    about_groups,
    answer_columns,
    group_rows,
    listed_groups,
    listed_labels,
    names_of,
    reports_in_papers,
)
from warner.numerics import bisected, rising_roots
from warner.results import Column, TableResult, check_level, name_columns
from warner.text import level_text, percent
from warner.typesetting import p_value_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.designs.contract import Design
    from warner.designs.facts import SamplingModel
    from warner.documents import Document
    from warner.reports.tallies import Collected, Tally


# Presence tests


TYPES_ENUMERATED = 10  # of reports, up to which every set of them is tried
SETS_COMPARED = 8  # those whose smallest share is computed exactly
MIXTURES_TRIED = 12  # of the other answers, that the likelihood ratio is taken against
MOST_SEARCHED_CELLS = 2**24  # answers times the table's cells, up to which tests are looked for
EXPONENTS = np.geomspace(1e-3, 60, 64)  # s, in units of the largest score
SHARE_HALVINGS = 50  # of the shares from 0 to 1
SMALLEST_START = 1e-9  # share from which that is looked for which several tests find
SHARE_TOLERANCE = 1e-9  # standard errors to which it is found
LAW_POINTS, LAW_DEVIATIONS = 400, 9.0  # points of the distribution of one test, and its range in standard deviations
EVIDENCE_CLASSES = 2**13  # into which the laws of several tests are sorted


@dataclass(frozen=True, eq=False)
class CountTest:
    """A count of n reports: of those after the answer with probability `present`, after others `least` to `absent`."""

    n: float
    absent: float
    least: float
    present: float
    columns: Array | None = None  # reports that are counted; None where the design has a count of its own

    def p_value(self, count: Array) -> Array:
        """P-value of absence; 1 if no count can prove presence."""
        if self.present <= self.absent:
            return np.ones(np.shape(count))
        return at_least(count, self.n, self.absent)

    def smallest(self, alpha: float, power: float) -> float:
        """Smallest share that is detected with this power in every population."""
        if self.present <= self.absent:
            return math.inf
        needed = self.absent + smallest_share(self.n, self.absent, 1.0, alpha, power)
        return max(needed - self.least, 0.0) / (self.present - self.least)

    def law(self, share: float) -> tuple[Array, Array]:
        """Values of -ln p and their probabilities at this share, in the least favorable population."""
        chance = self.least + share * (self.present - self.least)
        width = LAW_DEVIATIONS * math.sqrt(self.n * chance * (1 - chance)) + 10
        start, end = max(math.floor(self.n * chance - width), 0), min(math.ceil(self.n * chance + width), int(self.n))
        step = max((end - start) // LAW_POINTS, 1)
        lower = np.arange(start, end + 1, step, dtype=np.float64)
        masses = np.exp(log_binomial(np.arange(start, end + 1, dtype=np.float64), self.n, chance))
        # Of many counts, neighbors are merged, with the evidence of the least of them.
        chances = np.add.reduceat(masses, (lower - start).astype(np.int64))
        return -np.log(np.maximum(self.p_value(lower), SMALLEST)), chances


@dataclass(frozen=True, eq=False)
class ScoreTest:
    """A sum of scores of n reports: by its weights, what its exponent costs after each other answer, its variances."""

    n: float
    columns: Array  # the weights
    exponents: Array
    costs: Array  # the largest ln E exp(s w) of all other answers, for each exponent
    variances: tuple[float, float]  # of one score: after the answer, and the most after another

    def p_value(self, total: Array) -> Array:
        """P-value of absence: the smallest Chernoff bound."""
        bounds = self.n * self.costs - np.multiply.outer(np.asarray(total, dtype=np.float64), self.exponents)
        return np.asarray(np.exp(np.minimum(bounds.min(axis=-1), 0.0)))

    def smallest(self, alpha: float, power: float) -> float:
        """Smallest share that is detected with this power, by the normal distribution of the sum."""
        critical = float(((self.n * self.costs - math.log(alpha)) / self.exponents).min())

        def detected(share: float) -> bool:
            return float(ndtr((self.n * share - critical) / self._deviation(share))) >= power

        return bisected(detected, 0.0, 1.0, steps=SHARE_HALVINGS)[1] if detected(1.0) else math.inf

    def law(self, share: float) -> tuple[Array, Array]:
        """Values of -ln p and their probabilities at this share, by the normal distribution of the sum."""
        edges = np.linspace(-LAW_DEVIATIONS, LAW_DEVIATIONS, LAW_POINTS + 1)
        totals = self.n * share + self._deviation(share) * edges
        return -np.log(np.maximum(self.p_value(totals[:-1]), SMALLEST)), np.diff(ndtr(edges))

    def _deviation(self, share: float) -> float:
        within, without = self.variances
        mixed = share * within + (1 - share) * without + share * (1 - share)
        return math.sqrt(self.n * max(mixed, SMALLEST))


Evidence = CountTest | ScoreTest


def best_tests(design: Design, indices: Sequence[int], n: float, alpha: float, power: float) -> list[Evidence | None]:
    """Choose the test with the smallest detectable share for each answer; None if the table is too large."""
    operator = design.law.likelihood()
    answers, kinds = operator.shape
    if answers**2 * kinds > MOST_SEARCHED_CELLS:
        return [None] * len(indices)
    matrix = np.asarray(operator.forward(np.eye(answers)))
    inverse, identified = design.law.linear.weights(), design.law.linear.identifiable()
    tests: list[Evidence | None] = []
    for index in indices:
        own, others = matrix[index], np.delete(matrix, index, axis=0)
        able: list[Evidence] = [_best_set(own, others, n, alpha, power)]
        if identified[index] and design.k > 2:
            able.append(_summed(own, others, inverse[:, index], n))
        tests.append(min(able, key=lambda test: test.smallest(alpha, power)))
    return tests


def _best_set(likelihoods: Array, others: Array, n: float, alpha: float, power: float) -> CountTest:
    """Find the set of reports whose count detects the smallest share."""
    if likelihoods.size <= TYPES_ENUMERATED:  # all sets but the empty one and that of all
        sets = np.array(list(itertools.product((0.0, 1.0), repeat=likelihoods.size)))[1:-1]
    else:
        sets = _sets_by_ratio(likelihoods, others)
    held, chances = sets @ likelihoods, others @ sets.T
    absent, least = np.clip(chances.max(axis=0), 0, 1), np.clip(chances.min(axis=0), 0, 1)
    # The share that would be needed, by the normal law; then exactly, for the best ones.
    noise = np.sqrt(absent * (1 - absent) / n)
    needed = absent - least + (float(-ndtri(alpha)) + float(ndtri(power))) * noise + 1 / n
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(held > absent, needed / (held - least), np.inf)
    best = np.argsort(shares, kind="stable")[:SETS_COMPARED].tolist()
    tests = [CountTest(n, absent[s], least[s], min(held[s], 1.0), sets[s]) for s in best]
    # Where no share is sure to be found, the best by its distance from the others
    return min(tests, key=lambda test: (test.smallest(alpha, power), test.absent - test.present))


def _sets_by_ratio(likelihoods: Array, others: Array) -> Array:
    """List the sets of reports with the largest likelihood ratios, against mixtures of the most confused answers."""
    weights, sets = np.full(len(others), 1 / len(others)), []
    for moved in range(1, MIXTURES_TRIED + 1):
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(likelihoods > 0, likelihoods / (weights @ others), 0.0)
        order = np.argsort(-ratio, kind="stable")
        apart = likelihoods[order].cumsum() - others[:, order].cumsum(axis=1).max(axis=0)
        best = int(apart[:-1].argmax()) + 1
        for size in {best, *(1 + np.argsort(-apart[:-1])[:SETS_COMPARED]).tolist()}:
            members = np.zeros(likelihoods.size)
            members[order[:size]] = 1
            sets.append(members)
        confused = int(others[:, order[:best]].sum(axis=1).argmax())
        weights = (1 - 1 / (moved + 1)) * weights
        weights[confused] += 1 / (moved + 1)
    return np.unique(sets, axis=0)


def _summed(likelihoods: Array, others: Array, weights: Array, n: float) -> ScoreTest:
    exponents = EXPONENTS / np.abs(weights).max()
    costs = np.log(others @ np.exp(np.multiply.outer(weights, exponents))).max(axis=0)
    variances = [float((rows @ weights**2 - (rows @ weights) ** 2).max()) for rows in (likelihoods[np.newaxis], others)]
    return ScoreTest(n, weights, exponents, costs, (variances[0], variances[1]))


def smallest_together(tests: Sequence[Evidence], alpha: float, power: float) -> float:
    """Smallest share that several tests detect together, with p-values combined by Fisher's method."""
    alone = min(test.smallest(alpha, power) for test in tests)
    if len(tests) == 1:
        return alone
    critical, power_quantile = float(gammainccinv(len(tests), alpha)), float(ndtri(power))
    if _beyond(tests, 1.0, critical) < power:
        return math.inf

    def excess(share: Array, _: Mask) -> Array:
        chance = _beyond(tests, share.item(), critical)
        return np.asarray(ndtri(np.clip(chance, SMALLEST, 1 - ROUNDING)) - power_quantile)

    # Alone, a share is detected if it has about this number of standard errors.
    start = np.clip([alone], SMALLEST_START, 1.0)
    scale = start / max(power_quantile - float(ndtri(alpha)), 1.0)
    return float(rising_roots(excess, start, scale, 0.0, 1.0, SHARE_TOLERANCE * scale)[0])


def _beyond(tests: Sequence[Evidence], share: float, critical: float) -> float:
    """Probability that the total evidence of all tests is at least the critical value."""
    *others, last = (_in_classes(test, share, critical) for test in tests)
    together = others[0]
    for one in others[1:]:
        spectra = (np.fft.rfft(law, 2 * EVIDENCE_CLASSES) for law in (together, one))
        sums = np.fft.irfft(next(spectra) * next(spectra), 2 * EVIDENCE_CLASSES)
        together = np.append(sums[: EVIDENCE_CLASSES - 1], sums[EVIDENCE_CLASSES - 1 :].sum())
    # All but the last fall short by so much, and the last by more than that.
    return float(1 - together[:-1] @ last.cumsum()[-2::-1])


def _in_classes(test: Evidence, share: float, critical: float) -> Array:
    """Distribution of the evidence of a test in classes of equal width; the last class is enough evidence."""
    values, chances = test.law(share)
    width = critical / (EVIDENCE_CLASSES - 1)
    indices = np.minimum(np.floor(values / width), EVIDENCE_CLASSES - 1).astype(np.int64)  # never more than it is
    return np.bincount(indices, weights=chances, minlength=EVIDENCE_CLASSES).astype(np.float64)


def own_count(n: float, base: float, gain: float) -> CountTest:
    """Test of an answer with its own count; with p < q it counts the reports that do not name the answer."""
    return CountTest(n, base, base, base + gain) if gain > 0 else CountTest(n, 1 - base, 1 - base, 1 - base - gain)


def observed(test: Evidence, counts: Counts) -> Array:
    """Test statistics, from counts of shape (groups, columns)."""
    assert test.columns is not None
    return np.asarray(counts @ test.columns)


# Multiple testing


CORRECTIONS = ("holm", "bh")


def adjusted(p_values: Array, correction: str) -> Array:
    """Adjust p-values for their number, along the last axis, by Holm or by Benjamini and Hochberg.

    Benjamini and Hochberg's method is not proven for counts, which are negatively dependent.
    """
    if correction not in CORRECTIONS:
        raise ValueError(f'correction must be "holm" or "bh", but got {correction!r}')
    k = p_values.shape[-1]
    order = np.argsort(p_values, axis=-1)
    ranked = np.take_along_axis(p_values, order, axis=-1)
    if correction == "holm":
        stepped = np.maximum.accumulate(ranked * np.arange(k, 0, -1), axis=-1)
    else:
        stepped = np.minimum.accumulate((ranked * k / np.arange(1, k + 1))[..., ::-1], axis=-1)[..., ::-1]
    result = np.empty_like(p_values)
    np.put_along_axis(result, order, np.minimum(stepped, 1), axis=-1)
    return result


# Presence


HARDEST_ANSWERS = 4  # those whose smallest share is computed for several collections together


@dataclass(frozen=True, eq=False, repr=False)
class Presence(TableResult):
    """The detected answers: those whose reports rise above the noise.

    Attributes
    ----------
    p_values : ndarray of shape (k,), or (groups, k)
        Of the hypothesis that no respondent has the answer, for each answer alone.
    adjusted : ndarray of the same shape
        The p-values, adjusted for the number of answers.
    found : ndarray of bool of the same shape
        Whether the adjusted p-value is at most 1 - ``level``.
    smallest : float or ndarray of shape (groups,)
        The share from which an answer would have been found with probability ``power``.
    level, power : float
        Confidence of all findings together; see `warner.Estimate.present`.
    correction : str
        holm or bh.
    approximate : bool
        Whether the p-values are approximate.
    tally : Tally or Pool
        The reports.
    """

    p_values: Array
    adjusted: Array
    found: Mask
    smallest: PerGroup
    level: float
    power: float
    correction: str
    approximate: bool
    tally: Collected

    _rows_key = ""

    def _columns(self) -> list[Column]:
        p, adjusted, found = (np.ravel(part) for part in (self.p_values, self.adjusted, self.found))
        return [
            *name_columns(answer_columns(self.tally)),
            Column("p_values", p, "p", partial(p_value_cells, p)),
            Column("adjusted", adjusted, "adjusted p", partial(p_value_cells, adjusted)),
            Column("found", found, "detected"),
        ]

    def _title(self) -> str:
        return "Tests of the hypothesis that no respondent has the answer"

    def _footnotes(self) -> list[str]:
        by = {"holm": "Holm's method", "bh": "Benjamini and Hochberg's method, which is not proven here"}
        return [
            reports_in_papers(self.tally),
            f"p-values are {'approximate' if self.approximate else 'exact'}",
            f"adjusted for the number of answers by {by[self.correction]}; level {level_text(self.level)}",
        ]

    def text(self) -> str:
        """Return the names of the detected answers, for each group."""
        error = f"{100 * (1 - self.level):.6g} %"
        promise = {
            "holm": f"the family-wise error rate is at most {error}",
            "bh": f"the false discovery rate is about {error}, which is not proven",
        }[self.correction]
        about = "approximate, " if self.approximate and self.tally.simple else ""
        lines = [f"Detected answers ({about}{promise}{about_groups(self.tally)}):"]
        least = np.atleast_1d(self.smallest).tolist()
        for index, (group, found) in enumerate(group_rows(self.tally, self.found)):
            if found is None:
                lines.append(f"{group}no reports")
                continue
            named = names_of(self.tally, index, found) or "none rises above the noise"
            share = f"a share of {percent(least[index])}" if least[index] <= 1 else "not even a share of 100 %"
            lines.append(f"{group}{named}")
            lines.append(f"  {share} is detected with a probability of {level_text(self.power)}")
        return "\n".join(lines)

    def _facts(self) -> Document:
        return {
            **listed_groups(self.tally),
            "found": listed_labels(self.tally, self.found),
            "smallest": self.smallest,
            "level": self.level,
            "power": self.power,
            "correction": self.correction,
            "approximate": self.approximate,
        }


def presence(tally: Collected, *, level: float, correction: str, power: float) -> Presence:
    """Test for each answer that no respondent has it, with adjusted p-values."""
    check_level(level)
    check_power(power)
    alpha = 1 - level
    answered = tally.answered
    if len(tally.parts) == 1:
        counts, n = tally.parts[0].scaled()
        detection = _of_design(tally.parts[0].design, counts[answered], n[answered], alpha / tally.k, power)
        p_values, smallest = detection.p_values, detection.smallest(alpha / tally.k, power)
        approximate = detection.errors is not None
    else:
        rows = [_of_group(tally.parts, group, alpha / tally.k, power) for group in np.flatnonzero(answered).tolist()]
        p_values, smallest = np.stack([row[0] for row in rows]), np.array([row[1] for row in rows])
        approximate = any(row[2] for row in rows)
    p_values, smallest = in_all_groups(p_values, answered), in_all_groups(smallest, answered)
    corrected = adjusted(p_values, correction)
    plain, detected = tally.squeezed(p_values), tally.squeezed(corrected <= alpha)
    found = plain, tally.squeezed(corrected), detected, tally.squeezed(smallest)
    return Presence(*found, level, power, correction, approximate or not tally.simple, tally)


class Detection(NamedTuple):
    """Tests of absence in one collection.

    `tests` has a list for each group: one test for each answer, or a single one if all are symmetric; where the
    channel matrix is too large, p-values are normal, and `errors` are the standard errors, of shape (groups, k).
    """

    p_values: Array
    tests: list[list[Evidence]]
    errors: Array | None

    def smallest(self, alpha: float, power: float) -> Array:
        """Smallest share that is detected for every answer, in each group."""
        if self.errors is not None:
            return np.asarray(float(ndtri(power) - ndtri(alpha)) * self.errors.max(axis=-1))
        return np.array([max(test.smallest(alpha, power) for test in tests) for tests in self.tests])


def _of_design(design: Design, counts: Counts, n: Array, alpha: float, power: float) -> Detection:
    """Test each answer in each group, by its own count or by the test that detects the smallest share."""
    readout = design.law.readout(counts, n)
    p_values, totals = absence_p_values(readout), n[:, 0]
    if readout.exact.ndim == 0:
        rate = float(readout.base), float(readout.gain)
        fewest = np.broadcast_to(readout.trials, readout.count.shape).min(axis=-1)  # who were asked about some answer
        return Detection(p_values, [[own_count(total, *rate)] for total in fewest.tolist()], None)
    others = np.flatnonzero(~np.asarray(readout.exact)).tolist()
    by_total: dict[float, dict[int, Any]] = {
        total: dict(zip(others, best_tests(design, others, total, alpha, power), strict=True))
        for total in np.unique(totals).tolist()
    }
    # An answer with its own count is tested by that, others by the best test.
    shape = readout.count.shape
    laws = zip(*(np.broadcast_to(part, shape) for part in (readout.trials, readout.base, readout.gain)), strict=True)
    tests = [
        [by_total[total].get(index, own_count(*law)) for index, law in enumerate(np.transpose(row).tolist())]
        for total, row in zip(totals.tolist(), laws, strict=True)
    ]
    if any(None in row for row in tests):
        assert readout.error is not None
        return Detection(p_values, [], np.where(readout.exact, 0.0, readout.error))
    for total, row in by_total.items():
        groups = np.flatnonzero(totals == total)
        for index in others:
            p_values[groups, index] = row[index].p_value(observed(row[index], counts[groups]))
    return Detection(p_values, tests, None)


def absence_p_values(readout: SamplingModel) -> Array:
    r"""P-value of absence for each answer, under which its count is :math:`\text{Bin}(n, q)`."""
    base, gain, n = readout.base, readout.gain, readout.trials
    if readout.exact.ndim == 0 and readout.exact:
        if gain > 0:
            return at_each_count(lambda c, total: at_least(c, total, base), readout.count, n)
        # With p < q, an answer with a positive share has a low count.
        return at_each_count(lambda c, total: at_least(total - c, total, 1 - base), readout.count, n)
    above = at_least(readout.count, n, base)
    below = at_least(n - readout.count, n, 1 - base)
    assert readout.error is not None
    # Where reports do not tell a share, nothing speaks against its absence.
    normal = np.where(np.isinf(readout.error), 1.0, ndtr(-ratio_to_error(readout.share(), readout.error)))
    return np.where(readout.exact, np.where(np.asarray(gain) > 0, above, below), normal)


def _of_group(parts: tuple[Tally, ...], group: int, alpha: float, power: float) -> tuple[Array, float, bool]:
    """Combine the p-values of the collections by Fisher's method; also return the smallest detectable share."""
    detections = []
    for part in parts:
        if part.answered[group] and part.design.epsilon > 0:
            counts, n = part.scaled()
            detections.append(_of_design(part.design, counts[[group]], n[[group]], alpha, power))
    logs = -np.log(np.maximum([one.p_values[0] for one in detections], np.finfo(np.float64).tiny)).sum(axis=0)
    p_values = gammaincc(len(detections), logs)
    if any(one.errors is not None for one in detections):
        # By the collection that tells the most, as if it were alone
        return p_values, min(float(one.smallest(alpha, power)[0]) for one in detections), True
    answers = max(len(one.tests[0]) for one in detections)
    each = [[one.tests[0][i % len(one.tests[0])] for one in detections] for i in range(answers)]
    # What is hard to find alone is hard to find together: only those answers are looked at.
    each.sort(key=lambda tests: -min(test.smallest(alpha, power) for test in tests))
    return p_values, max(smallest_together(tests, alpha, power) for tests in each[:HARDEST_ANSWERS]), False
