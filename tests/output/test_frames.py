"""Data frames of results are in the library that the reports came in, whatever the result."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import warner
from warner import OpenDomain, RandomizedResponse
from warner.noncompliance import lie_detector_regression
from warner.results import Result, TableResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COIN = RandomizedResponse(["no", "yes"], odds=(4, 1))
DRINKS = RandomizedResponse([0, 1, 5], odds=(5, 1))
SITES = OpenDomain(epsilon=5, letters="abc", length=2)
PEOPLE = 600
# Results without reports, and classes that only others inherit from.
WITHOUT_REPORTS = {
    "Plan", "NumberPlan", "OpenPlan", "PlottedPlan", "PowerPlan", "SplitPlan", "SurveyPlan", "Tradeoff", "Mechanisms",
    "Audit", "TwoSamples", "UnrelatedQuestion", "CheatingDetection", "LieDetector", "AnchoredCrosswise",
    "ExtendedCrosswise", "Sensitivity", "TableResult", "IntervalResult", "NumericResult", "Quantities",
}  # fmt: skip


@cache
def columns() -> dict[str, list[Any]]:
    rng = np.random.default_rng(1)
    traits = rng.integers(0, 2, PEOPLE)
    return {
        "cheated": list(COIN.randomize(np.array(["no", "yes"])[traits])),
        "copied": list(COIN.randomize(np.array(["no", "yes"])[traits])),
        "drinks": list(DRINKS.randomize(rng.choice([0, 1, 5], PEOPLE))),
        "site": list(SITES.randomize(["ab"] * 400 + ["ca"] * 200)),
        "version": ["a", "b"] * (PEOPLE // 2),
        "age": rng.integers(18, 60, PEOPLE).tolist(),
        "score": (traits + rng.normal(size=PEOPLE)).round(2).tolist(),
        "class": rng.integers(0, 6, PEOPLE).tolist(),
    }


@cache
def data() -> Any:
    return import_module("polars").DataFrame(columns())


@cache
def estimate(by: str | None = None) -> Any:
    return warner.estimate(warner.tally(data(), DRINKS, column="drinks", by=by))


def versions() -> Any:
    return estimate("version").tally


@cache
def groups() -> Any:
    return warner.estimate_groups(warner.tally(data(), DRINKS, column="drinks", by="class"))


@cache
def fit() -> Any:
    return warner.regress("cheated ~ age", data(), COIN, starts=1)


@cache
def mixed() -> Any:
    return warner.regress("cheated ~ 1", data(), COIN, intercepts="class", starts=1)


@cache
def sites() -> Any:
    return warner.tally(data(), SITES, column="site")


def carriers() -> Any:
    return lie_detector_regression("cheated", data(), {"a": "0.2", "b": "0.8"}, by="version", on=[], starts=1)


def associated() -> Any:
    return warner.associate(data(), {"cheated": COIN, "copied": COIN}, simulations=9)


RESULTS: dict[str, Callable[[], Result]] = {
    "Estimate": estimate,
    "Interval": lambda: estimate().interval([0, 1]),
    "Interval of all": lambda: estimate().interval(),
    "ShareBeyond": lambda: estimate().interval(above=1),
    "Mean": lambda: estimate().mean(),
    "Mean, standard deviation": lambda: estimate().standard_deviation(),
    "Quantile": lambda: estimate().quantile(0.5),
    "Totals": lambda: estimate().totals(10_000),
    "Comparison": lambda: estimate().compare(0, 5),
    "Comparison of groups": lambda: estimate("version").compare(0, between=("a", "b")),
    "Comparison of samples": lambda: warner.compare_samples(estimate().tally, estimate().tally, 0),
    "Comparison of samples that are groups": lambda: warner.compare_samples(versions(), answer=0, between=("a", "b")),
    "Comparisons": lambda: warner.compare_samples(versions(), between=("a", "b")),
    "Comparisons of samples": lambda: warner.compare_samples(estimate().tally, estimate().tally),
    "MeanComparison": lambda: estimate("version").compare_means(("a", "b")),
    "Ranking": lambda: estimate().commonest(1),
    "Presence": lambda: estimate().present(),
    "Check": lambda: warner.check(estimate().tally),
    "GroupEstimates": groups,
    "GroupIntervals": lambda: groups().interval(0),
    "GroupMeans": lambda: groups().mean(),
    "GroupTest": lambda: groups().test(),
    "GroupRanks": lambda: groups().ranks(0),
    "Regression": fit,
    "RegressionTable": lambda: warner.regression_table([fit()]),
    "Prediction": lambda: fit().predict({"age": [20, 40]}),
    "Margins": lambda: fit().margins(),
    "ModelTests": lambda: fit().terms(),
    "ModelTests of two models": lambda: fit().compare(warner.regress("cheated ~ 1", data(), COIN, starts=1)),
    "ModelCheck": lambda: fit().check(),
    "RegressionSensitivity": lambda: fit().sensitivity("no", [0, 0.05]),
    "Spread": lambda: mixed().spread(),
    "RandomEffects": lambda: mixed().effects(),
    "TraitRegression": carriers,
    "Association": associated,
    "Explanation": lambda: warner.explain("score ~ cheated + age", data(), {"cheated": COIN}),
    "Discovery": lambda: warner.discover(sites()),
    "OpenCheck": lambda: warner.check(sites()),
    "Estimate of a closed list": lambda: warner.estimate(sites().closed(["ab", "ca"])),
    "Discovery in two tallies": lambda: warner.discover(sites() + sites()),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", RESULTS)
def test_a_result_gives_frames_of_the_library_of_the_reports(name: str) -> None:
    result = RESULTS[name]()
    assert type(result).__name__ == name.split()[0].strip(",")
    assert type(result.to_frame()).__module__.split(".")[0] == "polars"
    assert type(result.to_frame("pandas")).__module__.split(".")[0] == "pandas"
    assert result._repr_html_().startswith("<table>")


def test_every_kind_of_result_is_above_or_has_no_reports() -> None:
    def below(kind: type[Any]) -> Iterator[type[Any]]:
        for child in kind.__subclasses__():
            yield child
            yield from below(child)

    for module in walk_packages(warner.__path__, "warner."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    known = {kind.__name__ for kind in below(Result) if kind.__module__.startswith("warner.")}
    assert known - WITHOUT_REPORTS == {name.split()[0].strip(",") for name in RESULTS}
    assert issubclass(warner.Estimate, TableResult)
