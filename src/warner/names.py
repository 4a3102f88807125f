"""The public names, by step of the walk. `warner` itself loads them when the first of them is asked for."""

from warner import metrics, noncompliance, simulate, surveys
from warner.association.associations import Association, associate
from warner.auditing.audits import Audit, audit
from warner.designs import (
    BitFlips,
    Channel,
    ChannelOperator,
    CutoffResponse,
    HadamardResponse,
    LocalHashing,
    Memo,
    Memoized,
    OpenDomain,
    Product,
    ProjectiveGeometry,
    RandomizedResponse,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
    grid,
    load_design,
)
from warner.discovery.discoveries import Discovery, discover
from warner.estimation import Estimate, estimate
from warner.estimators import Certificate, Fit, certificate, channel_mle, ibu, inv, inv_n, inv_p, mle
from warner.estimators.shrinkage import shrink
from warner.estimators.smoothing import smooth
from warner.explanation.explanations import Explanation, explain
from warner.groups.group_estimates import GroupEstimates, estimate_groups
from warner.inference.check_results import Check, OpenCheck
from warner.inference.checking import check
from warner.inference.comparisons import Comparison, compare_samples
from warner.planning.mechanisms import Mechanisms, mechanisms
from warner.planning.plans import NumberPlan, OpenPlan, Plan, plan
from warner.regression.regressions import Regression, regress
from warner.reports.counting import tally
from warner.reports.open_tallies import OpenTally
from warner.reports.tallies import Pool, Tally, pool

# The public names, by step of the walk: what happens to an answer; reports and counts; shares; how sure; before and
# around a survey.
__all__ = [  # noqa: RUF022 - in the order of the walk, not of the alphabet
    "RandomizedResponse",
    "Channel",
    "SubsetSelection",
    "UnaryEncoding",
    "BitFlips",
    "LocalHashing",
    "HadamardResponse",
    "ProjectiveGeometry",
    "Memoized",
    "Memo",
    "Product",
    "SquareWave",
    "CutoffResponse",
    "grid",
    "OpenDomain",
    "surveys",
    "load_design",
    "tally",
    "Tally",
    "pool",
    "Pool",
    "OpenTally",
    "simulate",
    "metrics",
    "estimate",
    "Estimate",
    "estimate_groups",
    "GroupEstimates",
    "inv",
    "inv_n",
    "inv_p",
    "mle",
    "shrink",
    "smooth",
    "ibu",
    "channel_mle",
    "ChannelOperator",
    "Fit",
    "certificate",
    "Certificate",
    "compare_samples",
    "Comparison",
    "check",
    "Check",
    "OpenCheck",
    "discover",
    "Discovery",
    "regress",
    "Regression",
    "associate",
    "Association",
    "explain",
    "Explanation",
    "plan",
    "Plan",
    "NumberPlan",
    "OpenPlan",
    "mechanisms",
    "Mechanisms",
    "noncompliance",
    "audit",
    "Audit",
]
