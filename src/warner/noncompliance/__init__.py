r"""Noncompliance: how much it matters if people do not follow the design, and how two samples can measure it.

A randomized answer protects honest people. It does not make people honest: some give the safe answer whatever the
device says, and some do not understand it. `sensitivity` shows how the result depends on their share, for any design
with a table of probabilities. Where two samples went through devices of different strength, or a question with a known
answer was asked as well, that share can be estimated: `cheating_detection`, `stochastic_lie_detector`,
`anchored_crosswise`. `two_sample_unrelated_question` uses two samples in the same way, to estimate how common the
unrelated trait is. With covariates: `cheating_detection_regression`, `lie_detector_regression` and
`unrelated_question_regression`.

Its files::

    sensitivity_analysis  what if some give the safe report regardless
    two_samples        the models: cheating detection, lie detector, anchored crosswise, unrelated question
    trait_regressions  these models with covariates
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
    LieDetector,
    Share,
    TwoSamples,
    UnrelatedQuestion,
    anchored_crosswise,
    cheating_detection,
    stochastic_lie_detector,
    two_sample_unrelated_question,
)

__all__ = [
    "AnchoredCrosswise",
    "CheatingDetection",
    "LieDetector",
    "Sensitivity",
    "Share",
    "TraitRegression",
    "TwoSamples",
    "UnrelatedQuestion",
    "anchored_crosswise",
    "cheating_detection",
    "cheating_detection_regression",
    "lie_detector_regression",
    "sensitivity",
    "stochastic_lie_detector",
    "two_sample_unrelated_question",
    "unrelated_question_regression",
]
