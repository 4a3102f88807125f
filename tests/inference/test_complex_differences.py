"""Small domains of complex samples: shares and differences against a second implementation, and their coverage.

Also tests `inference/korn_graubard.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from numpy.testing import assert_allclose

import warner
from references import reference
from warner import RandomizedResponse

if TYPE_CHECKING:
    from warner.designs.facts import Drawn, Readout

CASES = reference("small_domains")["cases"]


def of(kind: str) -> Any:
    return [case for case in CASES if case["kind"] == kind]


def asked(truth: float) -> RandomizedResponse:
    """Make the design under which a respondent gives the true answer with this probability."""
    return RandomizedResponse(["yes", "no"], truth=str(truth) if truth < 1 else 1)


def stratified(domains: list[tuple[int, int]], strata: int, sample: int = 400) -> dict[str, list[Any]]:
    """Return rows of domains of so many respondents, so many of whom report yes, and of the rest, which alternates."""
    reports, names = [], []
    for place, (size, yes) in enumerate(domains):
        reports += ["yes"] * yes + ["no"] * (size - yes)
        names += [place] * size
    rest = sample - len(reports)
    reports += (["yes", "no"] * rest)[:rest]
    return {"y": reports, "g": names + [-1] * rest, "h": [row % strata for row in range(sample)]}


def shown(counted: Any, groups: Any) -> tuple[Readout, Drawn]:
    """Return how the share of yes shows in some groups."""
    found = counted.readout(groups, [[0]])
    assert found.drawn is not None
    return found, found.drawn


def agrees_unless_moved(low: float, high: float, expected: dict[str, float], share: float) -> None:
    """Compare limits; a share below 0 is moved there for the upper end, which the reference does not do."""
    assert_allclose(low, expected["low"], atol=1e-9)
    assert high > expected["high"] if share < 0 else abs(high - expected["high"]) < 1e-9


@pytest.mark.parametrize("case", of("share"), ids=lambda case: f"{case['yes']} of {case['domain']}, {case['truth']}")
def test_shares_of_small_domains_in_strata_are_those_of_the_reference(case: dict[str, Any]) -> None:
    data = stratified([(case["domain"], case["yes"])], case["strata"])
    counted = warner.tally(data, asked(case["truth"]), column="y", by="g", strata="h")
    found, drawn = shown(counted, [1])
    assert_allclose(found.trials[0, 0], case["effective"])
    assert_allclose(drawn.freedom[0, 0], min(case["freedom"], case["domain"] - 1))
    interval = warner.estimate(counted).interval("yes")
    agrees_unless_moved(interval.low[1], interval.high[1], case, found.share()[0, 0])


@pytest.mark.parametrize("case", of("weighted"), ids=lambda case: str(case["domain"]))
def test_shares_of_weighted_domains_are_those_of_the_reference(case: dict[str, Any]) -> None:
    rows = len(case["report"])
    data = {
        "y": ["yes" if one else "no" for one in case["report"]],
        "w": case["weight"],
        "h": [row % 3 for row in range(rows)],
        "g": [int(row < case["domain"]) for row in range(rows)],
    }
    counted = warner.tally(data, asked(case["truth"]), column="y", by="g", strata="h", weights="w")
    found, drawn = shown(counted, [1])
    assert_allclose([found.trials[0, 0], drawn.worth[0, 0]], [case["effective"], case["kish"]])
    assert_allclose(drawn.freedom[0, 0], min(case["freedom"], case["kish"] - 1))
    interval = warner.estimate(counted).interval("yes")
    agrees_unless_moved(interval.low[1], interval.high[1], case, found.share()[0, 0])


def agrees(compared: Any, expected: dict[str, float]) -> None:
    assert_allclose([compared.low, compared.high], [expected["low"], expected["high"]], atol=1e-9)
    assert_allclose(compared.p_value, expected["p_value"], atol=1e-9)


@pytest.mark.parametrize("case", of("difference"), ids=lambda case: f"{case['yes']} of {case['domain']}")
def test_differences_of_small_domains_are_those_of_the_reference(case: dict[str, Any]) -> None:
    data = stratified([(case["domain"], yes) for yes in case["yes"]], 4)
    counted = warner.tally(data, asked(case["truth"]), column="y", by="g", strata="h")
    agrees(warner.estimate(counted).compare("yes", between=(0, 1)), case)
    if case["truth"] == 1:  # the mean of a number that is 1 for yes and 0 for no is the same
        agrees(warner.estimate(counted).compare_means((0, 1), {"yes": 1, "no": 0}), case)


def in_clusters(cells: dict[str, list[int]]) -> dict[str, list[Any]]:
    """Return the counts of tables whose cells are named by a cluster and a group, such as 0f."""
    rows = [(name[:-1], name[-1], report) for name in cells for report in ("yes", "no")]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(("c", "g", "y"))}
    return columns | {"n": [number for pair in cells.values() for number in pair]}


@pytest.mark.parametrize("case", of("clusters"), ids=lambda case: f"{case['name']}, {case['truth']}")
def test_groups_in_few_clusters_are_those_of_the_reference(case: dict[str, Any]) -> None:
    counted = warner.tally(
        in_clusters(case["cells"]), asked(case["truth"]), column="y", by="g", clusters="c", counts="n"
    )
    result = warner.estimate(counted)
    interval, (found, drawn) = result.interval("yes"), shown(counted, None)
    for place, group in enumerate("fm"):
        expected = case[group]
        assert_allclose([interval.low[place], interval.high[place]], [expected["low"], expected["high"]], atol=1e-9)
        assert_allclose(drawn.freedom[place, 0], expected["freedom"])
        assert_allclose(found.trials[place, 0], expected["effective"])
    agrees(result.compare("yes", between=("f", "m")), case["difference"])
