"""Recover accurate statistics from answers that respondents randomized to protect their privacy."""

# Public names in the order of a survey, with their modules. A module is imported when its name is first used: the
# command `warner` runs after this file, and handles Ctrl-C while libraries load. Type checkers read `__init__.pyi`; a
# test compares the two.
_NAMES = (
    ("warner.designs", "RandomizedResponse Channel SubsetSelection UnaryEncoding BitFlips LocalHashing"),
    ("warner.designs", "HadamardResponse ProjectiveGeometry Memoized Memo Product SquareWave CutoffResponse grid"),
    ("warner.designs", "OpenDomain SplitQuestionnaire SelectAll"),
    ("warner.surveys", "surveys"),
    ("warner.designs", "load_design"),
    ("warner.reports.counting", "tally"),
    ("warner.reports.tallies", "Tally pool Pool"),
    ("warner.reports.open_tallies", "OpenTally"),
    ("warner.simulate", "simulate"),
    ("warner.metrics", "metrics"),
    ("warner.estimation", "estimate Estimate"),
    ("warner.groups.group_estimates", "estimate_groups GroupEstimates"),
    ("warner.estimators", "inv inv_n inv_p mle"),
    ("warner.estimators.shrinkage", "shrink"),
    ("warner.estimators.smoothing", "smooth"),
    ("warner.estimators", "ibu channel_mle"),
    ("warner.designs", "ChannelOperator"),
    ("warner.estimators", "Fit certificate Certificate"),
    ("warner.inference.sample_comparisons", "compare_samples"),
    ("warner.inference.comparisons", "Comparison"),
    ("warner.inference.sample_comparisons", "Comparisons"),
    ("warner.inference.checking", "check"),
    ("warner.inference.check_results", "Check OpenCheck"),
    ("warner.discovery.discoveries", "discover Discovery"),
    ("warner.regression.regressions", "regress Regression"),
    ("warner.regression.descriptions", "regression_table"),
    ("warner.association.associations", "associate Association"),
    ("warner.explanation.explanations", "explain Explanation"),
    ("warner.planning.plans", "plan Plan NumberPlan OpenPlan"),
    ("warner.planning.power", "PowerPlan"),
    ("warner.planning.tradeoffs", "SplitPlan"),
    ("warner.planning.mechanisms", "mechanisms Mechanisms"),
    ("warner.noncompliance", "noncompliance"),
    ("warner.auditing.audits", "audit Audit"),
)
_MODULE_OF = {name: module for module, names in _NAMES for name in names.split()}
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
