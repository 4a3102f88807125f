"""All mechanisms side by side: by exact arithmetic, by enumeration, and against numbers from outside."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import warner
from references import reference
from warner import Mechanisms, RandomizedResponse, SubsetSelection, mechanisms, plan, surveys
from warner.designs import MECHANISMS
from warner.planning.mechanisms import candidates, decoding_steps, preferred
from warner.results import typeset

if TYPE_CHECKING:
    from pathlib import Path

    from warner.designs import Design

REFERENCE = reference("mechanisms")
# Names here, and in the reference file.
REFERRED = {
    "randomized response": "RR",
    "subset selection": "SS",
    "unary encoding (optimal)": "OUE",
    "unary encoding (symmetric)": "SUE",
    "Hadamard response": "HR",
    "projective geometry response": "PGR",
    "local hashing (linear)": "LH_linear",
}
FROM_EPSILON = [name for name, mechanism in MECHANISMS.items() if mechanism.variants(4, 1)]
every_mechanism = pytest.mark.parametrize("mechanism", FROM_EPSILON)


def exact_variance(design: Design) -> Fraction:
    assert design.law.symmetry is not None
    p, q, asked = design.law.symmetry[:3]
    return q * (1 - q) / (p - q) ** 2 / asked


@pytest.mark.parametrize("row", REFERENCE["parameters"], ids=lambda row: f"K={row['K']}, epsilon={row['epsilon']}")
def test_variance_and_bits_against_the_reference(row: dict[str, Any]) -> None:
    # The reference has the best sizes for a rare answer.
    found = {candidate.name: candidate for candidate in candidates(row["K"], row["epsilon"], share=0)}
    for name in REFERRED.keys() & found.keys():
        expected = row[REFERRED[name]]
        assert_allclose(found[name].variance, expected["var0"], rtol=1e-8, err_msg=name)
        assert_allclose(found[name].bits, expected["bits"], rtol=1e-8, err_msg=name)


@pytest.mark.parametrize(("k", "odds"), [(5, (3, 2)), (8, (2, 1)), (9, (6, 5)), (11, (2, 1)), (4, (50, 1))])
def test_subset_selection_by_listing_all_subsets_and_none_is_better(k: int, odds: tuple[int, int]) -> None:
    def total(size: int) -> Fraction:
        subsets = list(itertools.combinations(range(k), size))
        weights = [odds[0] if 0 in subset else odds[1] for subset in subsets]  # the answer 0 is held
        p, q = (
            Fraction(sum(w for w, subset in zip(weights, subsets, strict=True) if answer in subset), sum(weights))
            for answer in (0, 1)
        )
        return k * q * (1 - q) / (p - q) ** 2 + (1 - 2 * q) / (p - q) - Fraction(1, k)

    best = float(min(total(size) for size in range(1, k)))
    found = candidates(k, math.log(odds[0] / odds[1]))
    by_name = {candidate.name: candidate.total for candidate in found}
    assert_allclose(by_name["subset selection"] or 0.0, best, rtol=1e-9)
    assert_allclose(found[0].criterion, best, rtol=1e-9)


@given(st.integers(2, 3000), st.floats(0.05, 8), st.none() | st.floats(0, 1))
def test_the_rule(k: int, epsilon: float, share: float | None) -> None:
    compared = mechanisms(k, epsilon=epsilon, share=share)
    table = compared.table()
    assert_allclose(table["variance"], [float(exact_variance(one.design)) for one in compared.candidates], rtol=1e-9)
    exact = {one.name: exact_criterion(one.design, share) for one in compared.candidates}
    assert_allclose(table[compared.criterion], [float(value) for value in exact.values()], rtol=1e-9)
    assert (np.diff(table[compared.criterion]) >= -1e-8 * table[compared.criterion][1:]).all()
    able = [one.name for one in compared.candidates if one.in_question]
    least = min(exact[name] for name in able)
    chosen = compared.recommended
    assert chosen in able
    assert exact[chosen] <= least * Fraction(105, 100)
    bits = {one.name: one.bits for one in compared.candidates}
    free = 64 if k >= 20 else 0  # reports of up to so many bits count as equally short
    for name in able:
        if exact[name] <= least * Fraction(1049999, 1000000):
            assert bits[chosen] <= max(bits[name], free) + 1e-6
            if bits[name] <= free:
                assert exact[chosen] <= exact[name] * Fraction(10**8 + 1, 10**8)
    assert all(one.design.epsilon <= epsilon for one in compared.candidates)
    # Nothing is as short as a randomized response: with few answers it is taken where it is about as good.
    if k < 20 and exact["randomized response"] <= least * Fraction(104, 100):
        assert chosen == "randomized response"


def exact_criterion(design: Design, share: float | None) -> Fraction:
    assert design.law.symmetry is not None
    p, q, asked = design.law.symmetry[:3]
    if share is not None:
        counted = q + (p - q) * Fraction(repr(share))
        return counted * (1 - counted) / (p - q) ** 2 / asked
    return (design.k * q * (1 - q) / (p - q) ** 2 + (1 - 2 * q) / (p - q) - Fraction(1, design.k)) / asked


@pytest.mark.parametrize("case", reference("mechanism_choice")["cases"], ids=lambda case: case["id"])
def test_sizes_and_recommendations_against_the_reference(case: dict[str, Any]) -> None:
    given, wanted, kind = case["input"], case["value"], case["id"].partition("_")[0]
    if kind == "noise":  # sampling error is 1 less the sum of squares
        design = SubsetSelection(given["k"], odds=tuple(given["odds"]), size=given["size"])
        assert design.symmetry.total_variance(given["k"]) - 1 + Fraction(1, given["k"]) == Fraction(*wanted)
        return
    compared = mechanisms(given["k"], epsilon=given["epsilon"], share=given.get("share"))
    if kind == "recommended":
        assert compared.recommended == wanted["name"]
        assert getattr(compared.design(), "size", None) == wanted["size"]
        return
    (found,) = (one for one in compared.candidates if one.name == "subset selection")
    assert found.design.law.support_size == wanted["size"]
    assert_allclose(found.criterion, wanted.get("total_error", wanted.get("variance")), rtol=case["tolerance"])
    made = plan(
        given["k"], mechanism="subset selection", epsilon=given["epsilon"], people=100, share=given.get("share")
    )
    assert made.design == compared.design("subset selection")


def test_the_error_of_a_plan_is_the_total() -> None:
    for one in candidates(12, 1.5):
        made = plan(one.design, people=1000)
        assert one.total is not None
        assert_allclose(12 * 1000 * made.error**2, one.total, rtol=1e-12)


def test_no_shown_row_has_a_far_smaller_error_at_the_share_that_was_asked_for() -> None:
    for k, epsilon, share in ((100, 4, 0.1), (100, 4, 0.5), (16, 2, 0.3), (1000, 5, 0.02), (12, 1, 0)):
        table = mechanisms(k, epsilon=epsilon, people=100_000, share=share).table()
        (own,) = table["half_width"][table["recommended"].astype(bool)]
        assert own <= 1.05 * table["half_width"].min()


def test_a_smaller_number_in_another_row_is_explained() -> None:
    # Under a symmetric unary encoding a share of one half has a narrower interval, and the sum of errors is larger.
    compared = mechanisms(100, epsilon=4, people=100_000)
    assert compared.table()["half_width"].argmin() != 0
    assert "has a smaller interval half-width here, but its total squared error of the shares is 2.6 times" in (
        " ".join(compared.reason.split())
    )
    # Within 5 % by the total, yet a quarter fewer people for the interval that was asked for, with longer reports.
    near = mechanisms(4, epsilon=0.5, half_width=0.02)
    people = dict(zip(near.table()["mechanism"], near.table()["people"], strict=True))
    part = people["subset selection"] / people["randomized response"]
    assert near.recommended == "randomized response"
    assert (
        f"Subset selection needs {100 * part:.0f} % of the respondents here, but its reports take 2.6 bits."
        in near.reason
    )
    # Reports of 835 bits are not worth 2.4 %, and a variant is no candidate.
    reason = mechanisms(1000, epsilon=1, half_width=0.01, share=0).reason
    assert "it needs 2.4 % more respondents than subset selection, whose reports take 835 bits." in reason
    assert "Local hashing (affine) is listed for comparison only." in reason
    # Where sets are recommended, what counts alone no longer give.
    assert "Randomized response needs 13 % more respondents for the same total error, but its counts alone give" in (
        mechanisms(16, epsilon=2).reason
    )
    assert "counts alone" not in mechanisms(5, epsilon=1).reason


def test_the_worked_number() -> None:
    found = {candidate.name: candidate for candidate in candidates(16, 1)}
    e = math.e
    assert_allclose(
        [found[name].criterion for name in ("randomized response", "subset selection")], [99.7, 51.9], atol=0.05
    )
    p, q = 4 * e / (4 * e + 12), 4 * (3 * e + 12) / (15 * (4 * e + 12))
    assert_allclose(found["subset selection"].variance, q * (1 - q) / (p - q) ** 2, rtol=1e-12)
    assert_allclose(found["subset selection"].bits, math.log2(math.comb(16, 4)), rtol=1e-12)
    assert_allclose(found["randomized response"].bits, 4)


@pytest.mark.parametrize("options", [{"half_width": 0.03}, {"error": 0.004}, {"half_width": 0.03, "share": 0.0}])
def test_the_people_are_those_of_a_plan_for_each_mechanism(options: dict[str, Any]) -> None:
    compared = mechanisms(30, epsilon=1.5, level=0.9, **options)
    table = compared.table()
    measure = "error" if "error" in options else "half_width"
    for name, people, reached, decoding in zip(
        *(table[column] for column in ("mechanism", "people", measure, "decoding")), strict=True
    ):
        design = compared.design(name)
        made = plan(design, level=0.9, **options)
        assert made.people == people
        assert getattr(made, measure) == reached <= options[measure]
        assert decoding == decoding_steps(design, people)
    given = mechanisms(30, epsilon=1.5, people=5000, share=options.get("share"))
    for name, reached in zip(given.table()["mechanism"], given.table()["half_width"], strict=True):
        made = plan(given.design(name), people=5000, share=options.get("share"))
        assert_allclose(made.half_width, reached, rtol=1e-12)
    assert given.recommended == compared.recommended == mechanisms(30, epsilon=1.5).recommended


def test_the_comparison_of_a_plan_is_for_its_own_question() -> None:
    made = plan(200, epsilon=1, half_width=0.02, simultaneous=True)
    assert made.mechanisms is not None
    rows = dict(zip(made.mechanisms.table()["mechanism"], made.mechanisms.table()["people"], strict=True))
    assert rows[made.mechanisms.recommended] == made.people
    assert made.design == made.mechanisms.design()
    given = plan(200, epsilon=1, people=4000, population="zipf:1.1")
    assert given.mechanisms is not None
    table = given.mechanisms.table()
    own = table["mechanism"] == given.mechanisms.recommended
    assert_allclose(table["half_width"][own], given.half_width, rtol=1e-12)
    assert set(table["people"]) == {4000}
    solved = plan(200, people=40_000, half_width=0.05)
    assert solved.mechanisms is not None
    assert solved.design.mechanism != "randomized response"
    names = [candidate.name for candidate in solved.mechanisms.candidates]
    assert solved.mechanisms.needed[names.index(solved.mechanisms.recommended)] in {
        40_000,
        39_999,  # epsilon is rounded up, and a person less may do
    }
    # What treats answers differently, or tells all, cannot be compared.
    assert plan(surveys.kuk("4/5", "3/10", 2), people=100).mechanisms is None
    assert plan(RandomizedResponse(3, odds=(1, 0)), people=100).mechanisms is None


def test_one_truth_in_every_form() -> None:
    compared = mechanisms(100, epsilon=1, half_width=0.05)
    document = json.loads(compared.to_json())
    table = compared.table()
    assert document["recommended"] == compared.recommended
    assert document["reason"] in " ".join(compared.text().split())
    assert (document["answers"], document["epsilon"], document["goal"]) == (100, 1, 0.05)
    assert [row["mechanism"] for row in document["mechanisms"]] == table["mechanism"].tolist()
    shown = typeset(compared).columns
    for place, row in enumerate(document["mechanisms"]):
        assert row == {name: column.tolist()[place] for name, column in table.items()}
        assert shown["mechanism"][place] == row["mechanism"]
        assert shown["respondents"][place] == f"{row['people']:,}"
        assert shown["variance"][place] == f"{row['variance']:.4g}"
        assert shown["recommended"][place] == ("yes" if row["recommended"] else "")
        assert row["recommended"] == (row["mechanism"] == compared.recommended)
    frame = compared.to_frame()
    assert list(frame.columns) == list(table)
    assert repr(compared) == compared.text()
    assert max(map(len, compared.text().splitlines())) <= 120
    assert "people" not in mechanisms(100, epsilon=1).table()
    whole = plan(100, epsilon=1, half_width=0.05)
    assert json.loads(whole.to_json())["mechanisms"]["mechanisms"][0]["mechanism"] == table["mechanism"][0]
    # The plan is for the same mechanism; that of another one names it.
    assert whole.advice == ()
    other = plan(100, mechanism="randomized response", epsilon=1, half_width=0.05)
    assert compared.recommended in other.advice[0]


def test_the_recommended_design_has_the_labels_and_the_epsilon() -> None:
    labels = [f"answer {number}" for number in range(40)]
    design = mechanisms(labels, epsilon="1/2").design()
    assert design.domain == tuple(labels)
    assert 0.49 < design.epsilon <= 0.5
    assert mechanisms(labels, epsilon=0.5).design("randomized response") == RandomizedResponse(labels, epsilon=0.5)
    with pytest.raises(ValueError, match=r"name must be one of randomized response.*, but got 'roulette'"):
        mechanisms(4, epsilon=1).design("roulette")


def test_very_many_answers() -> None:
    compared = mechanisms(1_423_000, epsilon=1, half_width=0.02)
    by_name = dict(zip(compared.table()["mechanism"], compared.table()["bits"], strict=True))
    # log2 C(K, d) by Stirling's series: K H(d/K) - log2(2 pi d (K-d) / K) / 2.
    design = SubsetSelection(1_423_000, epsilon=1)
    d, k = design.size, design.k
    entropy = -(d * math.log2(d / k) + (k - d) * math.log2(1 - d / k))
    assert_allclose(by_name["subset selection"], entropy - math.log2(2 * math.pi * d * (k - d) / k) / 2, atol=1e-3)
    assert compared.candidates[0].variance < 3.7


def test_what_no_number_of_people_reaches_is_left_open() -> None:
    compared = mechanisms(1000, epsilon=1e-7, half_width=0.01)
    table = compared.table()
    assert None in table["people"].tolist()
    assert "> 2^53" in typeset(compared).columns["respondents"]
    assert json.loads(compared.to_json())["mechanisms"][-1]["people"] is None


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        ({"epsilon": 0}, ValueError, "epsilon must be positive"),
        ({"epsilon": 41}, ValueError, "epsilon must be positive"),
        ({"epsilon": "much"}, ValueError, "epsilon must be a finite number"),
        ({"epsilon": 1, "people": 0}, ValueError, "people must be a whole number"),
        ({"epsilon": 1, "people": 10, "half_width": 0.1}, TypeError, "people or half_width, not both"),
        ({"epsilon": 1, "error": 0.1, "half_width": 0.1}, TypeError, "half_width or error"),
        ({"epsilon": 1, "half_width": 0.6}, ValueError, "half_width must be above 0"),
        ({"epsilon": 1, "share": -1}, ValueError, "share must be from 0 to 1"),
        ({"epsilon": 1, "level": 2}, ValueError, "level must be between 0 and 1"),
    ],
)
def test_bad_input_is_told(options: dict[str, Any], kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        mechanisms(10, **options)
    with pytest.raises(ValueError, match="at least 2"):
        mechanisms(1, epsilon=1)


def test_the_picture_shows_every_mechanism_and_the_rule(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    compared = mechanisms(50, epsilon=1)
    ax = compared.plot(ax=Figure().subplots(), title="Ours")
    assert ax.get_title(loc="left") == "Ours"
    labels = ax.texts[: len(compared.candidates)]
    heights = sorted(label.get_position()[1] for label in labels)
    assert np.diff(heights).min() > 0.04  # no label covers another one
    assert heights[-1] <= 1
    named = [label.get_text() for label in labels]
    assert [name.rpartition(":")[0] for name in named] == [candidate.name for candidate in compared.candidates]
    drawn = {name.rpartition(":")[0]: line for name, line in zip(named, ax.lines, strict=False)}
    # At epsilon 1 each line is where the table has it.
    place = int(np.abs(np.log(np.asarray(ax.lines[0].get_xdata(), dtype=float))).argmin())
    least = min(candidate.criterion for candidate in compared.candidates)
    assert_allclose(np.asarray(ax.lines[0].get_xdata(), dtype=float)[place], 1)
    for candidate in compared.candidates:
        height = np.asarray(drawn[candidate.name].get_ydata(), dtype=float)[place]
        assert_allclose(height, max(100 * (candidate.criterion / least - 1), 0.1), rtol=1e-6)
    assert any(np.allclose(np.asarray(line.get_ydata(), dtype=float), 5) for line in ax.lines)
    compared.save_plot(tmp_path / "mechanisms.svg")
    assert "recommended at ε = 1" in (tmp_path / "mechanisms.svg").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match=r"must end in \.png"):
        compared.save_plot(tmp_path / "mechanisms.gif")
    compared.plot().figure.clear()


# Planning with each mechanism, without naming it


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_example_can_be_planned_with_or_says_why_not(mechanism: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # enough to meet one that reaches the goal
    monkeypatch.setattr("warner.planning.number_precision.EPSILONS_TRIED", 50)
    for design in MECHANISMS[mechanism].examples():
        if design.epsilon == 0:
            with pytest.raises(ValueError, match="an epsilon above 0"):
                plan(design, people=500)
            continue
        try:
            made = plan(design, people=500)
        except ValueError as error:
            assert "must identify the share of some answer" in str(error)  # as some channels
            continue
        assert 0 <= made.half_width < math.inf
        alone = design.law.symmetry is None or bool(design.repetition()) or design.epsilon == math.inf
        assert (made.mechanisms is None) == alone
        try:
            solved = plan(design, people=10**9, half_width=0.2)  # a small epsilon, which the search meets first
        except TypeError as error:
            assert "another epsilon cannot be planned" in str(error)
        else:
            assert solved.half_width <= 0.2
            assert solved.design.mechanism == mechanism


@every_mechanism
def test_any_two_give_the_third_for_every_mechanism(mechanism: str) -> None:
    by_people = plan(12, mechanism=mechanism, epsilon=1.25, half_width=0.05)
    by_width = plan(12, mechanism=mechanism, epsilon=1.25, people=by_people.people)
    by_epsilon = plan(12, mechanism=mechanism, people=by_people.people, half_width=by_width.half_width)
    assert [made.solved_for for made in (by_people, by_width, by_epsilon)] == ["people", "half_width", "epsilon"]
    assert by_width.half_width <= 0.05
    assert by_epsilon.epsilon <= 1.25 * (1 + 1e-9)
    assert by_epsilon.half_width <= by_width.half_width
    assert by_epsilon.design.mechanism == mechanism
    table = by_people.table([0.5, 2.0], [1000])
    assert table["half_width"][1] < table["half_width"][0]


@every_mechanism
def test_the_predicted_errors_and_the_shuffler_for_every_mechanism(mechanism: str) -> None:
    made = plan(12, mechanism=mechanism, epsilon=1.25, people=300, population="zipf:1")
    assert made.errors["inv_p"] < made.errors["inv"] == made.error
    # A million people are simulated at once where the design can.
    many = plan(1000, mechanism=mechanism, epsilon=1.25, people=10**6, population="zipf:1")
    assert ("inv_p" in many.errors) == (many.design.law.exclusive or many.design.law.types is not None)
    assert many.errors["inv"] == many.error
    if len(made.design.law.columns) == 12:
        shuffled = plan(made.design, people=300, delta=1e-6).shuffled_epsilon
        assert shuffled is not None
        assert 0 < shuffled < made.design.epsilon
    else:
        with pytest.raises(ValueError, match="leave out delta"):
            plan(made.design, people=300, delta=1e-6)


def test_the_advice_is_the_recommended_mechanism_where_that_is_worth_a_word() -> None:
    # Randomized response is about the best for few answers or a large epsilon.
    assert plan(2, epsilon=1, people=100).advice == ()
    assert plan(10, epsilon=5, people=100).advice == ()
    best = preferred(candidates(1024, 1))
    (said,) = plan(1024, mechanism="randomized response", epsilon=1, people=100).advice
    # Unary encoding needs 4e / (e + 1022) = 1.06 % of the people, the best sets hardly fewer, others 5 % more at most.
    assert f"at the same epsilon, {best.name} would need about 1.1 % of the respondents" in said
    assert "instead of 10.0" in said
    assert plan(best.design, people=100).advice == ()
    assert plan(RandomizedResponse(10, odds=(1, 0)), people=10).advice == ()
    # Sets of 5 out of 10 answers at odds 20 : 1 are far larger than K / (20 + 1): randomized response is the advice.
    large = SubsetSelection(10, odds=(20, 1), size=5)
    ratio = float(exact_criterion(RandomizedResponse(10, odds=(20, 1)), None) / exact_criterion(large, None))
    (said,) = plan(large, people=10).advice
    assert f"randomized response would need about {100 * ratio:.2g} %" in said
    # Odds of 1 : 2 spend as much as 2 : 1: q (1-q) / (p-q)^2 is 2 * 17 against 1 * 10.
    (said,) = plan(RandomizedResponse(10, odds=(1, 2)), people=10).advice
    assert "at the same epsilon" in said


def test_far_shorter_reports_are_worth_a_word() -> None:
    design = SubsetSelection(1024, epsilon=1)
    best = preferred(candidates(1024, 1))
    advice = plan(design, people=100).advice
    if best.bits * 2 < design.report_form.bits:
        (said,) = advice
        assert f"{best.name} would need reports of {best.bits:.1f} bits instead of 854" in said
    else:
        assert advice == ()


def test_mechanisms_and_its_result_are_public() -> None:
    assert isinstance(warner.mechanisms(2, epsilon=1), Mechanisms)


def test_one_person_is_not_several() -> None:
    assert mechanisms(3, epsilon=1, people=1)._title().endswith("interval half-width of 1 respondent in the worst case")


def test_half_widths_are_printed_in_points() -> None:
    compared = mechanisms(6, epsilon=1, people=1000)
    shown = typeset(compared).columns["half-width (points)"]
    exact = [row["half_width"] for row in compared.to_dict()["mechanisms"]]
    assert_allclose([float(cell) for cell in shown], 100 * np.array(exact), rtol=5e-3)
