r"""Noncompliance: sensitivity to respondents who do not follow the design, and models that estimate their share.

A randomized answer protects honest respondents, but some give the safe answer regardless of the device, and some do not
understand it. `sensitivity` shows the results for assumed shares of such respondents, for any design with a table of
probabilities. With two samples under devices of different strength, or a further question with a known answer, the
share can be estimated: `cheating_detection`, `stochastic_lie_detector`, `anchored_crosswise`, `extended_crosswise`.
`two_sample_unrelated_question` uses two samples to estimate the prevalence of the unrelated trait. With covariates:
`cheating_detection_regression`, `lie_detector_regression` and `unrelated_question_regression`.

Its files::

    sensitivity_analysis  shares if some respondents give the safe report regardless of the design
    two_samples           cheating detection, lie detector, anchored and extended crosswise, unrelated question
    trait_regressions     three of these models with covariates
"""

from warner.noncompliance.sensitivity_analysis import Sensitivity, sensitivity
from warner.noncompliance.trait_regressions import (
    TraitRegression,
    cheating_detection_regression,
    lie_detector_regression,
    unrelated_question_regression,
)
from warner.noncompliance.two_samples import (
    AnchoredCrosswise,
    CheatingDetection,
    ExtendedCrosswise,
    LieDetector,
    Share,
    TwoSamples,
    UnrelatedQuestion,
    anchored_crosswise,
    cheating_detection,
    extended_crosswise,
    stochastic_lie_detector,
    two_sample_unrelated_question,
)

__all__ = [
    "AnchoredCrosswise",
    "CheatingDetection",
    "ExtendedCrosswise",
    "LieDetector",
    "Sensitivity",
    "Share",
    "TraitRegression",
    "TwoSamples",
    "UnrelatedQuestion",
    "anchored_crosswise",
    "cheating_detection",
    "cheating_detection_regression",
    "extended_crosswise",
    "lie_detector_regression",
    "sensitivity",
    "stochastic_lie_detector",
    "two_sample_unrelated_question",
    "unrelated_question_regression",
]
