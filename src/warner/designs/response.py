r"""Randomized response: two whole numbers, the odds :math:`a : b` of the truth against *each* lie.

.. math:: p = \frac{a}{a + (K-1)b}, \qquad q = \frac{b}{a + (K-1)b}, \qquad \varepsilon = |\ln(a/b)|.

A worked number: three answers at odds 3 : 1 are reported truthfully with probability 3/5 and turned into each of
the two others with probability 1/5, and :math:`\varepsilon = \ln 3 \approx 1.0987` (rounded up).

The same design has many names in the wild, and libraries disagree on what "p" means, so that each of its parameters is
a keyword of `RandomizedResponse`: `epsilon`, `truth`, `redraw` (*rate* in browsers and in the literature) or `odds`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from warner.designs.channel import Channel
from warner.designs.contract import LARGEST_CHANNEL, Design, revealed
from warner.designs.draws import RandomBytes, in_batches, truth_or_lie, uniform
from warner.designs.exact import TOTAL_LIMIT, Number, Odds, lowest_terms, probability, refuse_wide
from warner.designs.facts import Symmetry
from warner.designs.histograms import ANSWERS_FOR_BULK, add_uniform, binomial_thinning, uniform_histograms
from warner.designs.labels import Domain, Labels, canonical
from warner.designs.symmetric import Budget, OddsDesign, SymmetricLaw

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Integers, Mask, Shape


@dataclass(frozen=True, init=False, repr=False)
class RandomizedResponse(OddsDesign):
    r"""Report the truth with probability p, and each of the K - 1 other answers with probability q.

    A frozen value: the contract between collectors of answers and analysts of reports. Give exactly
    one of the four parametrisations; numbers are taken as written (``truth=0.9`` is 9/10, not the nearest
    binary fraction).

    Parameters
    ----------
    domain : int or sequence of str or of int
        The possible answers, all distinct, in the order of every result; or their number K, for the labels
        0..K-1.
    epsilon : number, optional
        The most that one report may reveal, in nats, from 1e-9 to 40. The design never spends more.
    truth : number, optional
        The probability p that the report is the truth, from 0 to 1.
    redraw : number, optional
        The probability that the answer is replaced by one drawn uniformly from *all* K answers, from 0 to 1.
    odds : pair of numbers or str, optional
        Truth against each lie, ``(a, b)`` or ``"a:b"``. ``(1, 0)`` always reports the truth.

    Attributes
    ----------
    domain : tuple or range
        The labels; consecutive integers are held as a range and cost no memory.
    odds : tuple of int
        ``(a, b)`` in lowest terms.

    Notes
    -----
    ``p < q`` (odds below one, such as Warner's design with p < 1/2) is legal, and so is ``p = q``, which
    reveals nothing and from which nothing can be estimated.

    References
    ----------
    .. [1] S. L. Warner, "Randomized response: a survey technique for eliminating evasive answer bias",
       J. Amer. Stat. Assoc. 60 (1965), 63-69.

    Examples
    --------
    >>> survey = RandomizedResponse(["never", "once", "often"], odds=(3, 1))
    >>> survey.p, survey.q
    (0.6, 0.2)
    >>> survey
    <RandomizedResponse among 3 answers ('never', 'once', 'often'): truth 0.6, each lie 0.2, epsilon 1.099>
    >>> RandomizedResponse(4, redraw="1/2").odds
    (5, 1)
    """

    domain: Labels
    odds: tuple[int, int]

    mechanism = "randomized response"
    parameters = ("epsilon", "truth", "redraw", "odds")
    field_names = frozenset({"domain", "odds"})
    _each_other = "each lie"
    _opening = "RandomizedResponse among"

    @property
    def law(self) -> ResponseLaw:
        return ResponseLaw(self)

    def __init__(
        self,
        domain: Domain,
        *,
        epsilon: Number | None = None,
        truth: Number | None = None,
        redraw: Number | None = None,
        odds: Odds | None = None,
    ) -> None:
        given = {"epsilon": epsilon, "truth": truth, "redraw": redraw, "odds": odds}
        named = [name for name, value in given.items() if value is not None]
        if len(named) != 1:
            what = f"got {' and '.join(named)}" if named else "got none of them"
            raise TypeError(f"a design needs exactly one of epsilon, truth, redraw and odds, but {what}")
        labels = canonical(domain)
        k = len(labels)
        if truth is not None:
            p = probability("truth", truth)
            a, b = lowest_terms(p * (k - 1), 1 - p)
        elif redraw is not None:
            rate = probability("redraw", redraw)
            a, b = lowest_terms(k * (1 - rate) + rate, rate)
        else:
            a, b = self._best(k, Budget(epsilon, odds))["odds"]
        self._set(domain=labels, odds=(a, b))
        self._check()

    @classmethod
    def _best(cls, k: int, budget: Budget) -> dict[str, Any]:
        return {"odds": budget.odds_within(k, lambda a, b: a + (k - 1) * b)}

    def _check(self) -> None:
        """Raise an error for odds that cannot be drawn; odds above 64 bits take several draws."""
        a, b = self.odds
        refuse_wide(a + (self.k - 1) * b)

    @cached_property
    def symmetry(self) -> Symmetry:
        """The probabilities of the truth and of each lie."""
        a, b = self.odds
        return Symmetry(Fraction(a, self.total), Fraction(b, self.total))

    @property
    def outputs(self) -> Labels:
        """The possible reports, which are the answers."""
        return self.domain

    @property
    def total(self) -> int:
        """Number of equally likely draws that decide one report, a + (K-1) b."""
        a, b = self.odds
        return a + (self.k - 1) * b

    def supports(self, reports: Counts) -> Mask:
        return np.asarray(reports[:, np.newaxis] == np.arange(self.k))

    def channel(self) -> Array:
        """Return the K x K matrix of P(report | truth): a row for each truth, a column for each report.

        >>> RandomizedResponse(["yes", "no"], truth="3/4").channel()
        array([[0.75, 0.25],
               [0.25, 0.75]])
        """
        if self.k > LARGEST_CHANNEL:
            raise ValueError(
                f"the channel of K = {self.k} answers would hold {self.k**2:,} numbers; the limit is "
                f"K = {LARGEST_CHANNEL}; p and q contain all of it"
            )
        return self.law._table()

    @property
    def draws(self) -> tuple[int, ...]:
        return (self.total,)

    @classmethod
    def examples(cls) -> tuple[RandomizedResponse, ...]:
        return (
            cls(["never", "once", "often"], odds=(3, 1)),
            cls(2, truth="3/4"),
            cls(4, odds=(1, 2)),
            cls([5, 3, 8], odds=(0, 1)),
            cls(3, odds=(1, 0)),
        )

    @in_batches()
    def draw(self, answers: Integers, random_bytes: RandomBytes) -> Integers:
        return truth_or_lie(uniform(answers.size, self.total, random_bytes), answers, *self.odds)

    def as_channel(self) -> Channel:
        if self.k > LARGEST_CHANNEL:
            raise self._too_large_for_a_matrix()
        a, b = self.odds
        weights = np.full((self.k, self.k), b, dtype=np.int64 if self.total < TOTAL_LIMIT else object)
        np.fill_diagonal(weights, a)
        return Channel.of_weights(self.domain, self.domain, weights, self.total)

    def then(self, second: Design) -> Design:
        """Chain two designs: reports of this one are the answers of the second. See `Design.then`.

        Two randomized responses in a row are one, exactly. Here the report is the truth with probability 3/5 times 3/5,
        plus 2/5 times 1/5: together 11/25, and 7/25 for each lie.

        >>> survey = RandomizedResponse(3, odds=(3, 1))
        >>> survey.then(survey).odds
        (11, 7)
        """
        if isinstance(second, RandomizedResponse) and second.domain == self.domain:
            (a, b), (c, d), k = self.odds, second.odds, self.k
            odds = lowest_terms(a * c + (k - 1) * b * d, a * d + b * c + (k - 2) * b * d)
            return self._make(domain=self.domain, odds=odds)
        return super().then(second)

    @overload
    def randomize(self, answers: str, *, codes: bool = False) -> str: ...
    @overload
    def randomize(self, answers: int | np.integer[Any], *, codes: bool = False) -> int: ...
    @overload
    def randomize(self, answers: list[str] | tuple[str, ...], *, codes: bool = False) -> list[str]: ...
    @overload
    def randomize(self, answers: list[int] | tuple[int, ...], *, codes: bool = False) -> list[int]: ...
    @overload
    def randomize(self, answers: np.ndarray[Any, Any], *, codes: bool = False) -> np.ndarray[Any, Any]: ...
    def randomize(self, answers: Any, *, codes: bool = False) -> Any:
        return super().randomize(answers, codes=codes)

    def _happens(self) -> str:
        if self.odds[1] == 0:
            return "none; every report is the true answer."
        return (
            f"with probability {self.p:.4g} the true answer is reported; otherwise one of the other answers, each with "
            f"probability {self.q:.4g}."
        )

    def _reveals(self) -> str:
        a, b = self.odds
        if b == 0:
            return "Privacy: none (epsilon inf)."
        if a == 0:
            return "Privacy: a report rules out one answer for certain (epsilon inf)."
        return revealed(self)

    def _deniable(self) -> str:
        p = 100 * self.p
        return f"{p:.3g} % of the reports are true answers, and {100 - p:.3g} % are not."


class ResponseLaw(SymmetricLaw):
    """Law of randomized response, simulated in O(K)."""

    design: RandomizedResponse

    def _draw_counts(self, shares: Array, n: int, rng: np.random.Generator, shape: Shape = ()) -> Integers:
        """Draw histograms of n sampled respondents: multinomial, or by keep and redraw."""
        keep = self._keep
        held = np.flatnonzero(shares)
        if self.k < ANSWERS_FOR_BULK or keep < 0 or 2 * min(n * keep, held.size) > self.k:
            return super()._draw_counts(shares, n, rng, shape)
        # Keep or redraw, as below: cheaper where few are kept, or few answers are held at all.
        kept_by = rng.binomial(n, keep, size=shape)
        reports = uniform_histograms(n - kept_by, self.k, rng)
        truths = shares[held] / shares[held].sum()
        if n * keep > held.size:
            reports[..., held] += rng.multinomial(kept_by, truths)
        else:
            ends = truths.cumsum()
            for row, people in zip(reports.reshape(-1, self.k), np.ravel(kept_by).tolist(), strict=True):
                # The last end may be rounded to just below one.
                index = np.minimum(ends.searchsorted(rng.random(people), side="right"), held.size - 1)
                row[held] += np.bincount(index, minlength=held.size)
        return reports

    def _draw_counts_of_people(self, people: Integers, rng: np.random.Generator, shape: Shape = ()) -> Integers:
        if self._keep < 0:
            return super()._draw_counts_of_people(people, rng, shape)
        held = np.flatnonzero(people)  # of many answers, most may be empty
        if 2 * held.size > self.k:
            reports = binomial_thinning(people, self._keep, shape, rng)
            add_uniform(reports.reshape(-1, self.k), people.sum() - reports.sum(axis=-1), rng)
            return reports
        keep = binomial_thinning(people[held], self._keep, shape, rng)
        reports = uniform_histograms(people.sum() - keep.sum(axis=-1), self.k, rng)
        reports[..., held] += keep
        return reports

    @property
    def _keep(self) -> float:
        """Probability p - q that an answer is kept, and not redrawn among all K."""
        return float(self.symmetry.p - self.symmetry.q)
