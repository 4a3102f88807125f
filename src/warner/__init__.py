"""What people would have answered, from answers that were randomized before they left their hands."""

from importlib.metadata import version

from warner import designs, honesty, metrics, simulate
from warner.check import Check, check
from warner.design import Channel, RandomizedResponse, load_design
from warner.em import Certificate, ChannelOperator, Fit, certificate, channel_mle, ibu
from warner.estimate import Estimate, estimate
from warner.estimators import inv, inv_n, inv_p, mle
from warner.plan import Plan, plan
from warner.pool import pool
from warner.tally import Tally, tally

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
    "designs",
    "estimate",
    "honesty",
    "ibu",
    "inv",
    "inv_n",
    "inv_p",
    "load_design",
    "metrics",
    "mle",
    "plan",
    "pool",
    "simulate",
    "tally",
]
