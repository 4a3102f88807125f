"""What people would have answered, from answers that were randomized before they left their hands."""

from importlib.metadata import version

from warner import metrics, noncompliance, simulate, surveys
from warner.designs import Channel, RandomizedResponse, load_design
from warner.estimation import Estimate, estimate
from warner.estimators import inv, inv_n, inv_p, mle
from warner.estimators.likelihood import Certificate, ChannelOperator, Fit, certificate, channel_mle, ibu
from warner.inference.fit import Check, check
from warner.planning.plans import Plan, plan
from warner.reports.pooling import pool
from warner.reports.tallies import Tally, tally

__version__ = version("warner")

__all__ = [
    "Certificate",
    "Channel",
    "ChannelOperator",
    "Check",
    "Estimate",
    "Fit",
    "Plan",
    "RandomizedResponse",
    "Tally",
    "certificate",
    "channel_mle",
    "check",
    "estimate",
    "ibu",
    "inv",
    "inv_n",
    "inv_p",
    "load_design",
    "metrics",
    "mle",
    "noncompliance",
    "plan",
    "pool",
    "simulate",
    "surveys",
    "tally",
]
