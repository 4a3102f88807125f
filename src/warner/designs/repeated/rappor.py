r"""RAPPOR: a bit for each answer, in a permanent and an instantaneous randomized response [1]_.

A unary encoding with probabilities :math:`p_1, q_1`, whose bits are drawn again with :math:`p_2` where they
are 1 and with :math:`q_2` where they are 0, tells most by :math:`\tau` ones for one answer and :math:`\tau` zeros for
another. With :math:`r = (q_2/p_2)^\tau` and :math:`s = ((1-p_2)/(1-q_2))^\tau`,

.. math:: \varepsilon_\tau = \ln\frac{p_1 + (1-p_1)\,r}{q_1 + (1-q_1)\,r} \cdot
                              \frac{1-q_1 + q_1 s}{1-p_1 + p_1 s}
          \;\to\; \varepsilon_\infty = \ln\frac{p_1 (1-q_1)}{q_1 (1-p_1)}.

Basic RAPPOR has the parameters f, p and q: a permanent bit is the true one with probability 1 - f/2, so that
:math:`p_1 = 1 - f/2` and :math:`q_1 = f/2`; a reported bit is 1 with probability q where the permanent one is 1, and
with probability p where it is 0, so that :math:`p_2 = q` and :math:`q_2 = p`. L-SUE has the same two rounds,
made from their epsilons, and L-OSUE an optimal first round [2]_.

A worked number: f = 1/2, p = 1/2, q = 3/4. One report is a unary encoding with p = 3/4 * 3/4 + 1/4 * 1/2 = 11/16 and
q = 1/4 * 3/4 + 3/4 * 1/2 = 9/16; any number of them together have odds of at most (3/4 * 3/4) : (1/4 * 1/4) = 9 : 1.

References
----------
.. [1] Ú. Erlingsson, V. Pihur, A. Korolova, "RAPPOR: randomized aggregatable privacy-preserving ordinal response", ACM
   CCS 2014, 1054-1067.
.. [2] H. H. Arcolezi, J.-F. Couchot, B. Al Bouna, X. Xiao, "Improving the utility of locally differentially private
   protocols for longitudinal and multidimensional frequency estimates", Digital Communications and Networks 10 (2024),
   369-379.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from warner.designs.draws import Compared, bernoulli
from warner.designs.exact import lowest_terms, probability
from warner.designs.repeated.rounds import Rounds, power_not_above
from warner.designs.unary import BITS_AT_ONCE, UnaryEncoding

if TYPE_CHECKING:
    from warner.arrays import Counts, Integers
    from warner.designs.draws import RandomBytes
    from warner.designs.exact import Number
    from warner.designs.labels import Labels
    from warner.designs.report_forms import BitForm


def basic_rappor(domain: Labels, f: Number, p: Number, q: Number) -> tuple[UnaryEncoding, UnaryEncoding]:
    """Give the two rounds of basic RAPPOR, from the parameters of its paper."""
    rate, zero, one = probability("f", f), probability("p", p), probability("q", q)
    if not 0 < rate < 1:
        raise ValueError(
            f"f must be above 0, so that there is noise, and below 1, so that reports say something, but got {f}"
        )
    if not 0 < zero < one:
        raise ValueError(f"p and q must have 0 < p < q, as in RAPPOR's paper, but got {p} and {q}")
    return UnaryEncoding(domain, p=1 - rate / 2, q=rate / 2), UnaryEncoding(domain, p=one, q=zero)


@dataclass(frozen=True)
class BitRounds(Rounds):
    """Unary encoding, and each of its bits drawn again: the key is the answer."""

    first: UnaryEncoding
    second: UnaryEncoding

    @property
    def draws(self) -> tuple[int, ...]:
        """Those of the first round, and for each bit one if it is 1 and one if it is 0, whatever it is."""
        again = [Compared(rate.denominator) for rate in (self.second.one, self.second.zero) for _ in range(self.keys)]
        return (*self.first.draws, *again)

    @property
    def form(self) -> BitForm:
        """A permanent response is a row of bits."""
        return self.first.report_form

    def again(self, responses: Counts, hashes: Integers, random_bytes: RandomBytes) -> Counts:
        """Draw each bit again; as many draws whatever the bits are."""
        reports, rates = np.empty_like(responses), (self.second.one, self.second.zero)
        step = max(1, BITS_AT_ONCE // self.keys)
        for start in range(0, len(responses), step):
            part = slice(start, start + step)
            bits = np.unpackbits(responses[part], axis=1, count=self.keys).astype(bool)
            ones, zeros = (bernoulli(bits.size, rate.numerator, rate.denominator, random_bytes) for rate in rates)
            reports[part] = np.packbits(np.where(bits, ones.reshape(bits.shape), zeros.reshape(bits.shape)), axis=1)
        return reports

    def odds_after(self, reports: int) -> tuple[int, int]:
        """Give the odds of so many ones for one answer and zeros for another."""
        (p, q), (c, d) = ((stage.one, stage.zero) for stage in (self.first, self.second))
        r, s = power_not_above(d / c, reports), power_not_above((1 - c) / (1 - d), reports)
        ones, zeros = (p + (1 - p) * r) / (q + (1 - q) * r), (1 - q + q * s) / (1 - p + p * s)
        return lowest_terms(ones * zeros, 1)

    def happens(self) -> str:
        return (
            "the first time that somebody gives an answer, a permanent response to it is drawn, and kept: a bit for "
            f"each answer, which is 1 with probability {self.first.p:.4g} for that answer and with {self.first.q:.4g} "
            f"for each other one. Every report draws each bit again: it is 1 with probability {self.second.p:.4g} "
            f"where the permanent bit is 1, and with {self.second.q:.4g} where it is 0."
        )

    def changes(self) -> str:
        p, q, k = self.first.p, self.first.q, self.keys
        differ = 2 * (p * (1 - q) + q * (1 - p)) + (k - 2) * 2 * q * (1 - q)
        return (
            f"The permanent responses to two answers differ in about {differ:,.3g} of {k:,} bits, and the noise of the "
            "second round cannot hide so many for long: a few reports show the change. By their bits, reports of one "
            "person can be told from those of others."
        )
