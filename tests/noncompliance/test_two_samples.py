"""Two-sample models (`two_samples`, `two_samples`): published results, coverage, the likeliest possible solutions."""

from __future__ import annotations

import json
import math
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from references import printed, reference
from warner import (
    inv,
    noncompliance,
    surveys,
)
from warner.noncompliance import (
    Share,
    TwoSamples,
    anchored_crosswise,
    cheating_detection,
    extended_crosswise,
    stochastic_lie_detector,
    two_sample_unrelated_question,
)
from warner.results import typeset

if TYPE_CHECKING:
    from collections.abc import Callable

SURVEYS = reference("surveys")
CASES = {case["id"]: case for case in SURVEYS["cases"]}
PEERS = {case["id"]: case for case in SURVEYS["peer_outputs"]["cases"]}
MANY = 10**16  # times as many people: their chance errors are nothing beside those of the other sample


def with_less_one(
    estimate: Callable[..., TwoSamples], yes: list[int], n: list[int], parameters: list[str]
) -> list[float]:
    """Return both standard errors with n - 1 instead of n: each sample's own part of the variance is scaled."""
    variances = np.zeros(2)
    for s in range(2):
        rest = [MANY if i != s else 1 for i in range(2)]
        found = estimate(
            [y * m for y, m in zip(yes, rest, strict=True)], [y * m for y, m in zip(n, rest, strict=True)], parameters
        )
        variances += np.square([share.se for share in both(found)]) * n[s] / (n[s] - 1)
    return [math.sqrt(variance) for variance in variances]


def both(result: TwoSamples) -> tuple[Share, Share]:
    first, second = result.shares().values()
    return first, second


def counts_of(groups: list[dict[str, int]]) -> tuple[list[int], list[int]]:
    return [group["yes"] for group in groups], [group["n"] for group in groups]


# Published results


def test_lie_detector_minarets() -> None:
    (item,) = CASES["lie_detector_minarets"]["items"]
    yes, n = counts_of(item["groups"])
    p = [group["p"] for group in item["groups"]]
    found, wanted = stochastic_lie_detector(yes, n, p), item["published"]
    share, honest = found.prevalence.value, found.honest.value
    assert (share, honest) == pytest.approx((item["recomputed"]["prevalence"], item["recomputed"]["t"]), rel=1e-11)
    errors = with_less_one(stochastic_lie_detector, yes, n, p)
    assert errors == pytest.approx([item["recomputed"]["se"], item["recomputed"]["t_se"]], rel=1e-10)
    printed(share, wanted["prevalence"])
    printed(honest, wanted["t"])
    printed(errors[0], wanted["se"])
    printed(errors[1], wanted["t_se"])
    printed(share / errors[0], wanted["z"])
    printed((honest - 1) / errors[1], wanted["z_of_t_against_1"])


def test_crosswise_with_anchor() -> None:
    (item,), parameters = CASES["crosswise_with_anchor"]["items"], CASES["crosswise_with_anchor"]["parameters"]
    n, same, wanted = item["n"], item["same"], item["published"]
    p, p_anchor = parameters["p_unrelated"], parameters["p_unrelated_anchor"]
    both = item["cross_table_main_by_anchor"]["same_same"]
    naive, f = inv([same, n - same], surveys.crosswise(p))[0], same / n
    error = math.sqrt(f * (1 - f) / (n - 1)) / abs(2 * float(p) - 1)
    printed(naive, wanted["naive_prevalence"])
    printed(error, wanted["naive_se"])
    assert error == pytest.approx(item["recomputed"]["naive_se"], rel=1e-10)
    for side, end in zip((-1, 1), wanted["naive_ci95"], strict=True):
        printed(naive + side * 1.96 * error, end)
    found = anchored_crosswise(same, item["anchor_same"], n, p=p, p_anchor=p_anchor, both_same=both)
    printed(found.prevalence.value, wanted["bias_corrected_prevalence"])
    printed(found.attentive.value, wanted["attentive_rate"])
    assert found.prevalence.value == pytest.approx(item["recomputed"]["bias_corrected_prevalence"], rel=1e-10)
    # No target, but of its kind: a bootstrap's standard error is uncertain by several percent.
    assert found.prevalence.se == pytest.approx(wanted["bias_corrected_se_bootstrap"], rel=0.1)
    apart = anchored_crosswise(same, item["anchor_same"], n, p=p, p_anchor=p_anchor)
    assert apart.prevalence.value == found.prevalence.value
    assert apart.prevalence.se == pytest.approx(found.prevalence.se, rel=0.05)
    assert apart.prevalence.se != found.prevalence.se


