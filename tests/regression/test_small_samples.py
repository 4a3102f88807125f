"""Cautions about small groups and few reports stand in every result that depends on them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from cases import DICE, NINE
from regression_cases import fit_of
from warner.regression.regressions import regress
from warner.regression.standard_errors import effective_answers

DOUBT = "p-values should not be relied on"


def three_levels(few: int = 20) -> Any:
    """Return 12,000 respondents at two levels, and a few at a third, of whom a quarter report yes."""
    counts = [2040, 3960, 2200, 3800, few // 4, few - few // 4]
    data = {"r": ["yes", "no"] * 3, "g": ["a", "a", "b", "b", "c", "c"], "n": counts}
    return regress("r", data, NINE, on=["g"], counts="n")


def doors(result: Any) -> list[str]:
    """Return all texts of a result."""
    page = result._repr_html_() if hasattr(result, "_repr_html_") else result.to_html()
    return [" ".join(text.split()) for text in (result.text(), result.to_json(), result.to_markdown(), page)]


def test_a_level_tells_what_its_own_people_tell() -> None:
    # A report of a group with share t is worth the part (a - b)^2 t (1 - t) / (m (1 - m)) of a direct answer.
    fit = three_levels(20)
    share = (5 / 20 - 0.1) / 0.8
    part = 0.8**2 * share * (1 - share) / (0.25 * 0.75)
    own = effective_answers(fit, np.eye(3))
    assert own[2] == pytest.approx(20 * part, rel=0.01)  # the others move by 20 / 6,000 at most
    # Of a single share it is all that is told.
    alone: Any = regress("r", {"r": ["yes", "no"], "n": [40, 60]}, NINE, on=[], counts="n")
    assert effective_answers(alone, np.eye(1))[0] == pytest.approx(alone.effective, rel=1e-9)
    # Of two equal groups, the difference is told by all people.
    halves: Any = regress(
        "r", {"r": ["yes", "no"] * 2, "x": [0, 0, 1, 1], "n": [300, 700] * 2}, NINE, on=["x"], counts="n"
    )
    np.testing.assert_allclose(
        effective_answers(halves, np.eye(2)), [halves.effective / 2, halves.effective], rtol=1e-6
    )


def test_weights_make_fewer_people_speak() -> None:
    # Half of the people with three times the weight of the others count as (2 n)^2 / (5 n) = 4/5 of all n.
    data = {"r": ["yes", "no"] * 100, "w": [1.0] * 100 + [3.0] * 100}
    fit = regress("r", data, NINE, on=[], weights="w")
    plain = regress("r", data, NINE, on=[])
    assert effective_answers(fit, np.eye(1))[0] == pytest.approx(0.8 * effective_answers(plain, np.eye(1))[0], rel=1e-6)


def test_a_small_level_is_warned_about_at_every_result() -> None:
    fit = three_levels(20)
    assert fit.effective > 2000
    profiles = fit.predict({"g": ["a", "c"]})
    for result, about in (
        (fit, "g[T.c]"),
        (fit.terms(), "g[T.c]"),
        (fit.compare(regress("r", _people(fit), NINE, on=[], counts="n")), "g[T.c]"),
        (fit.margins(["g"]), "g: c - a"),
        (profiles, "g = c"),
        (fit.sensitivity("no", (0, 0.05)), "g[T.c]"),
    ):
        for text in doors(result):
            said = text.replace("\\_", "_").replace("\\[", "[").replace("\\]", "]").lower()
            assert f"about {about.lower()} the reports are less informative than 30 direct answers" in said, text
            assert DOUBT in said
    assert not any("g = a" in note for note in profiles.notes)
    for result in (fit.margins(["g"]), profiles, fit.terms()):
        assert any(DOUBT in note for note in json.loads(result.to_json())["notes"])
    # 2,000 people at the third level are enough.
    large = three_levels(2000)
    for result in (large, large.terms(), large.margins(), large.predict(), large.predict({"g": ["c"]})):
        assert DOUBT not in result.text()


def _people(fit: Any) -> dict[str, Any]:
    rows = fit.model_data.observations
    return {"r": [("yes", "no")[report] for report in rows.report.tolist()], "n": rows.people.astype(int).tolist()}


def test_few_reports_are_warned_about_at_every_result() -> None:
    data = {"answer": ["yes", "no"] * 2, "g": [0, 0, 1, 1], "n": [30, 50, 40, 40]}
    fit: Any = regress("answer", data, DICE, on=["g"], counts="n")
    assert fit.effective < 100
    for result in (
        fit,
        fit.terms(),
        fit.margins(),
        fit.predict(),
        fit.predict({"g": [1]}),
        fit.sensitivity("no", (0,)),
    ):
        for text in doors(result):
            assert "direct answers, fewer than 100" in text
            assert DOUBT in text
    assert fit_of("A").notes == ()


def test_tests_with_an_estimate_at_infinity_say_so() -> None:
    for text in doors(fit_of("D").terms()):
        assert "An estimate lies at infinity: p-values should not be relied on." in text


def test_shares_at_the_boundary_are_said_to_be_there() -> None:
    fit = fit_of("D")
    for result in (fit.margins(), fit.predict()):
        for text in doors(result):
            assert "Some of these shares are estimated as 0 or 100 %, where there are no standard errors" in text
    robust = fit_of("D", errors="robust")
    assert "they have no interval. A linear model has one." in robust.margins().text()
    assert "they have no interval. A linear model has one." in robust.predict().text()


def test_a_check_says_why_there_is_no_test_against_the_cells() -> None:
    data = {"r": ["yes", "no"] * 330, "x": [0] * 600 + [1] * 60, "w": [1.0, 1.0, 2.0] * 220}
    weighted = regress("r", data, DICE, on=["x"], weights="w").check()
    for text in (weighted.text(), weighted.to_json()):
        assert "no test with sampling weights, clusters or strata" in text
        assert "too small" not in text
    small = {"r": ["yes", "no"] * 20, "x": list(range(40))}
    check = regress("r", small, DICE, on=["x"]).check()
    assert "too small for a test" in check.text()
    assert "too small for a test" in check.to_markdown()


def test_the_p_value_of_the_deviance_is_an_upper_bound_where_cells_are_at_the_boundary() -> None:
    # Cells of 200 with 34, 40, 30 and 50 reports of yes; 30 is less than the 33.3 that noise alone explains.
    data = {"r": ["yes", "no"] * 4, "x": [0, 0, 1, 1, 2, 2, 3, 3], "n": [34, 166, 40, 160, 30, 170, 50, 150]}
    found = regress("r", data, DICE, on=["x"], counts="n").check()
    assert found.deviance is not None
    assert (found.deviance.freedom, found.deviance.boundary) == (2, 1)
    assert "In 1 cell the most likely share of an answer is 0 %" in found.text()
    for door in (found.text(), found.to_markdown(), found.to_latex(), found.to_html(), found.to_json()):
        assert "upper bound" in door
