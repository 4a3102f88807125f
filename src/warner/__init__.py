"""Recover accurate statistics from answers that respondents randomized to protect their privacy."""

# Public names in the order of a survey, with their modules. A module is imported when its name is first used: the
# command `warner` runs after this file, and handles Ctrl-C while libraries load. Type checkers read `__init__.pyi`; a
# test compares the two.
_MODULE_OF = {
    "RandomizedResponse": "warner.designs",
    "Channel": "warner.designs",
    "SubsetSelection": "warner.designs",
    "UnaryEncoding": "warner.designs",
    "BitFlips": "warner.designs",
    "LocalHashing": "warner.designs",
    "HadamardResponse": "warner.designs",
    "ProjectiveGeometry": "warner.designs",
    "Memoized": "warner.designs",
    "Memo": "warner.designs",
    "Product": "warner.designs",
    "SquareWave": "warner.designs",
    "CutoffResponse": "warner.designs",
    "grid": "warner.designs",
    "OpenDomain": "warner.designs",
    "SplitQuestionnaire": "warner.designs",
    "SelectAll": "warner.designs",
    "surveys": "warner.surveys",
    "load_design": "warner.designs",
    "tally": "warner.reports.counting",
    "Tally": "warner.reports.tallies",
    "pool": "warner.reports.tallies",
    "Pool": "warner.reports.tallies",
    "OpenTally": "warner.reports.open_tallies",
    "simulate": "warner.simulate",
    "metrics": "warner.metrics",
    "estimate": "warner.estimation",
    "Estimate": "warner.estimation",
    "estimate_groups": "warner.groups.group_estimates",
    "GroupEstimates": "warner.groups.group_estimates",
    "inv": "warner.estimators",
    "inv_n": "warner.estimators",
    "inv_p": "warner.estimators",
    "mle": "warner.estimators",
    "shrink": "warner.estimators.shrinkage",
    "smooth": "warner.estimators.smoothing",
    "ibu": "warner.estimators",
    "channel_mle": "warner.estimators",
    "ChannelOperator": "warner.designs",
    "Fit": "warner.estimators",
    "certificate": "warner.estimators",
    "Certificate": "warner.estimators",
    "compare_samples": "warner.inference.sample_comparisons",
    "Comparison": "warner.inference.comparisons",
    "Comparisons": "warner.inference.sample_comparisons",
    "check": "warner.inference.checking",
    "Check": "warner.inference.check_results",
    "OpenCheck": "warner.inference.check_results",
    "discover": "warner.discovery.discoveries",
    "Discovery": "warner.discovery.discoveries",
    "regress": "warner.regression.regressions",
    "Regression": "warner.regression.regressions",
    "regression_table": "warner.regression.descriptions",
    "associate": "warner.association.associations",
    "Association": "warner.association.associations",
    "explain": "warner.explanation.explanations",
    "Explanation": "warner.explanation.explanations",
    "plan": "warner.planning.plans",
    "Plan": "warner.planning.plans",
    "NumberPlan": "warner.planning.plans",
    "OpenPlan": "warner.planning.plans",
    "PowerPlan": "warner.planning.power",
    "SplitPlan": "warner.planning.tradeoffs",
    "mechanisms": "warner.planning.mechanisms",
    "Mechanisms": "warner.planning.mechanisms",
    "noncompliance": "warner.noncompliance",
    "audit": "warner.auditing.audits",
    "Audit": "warner.auditing.audits",
}
__all__ = list(_MODULE_OF)


def __getattr__(name: str) -> object:
    """Import a public name on first use."""
    if name == "__version__":
        return _version()
    if name not in _MODULE_OF:
        import sys

        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])
    from importlib import import_module

    module = import_module(_MODULE_OF[name])
    is_module = module.__name__ == f"warner.{name}"  # such as `surveys`
    globals()[name] = public = module if is_module else getattr(module, name)
    return public


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF, "__version__"})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # slow to import

    try:
        return version("warner")
    except PackageNotFoundError:  # a source tree that is not installed
        return "0+unknown"