def test_peer_unrelated_question_of_unknown_prevalence() -> None:
    case = PEERS["peer_unrelated_unknown"]
    yes, n = counts_of(case["counts"])
    found = two_sample_unrelated_question(yes, n, case["parameters"]["p"])
    printed(found.prevalence.value, case["output"]["prevalence"])
    printed(found.unrelated.value, case["output"]["innocuous"])
    errors = with_less_one(two_sample_unrelated_question, yes, n, case["parameters"]["p"])
    printed(errors[0], case["output"]["se"])
    printed(errors[1], case["output"]["innocuous_se"])


def test_peer_cheating_detection() -> None:
    case = PEERS["peer_cheating_detection"]
    yes, n = counts_of(case["counts"])
    forced, wanted = case["parameters"]["p_forced_yes"], case["output"]
    found = cheating_detection(yes, n, forced)
    printed(found.prevalence.value, wanted["honest_yes"])
    printed(found.cheaters.value, wanted["cheater"])
    printed(1 - found.prevalence.value - found.cheaters.value, wanted["honest_no"])
    errors = with_less_one(cheating_detection, yes, n, forced)
    printed(errors[0], wanted["honest_yes_se"])
    printed(errors[1], wanted["cheater_se"])
    # The lie detector is the same arithmetic: honest people without the trait sometimes say yes.
    plain = [str(1 - float(share)) for share in forced]
    printed(1 - stochastic_lie_detector(yes, n, plain).prevalence.value, wanted["honest_no"])
    printed(with_less_one(stochastic_lie_detector, yes, n, plain)[0], wanted["honest_no_se"])


# Two samples: models written down once more, as probabilities of yes from the two shares


def unrelated(x: float, w: float) -> list[float]:
    return [0.7 * x + 0.3 * w, 0.25 * x + 0.75 * w]


def cheating(x: float, c: float) -> list[float]:
    return [x + forced * (1 - x - c) for forced in (0.25, 0.75)]


def lying(x: float, t: float) -> list[float]:
    return [x * t + (1 - x) * (1 - p) for p in (0.2, 0.8)]


def anchored(x: float, g: float) -> list[float]:
    return [g * (0.2 * x + 0.8 * (1 - x)) + (1 - g) / 2, g * 0.85 + (1 - g) / 2]


def of_anchored(yes: Any, n: Any, level: float = 0.95) -> TwoSamples:
    return anchored_crosswise(int(yes[0]), int(yes[1]), int(n[0]), p=0.2, p_anchor=0.15, level=level)


MODELS: dict[str, tuple[Callable[..., list[float]], Callable[..., TwoSamples], tuple[float, float]]] = {
    "unrelated": (
        unrelated,
        lambda y, n, level=0.95: two_sample_unrelated_question(y, n, (0.7, 0.25), level=level),
        (0.2, 0.4),
    ),
    "cheating": (cheating, lambda y, n, level=0.95: cheating_detection(y, n, (0.25, 0.75), level=level), (0.3, 0.15)),
    "lying": (lying, lambda y, n, level=0.95: stochastic_lie_detector(y, n, (0.2, 0.8), level=level), (0.4, 0.7)),
    "anchored": (anchored, of_anchored, (0.25, 0.8)),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_intervals_of_two_samples_cover(name: str, level: float) -> None:
    model, estimate, truth = MODELS[name]
    rng = np.random.default_rng(20_240 + int(100 * level))
    n, times = 3000, 300 if name == "lying" else 1000
    draws = rng.binomial(n, model(*truth), size=(times, 2)).tolist()
    hits = np.zeros(2)
    for yes in draws:
        found = estimate(yes, (n, n), level=level)
        hits += [part.low <= share <= part.high for part, share in zip(both(found), truth, strict=True)]
    # Four binomial standard errors, and one percent for taking what is nearly normal as normal.
    allowed = 4 * math.sqrt(level * (1 - level) / times) + 0.01
    assert (abs(hits / times - level) <= allowed).all()


@pytest.mark.parametrize(
    ("n", "truth"),
    [((50, 50), (0.05, 1)), ((200, 200), (0.05, 1)), ((1000, 300), (0.05, 0.5)), ((99, 99), (0.1, 0.3))],
)
def test_honesty_of_the_few_is_covered(n: tuple[int, int], truth: tuple[float, float]) -> None:
    rng, times = np.random.default_rng(5), 250
    draws = Counter(map(tuple, rng.binomial(n, lying(*truth), size=(times, 2)).tolist()))
    found = {yes: stochastic_lie_detector(yes, n, (0.2, 0.8)).honest for yes in draws}
    hits = sum(same for yes, same in draws.items() if found[yes].low <= truth[1] <= found[yes].high) / times
    assert hits >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / times)  # the equations plus and minus two errors: .82 to .89


