r"""dBitFlipPM: each person is asked about the same few answers for ever, and keeps a noisy bit for each of them [1]_.

The d answers that a person is asked about are drawn once. The first round sees which of them is the true answer, or
that none is: that is the *key*, of which there are d + 1 (K, if all answers are asked about). For each key the d bits
are drawn once, each right with odds s : t, and kept. dBitFlipPM sends these bits at every report: there is no second
round, so that all reports of an unchanged answer are equal, and spend :math:`\varepsilon_\infty = 2 \ln(s/t)` together
(:math:`\ln(s/t)` if d = 1), as one does. **But every change of the key shows at once**, unless all d bits happen to be
the same. A second round, in which each bit is turned round again at odds c : e, hides that for a while, as in RAPPOR:
with :math:`r = (e/c)^\tau`, so many reports of an unchanged answer spend

.. math:: \varepsilon_\tau = 2 \ln\frac{s + t r}{t + s r}

together; the half of it if d = 1. Without a second round e and r are 0.

A worked number: 2 of 4 answers, bits at odds 3 : 1 and again 3 : 1. Bits of one report have odds 3 * 3 + 1 : 3 + 3, or
5 : 3, so that it spends 2 ln(5/3) = 1.022; two reports spend 2 ln(7/3) = 1.695, any number of them 2 ln 3 = 2.198.

References
----------
.. [1] B. Ding, J. Kulkarni, S. Yekhanin, "Collecting telemetry data privately", Advances in Neural Information
   Processing Systems 30 (2017), 3571-3580.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from warner.designs.draws import Compared, bernoulli
from warner.designs.exact import lowest_terms
from warner.designs.repeated.rounds import Rounds, power_not_above
from warner.designs.report_forms import BitForm
from warner.designs.unary import BITS_AT_ONCE

if TYPE_CHECKING:
    from warner.arrays import Counts, Integers, Label
    from warner.designs.bit_flips import BitFlips
    from warner.designs.contract import Design
    from warner.designs.draws import RandomBytes
    from warner.designs.response import RandomizedResponse


@dataclass(frozen=True)
class FlipRounds(Rounds):
    """Answers to ask about for ever, and bits for them, each drawn again: the key is which of them is true, if any."""

    first: BitFlips
    second: RandomizedResponse

    key = "answer asked about"

    @property
    def keys_in_words(self) -> str:
        return "answers asked about" + (", all others being one" if self.keys > self.first.size else "")

    @cached_property
    def once(self) -> Design:
        """Bit flips, of which a bit is right with the odds of both rounds."""
        (s, t), (c, e) = self.first.odds, self.second.odds
        return self.first.at_odds(*lowest_terms(Fraction(s * c + t * e), Fraction(s * e + t * c)))

    @property
    def keys(self) -> int:
        """One key for each answer that is asked about, and one for all others."""
        return self.first.size + (self.first.size < self.first.k)

    @property
    def draws(self) -> tuple[int, ...]:
        """Those of the first round, and whether each bit is turned round again."""
        return (*self.first.draws, *[Compared(sum(self.second.odds))] * self.first.size)

    @property
    def form(self) -> BitForm:
        """A permanent response is a row of bits, one for each answer that is asked about."""
        return BitForm(self.first.size)

    def hashes(self, size: int, random_bytes: RandomBytes) -> Counts:
        """Draw the answers that each of so many people is asked about."""
        return self.first.assigned(size, random_bytes)

    def written_hash(self, hashes: Counts) -> Label:
        """Write the answers that one person is asked about, in hexadecimal."""
        return str(hashes[0].tobytes().hex())

    def read_hash(self, text: object, size: int) -> Counts | None:
        """Read them, so many times; None for anything else."""
        read = BitForm(self.first.k, self.first.size).read([text])
        return None if read.status.any() else np.repeat(read.reports, size, axis=0)

    def keyed(self, answers: Integers, hashes: Counts) -> Integers:
        """Find each answer among those that its owner is asked about; beyond the last of them if it is not there."""
        found = self.first.places(hashes) == answers[:, np.newaxis]
        return np.where(found.any(axis=1), found.argmax(axis=1), self.first.size)

    def permanent(self, keys: Integers, random_bytes: RandomBytes) -> Counts:
        bits = self.first.bits(keys[:, np.newaxis] == np.arange(self.first.size), random_bytes)
        return np.packbits(bits, axis=1)

    def again(self, responses: Counts, hashes: Counts, random_bytes: RandomBytes) -> Counts:
        """Turn bits round again, and tell them with the answers that were asked about."""
        bits = np.unpackbits(responses, axis=1, count=self.first.size).astype(bool)
        c, e = self.second.odds
        turned = bernoulli(bits.size, e, c + e, random_bytes).reshape(bits.shape)
        return self.first.written(hashes, bits ^ turned)

    def draw(self, answers: Integers, random_bytes: RandomBytes) -> Counts:
        """Draw the first report of each of these people, both rounds afresh, some people at a time."""
        step = max(1, BITS_AT_ONCE // self.first.k)
        starts = range(0, max(answers.size, 1), step)
        return np.concatenate([super(FlipRounds, self).draw(answers[at : at + step], random_bytes) for at in starts])

    def odds_after(self, reports: int) -> tuple[int, int]:
        """Give the odds of so many ones for one answer and, of two bits or more, zeros for another."""
        (s, t), (c, e) = self.first.odds, self.second.odds
        r = power_not_above(Fraction(e, c), reports)
        ratio = (s + t * r) / (t + s * r)
        return lowest_terms(ratio if self.first.size == 1 else ratio**2, Fraction(1))

    def happens(self) -> str:
        size, k = self.first.size, self.first.k
        which = "all" if size == k else f"{size:,}"
        again = (
            "Every report tells the permanent bits as they are."
            if not self.second.odds[1]
            else f"Every report turns each permanent bit round again with probability {self.second.q:.4g}."
        )
        return (
            f"{which} of the {k:,} answers are drawn once for each person, for ever. The first time that one of these, "
            "or any other answer, is true, a permanent bit for each of them is drawn, and kept: 1 for the true answer "
            f"and 0 for any other, but turned round with probability {self.first.q:.4g}. {again}"
        )

    def changes(self) -> str:
        p, q, size = self.first.p, self.first.q, self.first.size
        apart = 1 if self.keys > size else 2  # bits whose law changes at least: to an answer that is not asked about
        same = (2 * p * q) ** apart * (p * p + q * q) ** (size - apart)
        link = "By the answers that they are asked about, reports of one person can be told from those of others."
        if not self.second.odds[1]:
            return (
                "There is no second round to hide it: a change from or to an answer that is asked about shows at once, "
                f"but for at most {100 * same:.2g} % of changes, after which all bits happen to be the same. {link}"
            )
        return (
            "Only the noise of the second round hides it, and that wears off: each report shows it by up to epsilon "
            f"{self.second.shown_epsilon()} for each bit that differs. {link}"
        )
