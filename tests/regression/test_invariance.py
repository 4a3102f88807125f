"""Invariances of regressions, and direct answers, for which statsmodels has the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warner
from warner import Channel, RandomizedResponse, regress

ANSWERS = ["never", "once", "often"]
SURVEY = RandomizedResponse(ANSWERS, odds=(4, 1))


def people(n: int = 400, design: Any = SURVEY, seed: int = 3) -> dict[str, Any]:
    """Draw people whose answers depend on two columns."""
    rng = np.random.default_rng(seed)
    x, d = rng.normal(size=n).round(1), rng.integers(0, 2, n)
    weights = np.exp(np.column_stack([np.zeros(n), 0.4 + 0.6 * x, -0.3 - 0.5 * x + 0.7 * d]))
    answers = (rng.random(n)[:, np.newaxis] > (weights / weights.sum(axis=1, keepdims=True)).cumsum(axis=1)).sum(axis=1)
    labels = list(design.domain)
    return {"answer": [labels[code] for code in design.draw(answers, rng.bytes)], "x": x, "d": d}


DATA = people()
FIT = regress("answer", DATA, SURVEY, on=["x", "d"], reference="never")


def assert_same(fit: Any, coefficients: Any = FIT.coefficients, errors: Any = FIT.standard_errors) -> None:
    np.testing.assert_allclose(fit.coefficients, coefficients, atol=1e-9)
    np.testing.assert_allclose(fit.standard_errors, errors, rtol=1e-9, atol=1e-9)
    assert fit.log_likelihood == pytest.approx(FIT.log_likelihood, abs=1e-9)


def test_the_order_of_people_does_not_matter() -> None:
    order = np.random.default_rng(1).permutation(400)
    shuffled = {name: np.asarray(values)[order] for name, values in DATA.items()}
    assert_same(regress("answer", shuffled, SURVEY, on=["x", "d"], reference="never"))


def test_the_unit_of_a_column_does_not_matter() -> None:
    fit = regress("answer", DATA | {"x": DATA["x"] * 1e5}, SURVEY, on=["x", "d"], reference="never")
    unit = np.array([1, 1e-5, 1] * 2)
    assert_same(fit, FIT.coefficients * unit, FIT.standard_errors * unit)


def test_people_may_be_counted() -> None:
    rows = list(zip(DATA["answer"], DATA["x"].tolist(), DATA["d"].tolist(), strict=True))
    distinct = sorted(set(rows))
    counts = [rows.count(row) for row in distinct]
    # A row of several respondents may be split.
    most = int(np.argmax(counts))
    assert counts[most] > 1
    distinct, counts = [*distinct, distinct[most]], [*counts, 1]
    counts[most] -= 1
    table: dict[str, Any] = dict(zip(("answer", "x", "d"), map(list, zip(*distinct, strict=True)), strict=True))
    table["n"] = counts
    assert_same(regress("answer", table, SURVEY, on=["x", "d"], counts="n", reference="never"))


@pytest.mark.parametrize("order", [[2, 0, 1], [1, 2, 0], [2, 1, 0]])
def test_the_order_of_answers_does_not_matter(order: list[int]) -> None:
    other = RandomizedResponse([ANSWERS[place] for place in order], odds=(4, 1))
    fit = regress("answer", DATA, other, on=["x", "d"], reference="never")
    free = [answer for answer in other.domain if answer != "never"]
    blocks = FIT.coefficients.reshape(2, 3)[[("once", "often").index(str(answer)) for answer in free]]
    np.testing.assert_allclose(fit.coefficients, blocks.ravel(), atol=1e-9)


def test_another_reference_is_the_same_model() -> None:
    fit = regress("answer", DATA, SURVEY, on=["x", "d"], reference="often")
    never, once = fit.coefficients.reshape(2, 3)
    np.testing.assert_allclose(np.concatenate([once - never, -never]), FIT.coefficients, atol=1e-9)
    assert fit.log_likelihood == pytest.approx(FIT.log_likelihood, abs=1e-9)


class TestDirectAnswers:
    """All answers direct: the usual models."""

    TRUTH = Channel(np.eye(3), ANSWERS, ANSWERS)

    def test_multinomial_logit(self) -> None:
        models = pytest.importorskip("statsmodels.api")
        data = people(design=self.TRUTH)
        x = np.column_stack([np.ones(400), data["x"], data["d"]])
        theirs = models.MNLogit([ANSWERS.index(answer) for answer in data["answer"]], x).fit(disp=0, tol=1e-14)
        fit = regress("answer", data, self.TRUTH, on=["x", "d"], reference="never")
        np.testing.assert_allclose(fit.coefficients, np.asarray(theirs.params).T.ravel(), atol=1e-8)
        np.testing.assert_allclose(fit.standard_errors, np.asarray(theirs.bse).T.ravel(), atol=1e-8)
        assert fit.log_likelihood == pytest.approx(theirs.llf, abs=1e-8)

    @pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
    def test_two_answers(self, link: str) -> None:
        models = pytest.importorskip("statsmodels.api")
        links = {"logit": "Logit", "probit": "Probit", "cloglog": "CLogLog"}
        data = people(design=self.TRUTH)
        yes = np.array([answer == "often" for answer in data["answer"]])
        x = np.column_stack([np.ones(400), data["x"], data["d"]])
        family = models.families.Binomial(getattr(models.families.links, links[link])())
        theirs = models.GLM(yes.astype(float), x, family).fit(tol=1e-14)
        direct = RandomizedResponse(["yes", "no"], odds=(1, 0))
        fit = regress("answer", data | {"answer": np.where(yes, "yes", "no")}, direct, on=["x", "d"], link=link)
        np.testing.assert_allclose(fit.coefficients, theirs.params, atol=1e-8)
        assert fit.log_likelihood == pytest.approx(theirs.llf, abs=1e-8)

    def test_ordered(self) -> None:
        ordinal = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
        data = people(design=self.TRUTH)
        x = np.column_stack([data["x"], data["d"]])
        codes = np.array([ANSWERS.index(answer) for answer in data["answer"]])
        theirs = ordinal.OrderedModel(codes, x, distr="logit").fit(disp=0, method="bfgs", gtol=1e-9, maxiter=500)
        fit = warner.regress("answer", data, self.TRUTH, on=["x", "d"], model="ordered")
        np.testing.assert_allclose(
            fit.coefficients[2:], theirs.params[:2], atol=1e-6
        )  # theirs is a quasi-Newton ascent
        assert fit.log_likelihood is not None
        assert fit.log_likelihood >= theirs.llf - 1e-9