@pytest.mark.parametrize("yes", range(30, 51))
def test_where_nobody_has_the_trait_its_honesty_is_undefined(yes: int) -> None:
    found = stochastic_lie_detector((yes, yes - 30), (50, 50), ("0.2", "0.8"))
    assert found.prevalence.value == pytest.approx(0, abs=1e-12)
    assert math.isnan(found.honest.value)
    assert math.isnan(found.honest.se)
    assert 0 <= found.honest.low < found.honest.high <= 1
    if yes == 40:  # as for a prevalence of 0
        assert (found.honest.low, found.honest.high) == (0, 1)
    assert found.to_dict()["honest"]["value"] is None
    assert "undefined" in repr(found.honest)
    assert "nan" not in found.text()


def test_the_interval_of_honesty_is_what_the_likelihood_leaves() -> None:
    yes, n, drop = (480, 300), (1000, 1000), scipy.stats.chi2.ppf(0.95, 1) / 2
    found = stochastic_lie_detector(yes, n, ("0.2", "0.8")).honest
    shares = np.linspace(0, 1, 20_001)

    def left(t: float) -> float:
        rates = shares[:, np.newaxis] * t + (1 - shares[:, np.newaxis]) * np.array([0.8, 0.2])
        with np.errstate(divide="ignore"):
            return float(scipy.stats.binom.logpmf(yes, n, rates).sum(axis=1).max())

    best = left(found.value)
    for end in (found.low, found.high):
        assert best - left(end) == pytest.approx(drop, abs=5e-3)


def test_the_anchored_interval_covers_where_answers_depend_on_each_other() -> None:
    rng = np.random.default_rng(77)
    n, times, level, (x, g) = 3000, 3000, 0.95, (0.25, 0.4)
    # same/same, same/differ, differ/same, differ/differ, for attentive people and for the others
    main, anchor = 0.2 * x + 0.8 * (1 - x), 0.85
    attentive = np.outer([main, 1 - main], [anchor, 1 - anchor])
    cells = rng.multinomial(n, (g * attentive + (1 - g) / 4).ravel(), size=times).tolist()
    hits = np.zeros(2)
    for both, first, second, _ in cells:
        found = anchored_crosswise(both + first, both + second, n, p=0.2, p_anchor=0.15, both_same=both)
        parts = ((found.prevalence, x), (found.attentive, g))
        hits += [part.low <= share <= part.high for part, share in parts]
    assert (abs(hits / times - level) <= 4 * math.sqrt(level * (1 - level) / times) + 0.01).all()


def log_likelihood(rates: list[float], yes: list[int], n: tuple[int, int]) -> float:
    return float(sum(scipy.stats.binom.logpmf(y, size, rate) for y, size, rate in zip(yes, n, rates, strict=True)))


@pytest.mark.parametrize("name", MODELS)
@given(data=st.data())
def test_most_likely_is_possible_and_nothing_possible_is_likelier(name: str, data: st.DataObject) -> None:
    model, estimate, _ = MODELS[name]
    n = (40, 40) if name == "anchored" else (40, 60)
    yes = [data.draw(st.integers(1, size - 1)) for size in n]
    try:
        found = estimate(yes, n)
    except ValueError as error:
        assert "give no estimate" in str(error)
        return
    x, y = (share.most_likely for share in both(found))
    if math.isnan(x) or math.isnan(y):
        return  # no respondents left
    assert -1e-9 <= min(x, y) <= max(x, y) <= 1 + 1e-9
    best = log_likelihood(model(x, y), yes, n)
    simplex = name == "cheating"  # where the two shares have no more than one together
    for _ in range(10):
        a, b = data.draw(st.floats(0, 1)), data.draw(st.floats(0, 1))
        if not simplex or a + b <= 1:
            assert best >= log_likelihood(model(a, b), yes, n) - 1e-8
    values = [share.value for share in both(found)]
    if all(0 <= value <= 1 for value in values) and not (simplex and sum(values) > 1):
        assert [x, y] == values


