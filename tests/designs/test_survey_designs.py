"""Survey designs: exact probabilities, what respondents are told, and results that others have published.

It tests surveys.py, too, the same designs for the public.
"""

from __future__ import annotations

import inspect
import json
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

from references import printed, reference
from tables import exact, scripted
from warner import Channel, RandomizedResponse, Tally, certificate, channel_mle, inv, load_design, metrics, mle, surveys
from warner.designs import MECHANISMS, design_from_json, survey_designs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SURVEYS = reference("surveys")
CASES = {case["id"]: case for case in SURVEYS["cases"]}
PEERS = {case["id"]: case for case in SURVEYS["peer_outputs"]["cases"]}

# The first report's probability with the trait and without, by hand.
TABLE = [
    (surveys.warner("1/6"), "1/6", "5/6"),
    (surveys.mirrored(0.7), "7/10", "3/10"),
    (surveys.disguised(0.8), "4/5", "1/5"),
    (surveys.crosswise("1/4"), "1/4", "3/4"),
    (surveys.triangular("1/4"), "1", "1/4"),
    (surveys.forced_response(truth="2/3", yes="1/6"), "5/6", "1/6"),
    (surveys.forced_response(truth="3/4", yes="1/6"), "11/12", "1/6"),
    (surveys.forced_response(truth="3/4", yes=0), "3/4", "0"),
    (surveys.unrelated_question(p="1/2", prevalence="1/12"), "13/24", "1/24"),
    (surveys.unrelated_question(p="2/3", prevalence="1/4"), "3/4", "1/12"),
    (surveys.mangat_singh(0.55, 0.7), "865/1000", "135/1000"),
    (surveys.mangat(0.7), "1", "3/10"),
]
FOUR = surveys.forced_response(truth=0.7, forced={"a": 0.1, "b": 0.05, "c": 0.05, "d": 0.1})
ALL = [*(design for design, _, _ in TABLE), FOUR, surveys.kuk(0.6, 0.2), surveys.kuk("4/5", "3/10", 3)]


@pytest.mark.parametrize(("design", "with_trait", "without"), TABLE)
def test_the_table_of_designs(design: Channel, with_trait: str, without: str) -> None:
    y, z = Fraction(with_trait), Fraction(without)
    assert exact(design) == [[y, 1 - y], [z, 1 - z]]
    assert design.domain == ("yes", "no")


def test_forced_answers_and_drawn_cards() -> None:
    tenth, twentieth = Fraction(1, 10), Fraction(1, 20)
    forced = [tenth, twentieth, twentieth, tenth]
    wanted = [[share + (Fraction(7, 10) if i == j else 0) for j, share in enumerate(forced)] for i in range(4)]
    assert exact(FOUR) == wanted
    assert FOUR.domain == FOUR.outputs == ("a", "b", "c", "d")
    two = surveys.forced_response(truth="3/4", forced={"yes": "1/6", "no": "1/12"})
    assert two == surveys.forced_response(truth="3/4", yes="1/6")
    cards = surveys.kuk(0.6, 0.2, 25)
    assert cards.outputs == range(26)
    for row, share in zip(cards.channel(), (0.6, 0.2), strict=True):
        assert_allclose(row, scipy.stats.binom.pmf(range(26), 25, share), rtol=1e-12)
    assert exact(surveys.kuk("4/5", "1/5"))[0] == [Fraction(1, 5), Fraction(4, 5)]
    assert surveys.kuk("4/5", "3/10", "2") == surveys.kuk(0.8, 0.3, 2)  # numbers as written, draws as well


