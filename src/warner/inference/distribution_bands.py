r"""Dvoretzky, Kiefer and Wolfowitz's band of a distribution function: limits of all cumulative shares at once.

The distribution function of reports that each name one answer, :math:`G(t) = (t+1)q + (p-q)F(t)`, is nowhere further
than :math:`\sqrt{\ln(2/\alpha)/(2n)}` from what was observed, with probability at least :math:`1 - \alpha`, for every n
and every law, with Massart's constant [1]_; so F(t) is nowhere further than that over :math:`|p - q|`.

References
----------
.. [1] P. Massart, "The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality", Annals of Probability 18 (1990),
   1269-1283.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from warner.arrays import Array
    from warner.designs.facts import Readout
    from warner.inference.intervals import Confidence
    from warner.reports.tallies import Tally

BAND_ANSWERS = 9  # from so many on, one band for all cumulative shares is narrower than Bonferroni's correction


def has_band(part: Tally, confidence: Confidence) -> bool:
    """Tell whether the cumulative shares are to hold at once, and reports of one law name one of many answers each."""
    everybody = confidence.simultaneous and confidence.target == "population" and part.simple
    design = part.design
    return bool(everybody and design.symmetry is not None and design.exclusive and design.k >= BAND_ANSWERS)


def dkw_band(readout: Readout, level: float) -> tuple[Array, Array]:
    """Give the lower and upper limits of the cumulative shares that show in this way."""
    half = np.sqrt(math.log(2 / (1 - level)) / (2 * readout.trials)) / abs(np.asarray(readout.gain))
    share = readout.share()
    return np.clip(np.minimum(share, 1) - half, 0, 1), np.clip(np.maximum(share, 0) + half, 0, 1)