@pytest.mark.parametrize(
    ("name", "yes", "value"),
    [
        ("unrelated", [30, 110], "prevalence below 0"),
        ("cheating", [20, 140], "honest people without the trait above 1"),
        ("cheating", [180, 120], "honest people without the trait below 0"),
        ("lying", [190, 20], "prevalence below 0"),
        ("anchored", [190, 170], "prevalence below 0"),
    ],
)
def test_impossible_solutions_are_replaced_by_the_likeliest(name: str, yes: list[int], value: str) -> None:
    """Against the likelihood on a fine grid, as the test writes it."""
    model, estimate, _ = MODELS[name]
    n = (200, 200)
    found = estimate(yes, n)
    x, y = (share.most_likely for share in both(found))
    assert [x, y] != [share.value for share in both(found)], value
    grid = np.linspace(0, 1, 401)
    a, b = np.meshgrid(grid, grid)
    rates = np.clip(np.array(model(a, b)), 1e-9, 1 - 1e-9)
    values = sum(c * np.log(rate) + (size - c) * np.log(1 - rate) for c, size, rate in zip(yes, n, rates, strict=True))
    values = np.where((a + b <= 1) if name == "cheating" else (a >= 0), values, -np.inf)
    where = np.unravel_index(values.argmax(), values.shape)
    assert x == pytest.approx(a[where], abs=0.005)
    if not math.isnan(y):
        assert y == pytest.approx(b[where], abs=0.005)


ECWM = [case for case in reference("asking")["cases"] if case["id"].startswith("ecwm")]


@pytest.mark.parametrize("case", ECWM, ids=lambda case: case["id"])
def test_one_sayers_of_published_surveys(case: dict[str, Any]) -> None:
    """Estimates of RRsp1 for surveys in three fields; solutions and standard errors by the delta method."""
    counts, value, tolerance = case["input"], case["value"], case["tolerance"]
    differ = counts["one_p02"], counts["one_p08"]
    n = differ[0] + counts["two_p02"], differ[1] + counts["two_p08"]
    found = extended_crosswise(differ, n, ("0.2", "0.8"))
    likely = [share.most_likely for share in both(found)]
    assert likely == pytest.approx([value["prevalence_one_sayers"], value["one_sayers"]], abs=tolerance)
    solution = [found.prevalence.value, found.one_sayers.value, found.prevalence.se, found.one_sayers.se]
    expected = [value[name] for name in ("solution", "solution_one", "se", "se_one")]
    assert solution == pytest.approx(expected, abs=1e-9)


def test_one_sayers_with_the_other_report_are_the_same_model() -> None:
    first = extended_crosswise((60, 139), (169, 185), ("0.2", "0.7"))
    second = extended_crosswise((109, 46), (169, 185), ("0.8", "0.3"), always="same")
    for one, other in zip(both(first), both(second), strict=True):
        assert [one.value, one.se, one.low, one.high] == pytest.approx(
            [other.value, other.se, other.low, other.high], abs=1e-12
        )
    # Complementary probabilities: t = f_1 + f_2 - 1.
    found = extended_crosswise((60, 139), (169, 185), ("0.2", "0.8"))
    assert found.one_sayers.value == pytest.approx(60 / 169 + 139 / 185 - 1, abs=1e-12)
    # Without one-sayers the equations are those of the crosswise model in either sample.
    plain = extended_crosswise((320, 680), (1000, 1000), ("0.2", "0.8"))
    assert [share.value for share in both(plain)] == pytest.approx([0.2, 0.0], abs=1e-12)


def test_parts_say_what_they_are() -> None:
    found = two_sample_unrelated_question((260, 340), (1000, 1000), ("0.8", "0.2"))
    # lambda = 0.26, 0.34; (0.8 * 0.26 - 0.2 * 0.34) / 0.6 = 0.2333; its variance
    # (0.64 * 0.26 * 0.74 + 0.04 * 0.34 * 0.66) / 1000 / 0.36 = 0.00036698, so its error is 0.019157
    assert found.prevalence.se == pytest.approx(0.019157, abs=1e-6)
    # Wilson's limits are 0.23377 to 0.28807 of 0.26 and 0.31131 to 0.36991 of 0.34; slopes 4/3 and -1/3:
    # 0.233333 - sqrt((4/3 * 0.02623)^2 + (1/3 * 0.02991)^2) = 0.19696
    assert found.prevalence.low == pytest.approx(0.19696, abs=2e-5)
    assert repr(found.prevalence) == "23.33 %, se 1.92 %, 19.70 to 27.20 %, approximate 95 % interval"
    outside = two_sample_unrelated_question((30, 500), (1000, 1000), ("0.8", "0.2")).prevalence
    assert outside.value < 0
    assert outside.low == 0
    assert "most likely 0.00 %" in repr(outside)
    nobody = stochastic_lie_detector((190, 20), (200, 200), (0.2, 0.8))
    assert nobody.prevalence.most_likely == pytest.approx(0, abs=1e-9)