@pytest.mark.parametrize("design", ALL)
def test_every_design_is_exact_and_draws_what_it_says(design: Channel) -> None:
    rows = exact(design)
    assert all(sum(row) == 1 and min(row) >= 0 for row in rows)
    columns = [column for column in zip(*rows, strict=True) if any(column)]
    if any(min(column) == 0 for column in columns):
        assert design.epsilon == math.inf
    else:
        largest = max(max(column) / min(column) for column in columns)
        with mpmath.workdps(50):
            true = mpmath.log(mpmath.mpf(largest.numerator) / largest.denominator)
            assert true <= mpmath.mpf(design.epsilon) <= true * (1 + mpmath.mpf(2) ** -51)
    for truth in range(design.k):  # every one of the equally likely draws, once
        drawn = design.draw(np.full(design.total, truth), scripted(list(range(design.total))))
        assert_array_equal(np.bincount(drawn, minlength=len(design.outputs)), design.weights[truth])


@pytest.mark.parametrize("design", ALL)
def test_every_design_undoes_itself(design: Channel) -> None:
    theta = np.arange(1.0, design.k + 1) / np.arange(1, design.k + 1).sum()
    expected = 1e6 * theta @ design.channel()
    assert_allclose(inv(expected, design), theta, atol=1e-9)
    assert_allclose(mle(expected, design), theta, atol=1e-9)


# What respondents are told


@pytest.mark.parametrize("design", ALL)
def test_the_procedure_stays_with_the_design(design: Channel, tmp_path: Path) -> None:
    assert len(design.procedure) > 80
    assert " ".join(design.in_words().split()).startswith(f"For the respondent: {design.procedure}")
    design.save(tmp_path / "survey.json")
    read = load_design(tmp_path / "survey.json")
    assert isinstance(read, Channel)
    assert read == design
    assert read.procedure == design.procedure
    tally = Tally(design, np.ones(len(design.outputs), int))
    assert Tally.from_json(tally.to_json()) == tally


@pytest.mark.parametrize("design", ALL)
def test_the_procedure_tells_the_numbers_and_the_reports(design: Channel) -> None:
    for report in design.outputs:
        assert str(report) in design.procedure or isinstance(report, int)
    told = {Fraction(word.strip(".,:;()")) for word in design.procedure.split() if "/" in word}
    assert told
    if len(design.outputs) == 2:  # the rows follow from the numbers that are told and their complements
        rows = {entry for row in exact(design) for entry in row} - {0, 1}
        known = told | {1 - share for share in told}
        products = {x * y for x in known for y in known}
        assert rows <= known | products | {x + y for x in known for y in known | products}


def test_a_procedure_is_no_part_of_what_a_design_does() -> None:
    plain = Channel([["1/6", "5/6"], ["5/6", "1/6"]], ["yes", "no"], ["yes", "no"])
    assert plain.procedure == ""
    assert "procedure" not in plain.to_json()
    assert "respondent" not in plain.in_words()
    assert plain == surveys.warner("1/6")
    assert hash(plain) == hash(surveys.warner("1/6"))
    assert surveys.mirrored("1/6") == surveys.warner("1/6")
    assert (Tally(plain, [1, 2]) + Tally(surveys.warner("1/6"), [1, 2])).n == 6
    assert surveys.warner("1/6").then(RandomizedResponse(["yes", "no"], truth="3/4")).in_words().startswith("Possible")
    assert FOUR.restricted(["a", "d"]).procedure == FOUR.procedure
    with pytest.raises(TypeError, match="procedure must be a text, but got 5"):
        Channel([[1, 0], [0, 1]], 2, 2, procedure=5)  # type: ignore[arg-type]
    damaged = {**json.loads(plain.to_json()), "procedure": 5}
    with pytest.raises(ValueError, match="damaged: procedure must be a text"):
        design_from_json(json.dumps(damaged))


def test_answers_and_reports_have_names_of_ones_own() -> None:
    design = surveys.warner("1/6", answers=("user", "other"), reports=("ja", "nein"))
    assert design.domain == ("user", "other")
    assert design.outputs == ("ja", "nein")
    assert "Report 'ja' if" in design.procedure
    assert surveys.crosswise("1/4").outputs == ("same", "differ")
    assert surveys.triangular("1/4").outputs == ("at least one", "neither")
    assert surveys.disguised("1/4").outputs == ("red", "black")
    assert surveys.kuk("1/4", "1/2", 2, answers=("a", "b")).domain == ("a", "b")
    german = surveys.forced_response(truth="1/2", yes="1/4", answers=("ja", "nein"), reports=("ja", "nein"))
    assert german.domain == german.outputs == ("ja", "nein")


