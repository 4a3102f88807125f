r"""Survey designs of the literature, such as Warner's, crosswise and forced response.

Each function returns a `Channel`: an exact table of the probabilities of the reports, with and without the trait, with
the instructions for the respondent in its ``procedure``. Numbers are taken as written: ``"1/6"`` is one sixth, and so
is ``Fraction(1, 6)``; ``0.7`` is 7/10.

====================  ==========================================  ==============================
design                P(first report \| trait)                     P(first report \| not)
====================  ==========================================  ==============================
`warner`              p                                           1 - p
`mirrored`            p                                           1 - p
`disguised`           p (*red*)                                   1 - p
`crosswise`           p (*same*)                                  1 - p
`forced_response`     truth + yes                                 yes
`unrelated_question`  p + (1 - p) prevalence                      (1 - p) prevalence
`mangat_singh`        truth + (1 - truth) p                       (1 - truth) (1 - p)
`mangat`              1                                           1 - p
`triangular`          1 (*at least one*)                          p
`kuk`                 binomial (draws, r1) on 0 ... draws         binomial (draws, r2)
`direct`              1                                           0
====================  ==========================================  ==============================

**Choice of the design.** Respondents must understand and believe it. Of two designs with the same epsilon, the one with
the larger difference of the two probabilities needs fewer respondents: with y and z for them and f for the share of the
first report, the standard error of the prevalence is :math:`\sqrt{f(1-f)/n} / |y - z|` (dividing by n, not by n - 1).
`crosswise` and `triangular` need no device, only a second question. With `mangat` and `triangular` one of the two
reports proves that the trait is absent, so epsilon is infinite: only respondents with the trait are protected.

For quantities, `cards` is the design of a deck: the truth, a number to say, to add, or to multiply by.

Two extensions are no designs: an unrelated question of unknown prevalence
(`warner.noncompliance.two_sample_unrelated_question`), and noncompliance with the instructions
(`warner.noncompliance`).

The table and the formulas follow from the total probability of each report; sources are cited with each design.
"""

from __future__ import annotations

from warner.designs.survey_designs import (
    cards,
    crosswise,
    direct,
    disguised,
    forced_response,
    kuk,
    mangat,
    mangat_singh,
    mirrored,
    triangular,
    unrelated_question,
    warner,
)

__all__ = [  # noqa: RUF022 - as in the table
    "warner",
    "mirrored",
    "disguised",
    "crosswise",
    "forced_response",
    "unrelated_question",
    "mangat_singh",
    "mangat",
    "triangular",
    "kuk",
    "direct",
    "cards",
]