def chances_unrelated(share: float, other: float) -> tuple[float, float]:
    return 0.8 * share + 0.2 * other, 0.2 * share + 0.8 * other


def chances_cheating(share: float, cheaters: float) -> tuple[float, float]:
    return share + 0.25 * (1 - share - cheaters), share + 0.75 * (1 - share - cheaters)


def chances_extended(share: float, one_sayers: float) -> tuple[float, float]:
    return tuple(one_sayers + (1 - one_sayers) * (share * (1 - p) + (1 - share) * p) for p in (0.2, 0.8))  # type: ignore[return-value]


def chances_anchored(share: float, attentive: float) -> tuple[float, float]:
    return attentive * (0.2 * share + 0.8 * (1 - share)) + (1 - attentive) / 2, attentive * 0.8 + (1 - attentive) / 2


@pytest.mark.parametrize("n", [(60, 60), (400, 20), (20, 400)])
@pytest.mark.parametrize(
    ("model", "chances", "truths"),
    [
        (
            lambda yes, n: two_sample_unrelated_question(yes, n, ("0.8", "0.2")),
            chances_unrelated,
            [(0.0, 0.05), (0.1, 0.1), (0.0, 0.1), (0.02, 0.5)],
        ),
        (
            lambda yes, n: cheating_detection(yes, n, ("1/4", "3/4")),
            chances_cheating,
            [(0.0, 0.9), (0.9, 0.05), (0.3, 0.2)],
        ),
        (
            lambda yes, n: anchored_crosswise(yes[0], yes[1], n[0], p="0.2", p_anchor="0.2"),
            chances_anchored,
            [(0.0, 1.0), (0.02, 1.0), (0.1, 0.9)],
        ),
        (
            lambda yes, n: extended_crosswise(yes, n, ("0.2", "0.8")),
            chances_extended,
            [(0.0, 0.0), (0.1, 0.0), (0.2, 0.1)],
        ),
    ],
    ids=["unrelated", "cheating", "anchored", "extended"],
)
def test_intervals_of_two_samples_cover_near_the_ends_by_enumeration(
    model: Any, chances: Any, truths: list[tuple[float, float]], n: tuple[int, int]
) -> None:
    if chances is chances_anchored and n[0] != n[1]:
        pytest.skip("the same people answer both questions")
    shares_of = cache(lambda *yes: model(yes, n).shares().values())  # the same for all truths
    for truth in truths:
        first, second = (scipy.stats.binom.pmf(np.arange(m + 1), m, p) for m, p in zip(n, chances(*truth), strict=True))
        likely = np.argwhere(np.outer(first, second) > 2e-5)
        covered, seen = np.zeros(2), 0.0
        for yes in likely.tolist():
            chance = float(first[yes[0]] * second[yes[1]])
            shares = shares_of(*yes)
            covered += [
                chance * (share.low - 1e-9 <= x <= share.high + 1e-9) for share, x in zip(shares, truth, strict=True)
            ]
            seen += chance
        # Approximate: at least 92 of 100 by enumeration, but for what was left out.
        assert seen > 0.98
        assert (covered >= 0.92 * seen - (1 - seen)).all()