def test_the_registry_holds_every_design_of_the_module_by_its_name() -> None:
    functions = {name: value for name, value in vars(survey_designs).items() if inspect.isfunction(value)}
    public = {
        name: value
        for name, value in functions.items()
        if value.__module__ == survey_designs.__name__ and not name.startswith("_") and name != "cards"  # by a table
    }
    assert {name.replace(" ", "_"): made for name, made in survey_designs.SURVEYS.items()} == public
    assert set(surveys.__all__) == {*public, "cards"}
    assert all(getattr(surveys, name) is made for name, made in public.items())
    assert not survey_designs.SURVEYS.keys() & MECHANISMS.keys()


# Bad input


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: surveys.warner("1/2"), "p must be such that reports carry information, but with p = 1/2 the report"),
        (lambda: surveys.warner(0.5), "nothing could be estimated"),
        (lambda: surveys.mirrored("1/2"), "nothing could be estimated"),
        (lambda: surveys.disguised("1/2"), "the report red has probability 1/2 with the trait and without it"),
        (lambda: surveys.crosswise("2/4"), "nothing could be estimated"),
        (lambda: surveys.mangat_singh("1/3", "1/4"), "truth and p must be such that reports carry information"),
        (lambda: surveys.forced_response(truth=0, yes="1/2"), "nothing could be estimated"),
        (lambda: surveys.forced_response(truth=0, forced={"a": "1/2", "b": "1/2"}), "nothing could be estimated"),
        (lambda: surveys.unrelated_question(p=0, prevalence="1/2"), "nothing could be estimated"),
        (lambda: surveys.mangat(0), "nothing could be estimated"),
        (lambda: surveys.triangular(1), "nothing could be estimated"),
        (lambda: surveys.kuk("1/3", "1/3", 4), "a red card has probability 1/3 with the trait and without it"),
        (lambda: surveys.warner(1), "p must leave something to chance, but with p = 1 every report gives"),
        (lambda: surveys.warner(0), "must leave something to chance"),
        (lambda: surveys.mangat(1), "must leave something to chance"),
        (lambda: surveys.triangular(0), "must leave something to chance"),
        (lambda: surveys.forced_response(truth=1, yes=0), "must leave something to chance"),
        (lambda: surveys.forced_response(truth=1, forced={"a": 0, "b": 0}), "must leave something to chance"),
        (lambda: surveys.unrelated_question(p=1, prevalence=0.3), "must leave something to chance"),
        (lambda: surveys.kuk(1, 0, 2), "must leave something to chance"),
        (lambda: surveys.warner("7/6"), "p must be a probability from 0 to 1, but got '7/6'"),
        (lambda: surveys.crosswise(-0.1), "p must be a probability from 0 to 1"),
        (lambda: surveys.triangular(1.2), "p must be a probability from 0 to 1"),
        (lambda: surveys.mangat_singh(1.2, 0.7), "truth must be a probability from 0 to 1"),
        (lambda: surveys.unrelated_question(p=0.5, prevalence=1.5), "prevalence must be a probability from 0 to 1"),
        (lambda: surveys.kuk(0.5, 2), "r2 must be a probability from 0 to 1"),
        (lambda: surveys.forced_response(truth="3/4", yes="1/3"), "truth and yes must sum to at most 1"),
        (lambda: surveys.forced_response(truth="3/4", forced={"a": "1/4", "b": "1/4"}), r"sum to 1 - truth = 1/4, but"),
        (lambda: surveys.forced_response(truth="3/4", forced={"a": "1/4", "b": "-1/4"}), r"forced\['b'\] must be"),
        (lambda: surveys.forced_response(truth="3/4", forced={"a": "1/4"}), "domain must have at least 2"),
        (lambda: surveys.kuk(0.5, 0.2, 0), "draws must be a whole number from 1 to 300, but got 0"),
        (lambda: surveys.kuk(0.5, 0.2, 2.5), "draws must be a whole number from 1 to 300, but got 2.5"),
        (lambda: surveys.kuk(0.5, 0.2, 10_000), "draws must be a whole number from 1 to 300, but got 10000"),
        (
            lambda: surveys.warner("1/6", answers=("a", "b", "c")),
            "answers must be two labels, that of having the trait",
        ),
        (lambda: surveys.warner("1/6", reports="no"), "reports must be two labels, the design's first report first"),
        (lambda: surveys.warner("1/6", answers=("a", "a")), "domain must hold distinct labels"),
        (lambda: surveys.warner("one sixth"), 'finite number, or a fraction such as "3/4"'),
    ],
)
def test_useless_or_impossible_designs(make: Callable[[], Channel], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        make()


def test_a_forced_response_is_given_in_one_way() -> None:
    with pytest.raises(TypeError, match="needs yes, or forced with a probability for each answer, but got neither"):
        surveys.forced_response(truth="3/4")
    with pytest.raises(TypeError, match="got both"):
        surveys.forced_response(truth="3/4", yes="1/4", forced={"a": "1/8", "b": "1/8"})
    with pytest.raises(TypeError, match="answers and reports must be left out"):
        surveys.forced_response(truth="3/4", forced={"a": "1/8", "b": "1/8"}, answers=("c", "d"))
    with pytest.raises(ValueError, match=r"must sum to 1 - truth = 1/4, but they sum to 1/3$"):
        surveys.forced_response(truth="3/4", forced={"a": "1/6", "b": "1/6"})
    with pytest.raises(ValueError, match="write fractions as strings"):
        surveys.forced_response(truth="2/3", forced={"a": 0.167, "b": 0.167})
    with pytest.raises(TypeError, match="forced must map each answer to a probability"):
        surveys.forced_response(truth="3/4", forced=["1/8", "1/8"])  # type: ignore[arg-type]


# Published results


def standard_error(counts: list[int], design: Channel, *, less: int = 0) -> float:
    """Return the textbook's standard error of the first share, dividing by n, or by n - 1."""
    f, (y, z) = counts[0] / sum(counts), design.channel()[:, 0]
    return math.sqrt(f * (1 - f) / (sum(counts) - less)) / float(abs(y - z))


def with_population_size(counts: list[int], design: Channel, size: int) -> float:
    """Return the variance for a sample without replacement, as RRTCS does: each report is undone by itself."""
    n = sum(counts)
    undone = inv(np.eye(2, dtype=int), design)[:, 0]
    r = np.repeat(undone, counts)
    return float((1 - n / size) * r.var(ddof=1) / n + (r * (r - 1)).mean() / size)


def test_unrelated_question_students() -> None:
    case = CASES["unrelated_known_students"]
    for item in case["items"]:
        design = surveys.unrelated_question(p="1/2", prevalence=item["innocuous_prevalence_w"])
        counts = [item["yes"], item["no"]]
        share = inv(counts, design)[0]
        printed(share, item["published"]["prevalence"])
        assert share == pytest.approx(item["recomputed"]["prevalence"], rel=1e-11)
        assert standard_error(counts, design) == pytest.approx(item["recomputed"]["se_plain_binomial"], rel=1e-11)
        variance = with_population_size(counts, design, case["parameters"]["population_size_N"])
        printed(variance, item["published"]["variance"])
        assert variance == pytest.approx(item["recomputed"]["variance_with_population_size"], rel=1e-11)
        for side, end in zip((-1, 1), item["published"]["ci95"], strict=True):
            printed(share + side * 1.959964 * math.sqrt(variance), end)


def test_forced_response_hunting() -> None:
    design = surveys.forced_response(truth="2/3", yes="1/6")
    for item in CASES["forced_symmetric_hunting"]["items"]:
        counts, published = [item["yes"], item["no"]], item["published"]
        share, error = inv(counts, design)[0], standard_error(counts, design)
        assert (share, error) == pytest.approx((item["recomputed"]["prevalence"], item["recomputed"]["se"]), rel=1e-10)
        printed(100 * share, published["prevalence_percent"])
        printed(100 * error, published["se_percent"])
        printed(share / error, published["t"])
        for side, end in zip((-1, 1), published["ci95_percent_clipped"], strict=True):
            printed(100 * min(max(share + side * 1.96 * error, 0), 1), end)
        # MATH 3.3: with two reports the maximum of the likelihood is the textbook's estimate, clipped
        assert mle(counts, design)[0] == pytest.approx(max(share, 0), abs=1e-12)


@pytest.mark.parametrize(
    ("case", "design", "first", "less"),
    [
        ("forced_asymmetric_mturk", surveys.forced_response(truth="3/4", yes="1/6"), ("yes", "no"), 0),
        ("crosswise_dice_and_distancing", surveys.crosswise("2/12"), ("same", "differ"), 0),
        ("crosswise_plagiarism", surveys.crosswise("1/4"), ("same", "differ"), 0),
        ("warner_dice", surveys.warner("1/6"), ("yes", "no"), 1),
    ],
)
def test_prevalence_and_standard_error(case: str, design: Channel, first: tuple[str, str], less: int) -> None:
    for item in CASES[case]["items"]:
        counts, published = [item[name] for name in first], item["published"]
        share, error = inv(counts, design)[0], standard_error(counts, design, less=less)
        assert (share, error) == pytest.approx((item["recomputed"]["prevalence"], item["recomputed"]["se"]), rel=1e-10)
        assert mle(counts, design)[0] == pytest.approx(share, abs=1e-12)
        if "prevalence" in published:
            printed(share, published["prevalence"])
        if "se" in published:
            printed(error, published["se"])
        if "z" in published:
            printed(share / error, published["z"])
        if "severe" in item["item"]:
            assert 0.01 <= share <= 0.02  # "about 1 to 2 percent"


@pytest.mark.parametrize("case", ["sum_score_k3_students", "sum_score_k4_hunters"])
def test_sum_scores_reach_or_beat_the_published_likelihood(case: str) -> None:
    (item,), parameters = CASES[case]["items"], CASES[case]["parameters"]
    design = Channel(parameters["channel_rows_true_columns_report"], parameters["categories"], parameters["categories"])
    counts = np.array(item["reports"])
    fit = channel_mle(counts, design)
    assert certificate(fit.shares, counts, design).excess <= 1e-12
    published = np.array(item["published"]["shares"]) / sum(item["published"]["shares"])

    def deviance(shares: Any) -> float:
        return float(2 * counts.sum() * metrics.negative_log_likelihood(shares, counts, design))

    assert deviance(fit.shares) == pytest.approx(item["recomputed"]["minus_2_loglik_at_mle"], abs=1e-6)
    assert deviance(fit.shares) < deviance(published)
    assert deviance(published) == pytest.approx(item["recomputed"]["minus_2_loglik_at_published"], abs=1e-3)
    assert_allclose(fit.shares, item["recomputed"]["mle_shares"], atol=1e-8)


# What another package gives


@pytest.mark.parametrize(
    ("peer", "design", "first"),
    [
        ("peer_triangular", surveys.triangular("1/4"), "at_least_one"),
        ("peer_mangat", surveys.mangat("0.7"), "yes"),
    ],
)
def test_peers_with_two_reports(peer: str, design: Channel, first: str) -> None:
    counts = [PEERS[peer]["counts"][first], PEERS[peer]["counts"]["n"] - PEERS[peer]["counts"][first]]
    printed(inv(counts, design)[0], PEERS[peer]["output"]["prevalence"])
    printed(standard_error(counts, design, less=1), PEERS[peer]["output"]["se"])


def test_peer_forced_response_with_four_answers() -> None:
    case = PEERS["peer_forced_k4"]
    forced = dict(zip("abcd", case["parameters"]["forced"], strict=True))
    design = surveys.forced_response(truth=case["parameters"]["truth"], forced=forced)
    counts = np.array(case["counts"]["reports"])
    f, gain = counts / counts.sum(), float(case["parameters"]["truth"])
    for i, share in enumerate(inv(counts, design)):
        printed(share, case["output"]["shares"][i])
        printed(math.sqrt(f[i] * (1 - f[i]) / (counts.sum() - 1)) / gain, case["output"]["se"][i])


def test_peer_kuk() -> None:
    case = PEERS["peer_kuk_25_draws"]
    given, output = case["parameters"], case["output"]
    r1, r2, draws = float(given["red_share_trait"]), float(given["red_share_no_trait"]), given["draws"]
    design = surveys.kuk(given["red_share_trait"], given["red_share_no_trait"], draws)
    counts = np.array(case["counts"]["reports_0_to_25"])
    n, size = counts.sum(), given["population_size_N"]
    assert mle(counts, design)[0] == pytest.approx(
        case["ours"]["maximum_likelihood_over_the_26_report_channel"], abs=1e-11
    )
    # The moment estimate takes all cards together, as if each were a report of its own.
    red = int(counts @ np.arange(draws + 1))
    moment = inv([n * draws - red, red], surveys.kuk(given["red_share_trait"], given["red_share_no_trait"]))[0]
    printed(moment, output["moment_prevalence"])
    # Its variance: that of each person's own moment estimate r, and of the cards given the truth, b r + c.
    r = np.repeat((np.arange(draws + 1) / draws - r2) / (r1 - r2), counts)
    cards = (1 - r1 - r2) / (draws * (r1 - r2)) * r + r2 * (1 - r2) / (draws * (r1 - r2) ** 2)
    variance = (1 - n / size) * r.var(ddof=1) / n + cards.mean() / size
    printed(variance, output["variance_with_population_size"])
    for side, end in zip((-1, 1), output["ci95"], strict=True):
        printed(moment + side * 1.959963984540054 * math.sqrt(variance), end)
    light = r2 + (r1 - r2) * moment
    first = light * (1 - light) / (draws * n - 1) / (r1 - r2) ** 2
    printed(math.sqrt(first + (1 - 1 / draws) * moment * (1 - moment) / (n - 1)), output["se_RRreg"])


def test_peer_warner_without_replacement() -> None:
    case = PEERS["peer_warner_srswor"]
    counts, design = [60, 65], surveys.warner(case["parameters"]["p"])
    assert counts == [case["counts"]["yes"], case["counts"]["n"] - case["counts"]["yes"]]
    share, size = inv(counts, design)[0], case["parameters"]["population_size_N"]
    variance = with_population_size(counts, design, size)
    printed(share, case["output"]["prevalence"])
    printed(variance, case["output"]["variance_with_population_size"])
    printed(share * size, case["output"]["total"])
    printed(variance * size**2, case["output"]["total_variance"])
    for side, end in zip((-1, 1), case["output"]["ci95"], strict=True):
        printed(share + side * 1.959963984540054 * math.sqrt(variance), end)
    printed(standard_error(counts, design), case["ours"]["se_plain_binomial"])


def test_peer_mangat_singh_with_weights() -> None:
    case = PEERS["peer_mangat_singh_weighted"]
    design = surveys.mangat_singh(case["parameters"]["T"], case["parameters"]["p"])
    strata = case["counts"]
    weighted = [sum(stratum[part] / stratum["inclusion_probability"] for stratum in strata) for part in ("yes", "n")]
    counts = [weighted[0], weighted[1] - weighted[0]]
    printed(inv(counts, design)[0], case["output"]["weighted_prevalence"])