@pytest.mark.parametrize(
    ("result", "model", "second"),
    [
        (two_sample_unrelated_question((260, 340), (1000, 1000), ("0.8", "0.2")), "unrelated question", "unrelated"),
        (cheating_detection((300, 600), (1000, 1000), ("1/4", "3/4")), "cheating detection", "cheaters"),
        (stochastic_lie_detector((190, 20), (200, 200), (0.2, 0.8)), "stochastic lie detector", "honest"),
        (anchored_crosswise(620, 700, 1000, p="0.2", p_anchor="0.2"), "anchored crosswise model", "attentive"),
        (extended_crosswise((388, 712), (1000, 1000), ("0.2", "0.8")), "extended crosswise model", "one_sayers"),
    ],
)
def test_two_samples_say_the_same_in_every_form(result: TwoSamples, model: str, second: str) -> None:
    share = getattr(result, second)
    assert list(result.shares()) == ["prevalence", second]
    table = result.table()
    assert list(table) == ["quantity", "share", "se", "low", "high", "most_likely"]
    assert table["quantity"].tolist() == ["prevalence", second]
    assert table["share"].tolist() == [result.prevalence.value, share.value]
    document = json.loads(result.to_json())
    assert document == result.to_dict()
    assert (document["model"], document["level"]) == (model, 0.95)
    numbers = {"value": share.value, "se": share.se, "low": share.low, "high": share.high}
    likely = None if math.isnan(share.most_likely) else share.most_likely
    assert document[second] == {**numbers, "most_likely": likely}
    text = result.text()
    assert repr(result) == text
    assert text.startswith(model.capitalize())
    columns = typeset(result).columns
    assert columns["share (%)"][1] == f"{100 * share.value:.2f}"
    assert columns["approximate 95 % interval (%)"][1] == f"{100 * share.low:.2f} to {100 * share.high:.2f}"
    assert ("undefined" in text) == math.isnan(share.most_likely)
    assert len(result.to_frame("polars")) == 2


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: two_sample_unrelated_question((1, 2), (10, 10), (0.5, 0.5)), "p must differ between the samples"),
        (lambda: two_sample_unrelated_question((1, 2), (10, 10), ("1/2", 0.5)), "p must differ between the samples"),
        (lambda: two_sample_unrelated_question((1, 2), (10, 10), (0.5, 1.5)), "p must be a probability from 0 to 1"),
        (lambda: two_sample_unrelated_question((1, 2), (10, 10), (0.5,)), "p must be two probabilities"),
        (lambda: two_sample_unrelated_question((1, 2, 3), (10, 10), (0.5, 0.2)), "yes and n must be two numbers each"),
        (lambda: cheating_detection((11, 2), (10, 10), (0.5, 0.2)), "from 0 to the size of the sample, but got 11"),
        (lambda: cheating_detection((1.5, 2), (10, 10), (0.5, 0.2)), "counts must be whole numbers"),  # type: ignore[arg-type]
        (lambda: cheating_detection((1, 2), (10, 10), (0.5, 0.2), level=95), "level must be between 0 and 1"),
        (lambda: extended_crosswise((1, 2), (10, 10), (0.5, 0.5)), "p must differ between the samples"),
        (lambda: extended_crosswise((1, 2, 3), (10, 10), (0.2, 0.8)), "differ and n must be two numbers each"),
        (lambda: extended_crosswise((10, 10), (10, 10), (0.2, 0.8)), "these counts give no estimate"),
        (lambda: extended_crosswise((1, 2), (10, 10), (0.2, 0.8), always="no"), "always must be 'differ' or 'same'"),
        (lambda: anchored_crosswise(5, 5, 10, p=0.5, p_anchor=0.2), "p must not be 1/2"),
        (lambda: anchored_crosswise(5, 5, 10, p=0.2, p_anchor="1/2"), "p_anchor must not be 1/2"),
        (lambda: anchored_crosswise(6, 5, 10, p=0.2, p_anchor=0.2), "these counts give no estimate"),
        (lambda: anchored_crosswise(6, 7, 10, p=0.2, p_anchor=0.2, both_same=2), "both_same must be at most same"),
        (lambda: anchored_crosswise(6, 7, 10, p=0.2, p_anchor=0.2, both_same=7), "both_same must be at most same"),
    ],
)
def test_bad_input_to_two_samples(call: Callable[[], TwoSamples], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        call()


def test_samples_without_a_yes_are_not_certain() -> None:
    found = noncompliance.two_sample_unrelated_question((0, 0), (10, 10), (0.5, 0.2))
    assert found.prevalence.low == 0
    assert found.prevalence.high > 0.2
    far = noncompliance.cheating_detection((600, 100), (800, 700), (0.25, 0.75)).prevalence
    assert far.value > 1
    assert far.low <= far.most_likely or far.low < 1  # a value beyond 1 does not make 1 certain
    with pytest.raises(ValueError, match="yes and n must be two numbers each"):
        noncompliance.two_sample_unrelated_question(5, 10, (0.5, 0.2))  # type: ignore[arg-type]
