"""Results of a check, in words, as a table and in JSON, and the influence of fakes (`check_results`)."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from cases import COIN, FORCED, KUK, SETS, THREE
from strategies import designs_of
from tables import whole
from warner import (
    HadamardResponse,
    LocalHashing,
    ProjectiveGeometry,
    RandomizedResponse,
    Tally,
    UnaryEncoding,
    check,
    inv,
    inv_n,
    inv_p,
    mle,
    shrink,
    surveys,
)
from warner.designs.support_counts import AncillaryCount
from warner.inference.check_results import _p_values, influence_text, moved_by
from warner.text import p_value


def drawn(design: Any, rng: np.random.Generator, n: int = 300) -> Tally:
    return whole(design, design.draw(rng.integers(design.k, size=n), rng.bytes))


# Fakes


@pytest.mark.parametrize("estimator", [inv, inv_n, inv_p, mle])
@given(data=st.data())
def test_fakes_move_no_share_further_than_the_bound(data: st.DataObject, estimator: Any) -> None:
    inverted = estimator is not mle and data.draw(st.booleans())
    k = data.draw(st.integers(2, 6))
    # Some reports are honest, and others were replaced by fakes; or there would be nothing in their place.
    honest, replaced, fake = (
        np.array(data.draw(st.lists(st.integers(0, 30), min_size=k, max_size=k))) for _ in range(3)
    )
    fake[0] += max(replaced.sum() - fake.sum(), 0)
    honest[data.draw(st.integers(0, k - 1))] += 1
    design = data.draw(designs_of(k, inverted=inverted))
    n, fakes = int(honest.sum() + fake.sum()), int(fake.sum())
    (a, b), total = design.odds, design.total
    bound = float(Fraction(fakes * total, n * abs(a - b)))  # p - q in doubles would lose digits
    assert check(Tally(design, honest + fake), simulations=1).moved_by(fakes) == pytest.approx(bound)
    replaced[0] += fakes - replaced.sum()
    with_fakes = estimator(honest + fake, design)
    for without in (honest + replaced, honest):
        moved = np.abs(with_fakes - estimator(without, design))
        assert moved.sum() <= 2 * bound * (1 + 1e-9) + 1e-12
        assert moved.max() <= bound * (1 + 1e-9) + 1e-12


def test_the_bound_on_fakes_is_reached() -> None:
    # 5 of 100 reports moved from one answer to the other: 5 / (100 * 1/2) = 0.1 for each, whatever the estimator.
    for estimator in (inv, inv_n, inv_p, mle):
        moved = estimator([45, 55], COIN) - estimator([40, 60], COIN)
        assert_allclose(moved, [0.1, -0.1], atol=1e-15)
    assert check(Tally(COIN, [45, 55])).moved_by(5) == 0.1


def test_with_p_below_q_one_report_can_move_the_most_likely_shares_by_half() -> None:
    design = RandomizedResponse(3, odds=(1, 3))
    moved = mle([0, 0, 1000], design) - mle([1, 0, 999], design)
    assert_array_equal(moved, [0.5, -0.5, 0])
    found = check(Tally(design, [0, 0, 1000]), fakes=1)
    assert found.moved_by(1) < 0.004
    assert "mle has none" in found.text()
    assert "mle has none" not in check(Tally(RandomizedResponse(2, odds=(1, 3)), [4, 5])).text()


def test_the_fakes_bound_holds_for_channels_with_more_reports_than_answers() -> None:
    found = check(Tally(KUK, [300, 400, 300]))
    moved = max(
        abs(inv(np.add([300, 400, 300], change), KUK) - inv([300, 400, 300], KUK)).max()
        for change in ([1, -1, 0], [1, 0, -1], [0, 1, -1], [-1, 1, 0], [-1, 0, 1], [0, -1, 1])
    )
    assert moved <= found.moved_by(1) * (1 + 1e-9)
    assert moved == pytest.approx(found.moved_by(1))
    grouped = check(Tally(FORCED, [[40, 60], [30, 70]], by=("g",), groups=((1,), (2,)))).text()
    assert "nan" not in grouped
    assert "inf" not in grouped


def test_the_fakes_bound_is_reached_by_sets() -> None:
    # One set that holds an answer in the place of one that does not: 1 / (n (p - q)).
    found = check(Tally(SETS, [60, 40, 35, 35, 30], n=100))
    moved = inv([61, 39, 35, 35, 30], SETS, n=100) - inv([60, 40, 35, 35, 30], SETS, n=100)
    assert np.abs(moved).max() == pytest.approx(found.moved_by(1))
    assert found.moved_by(3) == pytest.approx(3 / (100 / 3))


@pytest.mark.parametrize(
    "design", [SETS, UnaryEncoding(5, p="1/2", q="1/4"), ProjectiveGeometry(7, odds=(3, 1), field=2)]
)
def test_fakes_that_are_sets_move_many_shares_at_once(design: Any) -> None:
    rng, fakes, n = np.random.default_rng(8), 3, 60
    bound = check(drawn(design, rng, n), simulations=1).moved_by(fakes)
    assert bound == pytest.approx(fakes / (n * (design.p - design.q)))
    farthest = {inv: 0.0, inv_p: 0.0}
    for _ in range(300):
        skewed = rng.dirichlet(np.full(design.k, 0.3))
        answers = rng.choice(design.k, size=n + fakes, p=skewed)
        reports = design.draw(answers, rng.bytes)
        for estimator in farthest:
            before, after = (
                estimator(design.law.count(part).counts, design, n=n) for part in (reports[:n], reports[fakes:])
            )
            moved = np.abs(after - before)
            farthest[estimator] = max(farthest[estimator], float(moved.max()))
    assert 0.9 * bound < farthest[inv] <= bound * (1 + 1e-9)
    assert farthest[inv_p] <= 2 * bound * (1 + 1e-9)


def test_one_set_can_move_a_projected_share_by_more_than_the_unbiased_one() -> None:
    # {a, d} in the place of {b, c}: inv of a rises, of b and c falls by 3/100; d stays at nothing. So inv_p lowers a, b
    # and c by a hundredth less than before, and a moves by 4/100.
    before = np.array([50, 45, 45, 30, 30])
    moved = inv_p(np.add(before, [1, -1, -1, 1, 0]), SETS, n=100) - inv_p(before, SETS, n=100)
    assert_allclose(moved, [0.04, -0.02, -0.02, 0, 0], atol=1e-12)
    assert check(Tally(SETS, before, n=100)).moved_by(1) == pytest.approx(0.03)


@pytest.mark.parametrize(
    ("design", "words"),
    [
        (THREE, None),
        (SETS, "2 answers at once"),
        (UnaryEncoding(5, p="1/2", q="1/4"), "up to 5 answers at once"),
        (ProjectiveGeometry(13, odds=(3, 1), field=3), "4 answers at once"),
        (LocalHashing(20, odds=(3, 1), field=3), "up to 9 answers at once"),
        (LocalHashing.affine(20, odds=(3, 1), values=3), "up to 8 answers at once"),
        (HadamardResponse(7, odds=(3, 1)), "up to 7 answers at once"),
        (KUK, None),
    ],
    ids=lambda value: getattr(value, "mechanism", ""),
)
def test_it_is_said_how_many_answers_one_fake_report_can_move(design: Any, words: str | None) -> None:
    text = " ".join(check(drawn(design, np.random.default_rng(1)), fakes=2).text().split())
    assert "2 fakes among the reports can have moved any share by up to" in text
    if words is None:
        assert "at once" not in text
        return
    assert f"One fake report can move {words}, each by a part of this." in text
    bounded = "This bound holds for the estimator inv, and twice it for inv_p"
    assert f"{bounded}; for inv_n, mle and shrink no such bound is known." in text


def test_the_bound_on_fakes_is_not_claimed_for_shrink() -> None:
    few, many = (Tally(RandomizedResponse(k, odds=(9, 1)), np.full(k, 50)) for k in (19, 20))
    turned = Tally(RandomizedResponse(20, odds=(1, 9)), np.full(20, 50))
    assert influence_text(few, 1).endswith("percentage points.")
    assert influence_text(many, 1).endswith("inv, inv_n, inv_p and mle; for shrink no such bound is known.")
    assert influence_text(turned, 1).endswith("inv, inv_n and inv_p; for mle and shrink no such bound is known.")
    # And there is none: one report of 10,000 moves a share by more than twice 1 / (N (p - q)).
    design = RandomizedResponse(100, epsilon=0.5)
    counts = design.simulate(np.append(0.6, np.full(99, 0.4 / 99)), 10_000, rng=np.random.default_rng(36))
    moved = counts.copy()
    moved[[counts.argmax(), counts.argsort()[50]]] += [-1, 1]
    away = np.abs(shrink(moved, design) - shrink(counts, design)).max()
    assert away > 2 * moved_by(Tally(design, counts), 1)


# What people read


def test_what_people_read_when_it_fits() -> None:
    found = check(Tally(THREE, [480, 300, 220], missing=4))
    text = found.text()
    assert repr(found) == text
    assert text.startswith(
        "The reports fit the design (p = 1.000; a misfit would have p < 0.05).\n"
        "1,000 reports among 3 answers, 4 missing"
    )
    assert "Rarest answer: 'often' has 220 reports. With this noise every answer has at least 200.0" in text
    assert "This does not contradict the 1.099" in " ".join(text.split())
    assert "below the noise floor (reported less often than the design can explain): none." in text
    assert "every 1 % of fakes among the reports can have moved any share by up to 2.5 percentage points" in text
    assert "Possible causes" not in text
    last = " ".join(text.split("\n\n")[-1].split())
    assert last.startswith("No such check can detect more noise than claimed, reports fabricated uniformly at random")
    assert max(map(len, text.splitlines())) <= 120


def test_what_people_read_when_it_does_not_fit() -> None:
    design = RandomizedResponse([f"site {i}" for i in range(40)], epsilon=1)
    counts = np.full(40, 10_000)
    counts[:12] = 0
    text = check(Tally(design, counts), fakes=1234).text()
    assert text.startswith("The reports do not fit the design (p < 0.001, below 0.05).")
    joined = " ".join(text.split())
    assert "explain): 'site 0', 'site 1'," in joined
    assert "'site 9' and 2 more." in joined
    assert "1,234 fakes among the reports" in joined
    for cause in ("less noise than claimed", "never offered", "constant or otherwise fabricated", "the wrong one"):
        assert cause in joined
    assert "more than the 1 that the design claims" in joined
    assert "No such check can detect" in text.split("\n\n")[-1]


def test_labels_play_no_tricks() -> None:
    design = RandomizedResponse(["\x1b[31mred", "y" * 300], epsilon=4)
    text = check(Tally(design, [0, 1000])).text()
    assert "\x1b" not in text
    assert "'\\x1b[31mred'" in text
    grouped = check(Tally(COIN, [[0, 1000]], by=("g",), groups=(("\x1b[2J" + "z" * 300,),))).text()
    assert "\x1b" not in grouped
    assert max(map(len, grouped.splitlines())) <= 130


def test_json() -> None:
    found = check(Tally(COIN, [10, 90], missing=3), fakes=5)
    document = json.loads(found.to_json())
    assert RandomizedResponse.from_json(json.dumps(document["design"])) == COIN
    assert (document["fits"], document["level"], document["missing"]) == (False, 0.95, 3)
    (row,) = document["groups"]
    assert (row["p_value"], row["moved_by_fakes"], row["reports"]) == (found.p_value, 0.1, 100)
    (collection,) = row["collections"]
    assert collection["tests"] == [{"name": "rarest answer", "p_value": found.tests[0].p_value[0]}]
    assert collection["epsilon_at_least"] == found.epsilon_at_least
    assert (collection["misfits"], collection["misfits_alone"]) == (["yes"], 1)
    assert document == found.to_dict()
    three = check(Tally(THREE, [480, 300, 220]))
    extreme, together = three.to_dict()["groups"][0]["collections"][0]["tests"]
    assert extreme == {"name": "rarest answer", "p_value": three.tests[0].p_value[0]}
    assert together["p_value"] == three.tests[1].p_value[0]
    assert three.tests[1].statistic is not None
    assert together["g2"] == three.tests[1].statistic[0]


def test_the_table_of_a_check() -> None:
    counts = [[480, 300, 220], [0, 0, 0], [700, 200, 100]]
    found = check(Tally(THREE, counts, by=("region",), groups=(("a",), ("b",), (None,))))
    table = found.table()
    assert list(table) == ["group", "reports", "rarest answer", "likelihood ratio", "p_value", "fits"]
    assert table["group"].tolist() == ["a", "b", "(missing)"]
    assert_array_equal(table["reports"], [1000, 0, 1000])
    assert_array_equal(table["rarest answer"], found.tests[0].p_value)
    assert_array_equal(table["p_value"], found.p_value)
    assert_array_equal(table["fits"], found.group_fits)
    assert found.to_frame("pandas").shape == (3, 6)
    one = check(Tally(FORCED, [40, 60])).table()
    assert list(one) == ["group", "reports", "possible range", "p_value", "fits"]


@pytest.mark.parametrize("design", [THREE, RandomizedResponse(3, odds=(1, 3)), KUK, RandomizedResponse(3, odds=(1, 0))])
def test_every_door_says_the_same(design: Any) -> None:
    for counts in ([[40, 30, 30], [90, 5, 5]], [[20, 50, 30], [33, 33, 34]]):
        found = check(Tally(design, counts, by=("g",), groups=((1,), (2,))), fakes=2)
        told, table = json.loads(found.to_json()), found.table()
        assert told["fits"] == found.fits == bool(np.all(found.group_fits))
        assert told["p_value"] == found.overall_p_value
        for place, group in enumerate(told["groups"]):
            assert group["fits"] == table["fits"][place]
            assert group["p_value"] == table["p_value"][place]
            columns = design.law.columns
            assert group["collections"][0]["misfits"] == [columns[i] for i in np.flatnonzero(found.misfits[place])]
        verdict = found.text().splitlines()[0]
        said = "Nothing can be tested" if not found.tests else "fit the design in all" if found.fits else "do not fit"
        assert said in verdict


def test_a_test_says_its_sentence() -> None:
    found = check(Tally(THREE, [480, 300, 220]))
    rarest, together = found.tests
    assert rarest.say(0).startswith(
        "Rarest answer: 'often' has 220 reports. With this noise every answer has at least 200.0"
    )
    assert together.say(0).startswith(
        "All answers together: G2 = 0, p = 1.000 (against 999 simulated surveys; conservative)."
    )
    assert rarest.statistic is None
    for test in found.tests:
        assert test.say(0)[:50] in found.text()
    (range_,) = check(Tally(FORCED, [40, 60])).tests
    assert range_.say(0).endswith(f"Impossible counts: {p_value(range_.p_value[0])}.")
    commonest = check(Tally(RandomizedResponse(["a", "b", "c"], odds=(1, 3)), [50, 30, 20])).tests[0]
    assert commonest.say(0).startswith("Commonest answer: 'a' has 50 reports. With this noise every answer has at most")


@pytest.mark.parametrize(
    ("design", "method", "points", "known"),
    [
        (RandomizedResponse(["yes", "no"], odds=(3, 1)), "mle", 2.0, True),  # 1 / (100 * 0.5)
        (surveys.crosswise("1/4"), "mle", 2.0, True),  # the same table as a channel
        (surveys.kuk("4/5", "3/10", 2), "mle", 2.0, False),
        (UnaryEncoding(["yes", "no"], odds=(3, 1)), "inv_p", 8.0, True),  # 1/2 and 1/4: twice 1 / (100 * 0.25)
    ],
)
def test_the_bound_on_fakes_is_that_of_the_shares_that_are_shown(
    design: Any, method: str, points: float, known: bool
) -> None:
    counts = np.full(len(design.law.columns), 100 // len(design.law.columns))
    reports = Tally(
        design, counts + (np.arange(len(counts)) < 100 - counts.sum()), n=None if design.law.exclusive else 100
    )
    text = influence_text(reports, 1, method)
    assert ("none is known for the shares that are shown" in text) != known
    if known:
        assert f"by up to {points:.3g} percentage points." in text


def test_one_count_has_both_tails_and_the_largest_of_many_a_bound() -> None:
    # 6 of 8 at 1/2 have the tail (28 + 8 + 1)/256, on either side. Of 10 pairs, the bound is 10 C(8, 6) / 10^6.
    alone = AncillaryCount("reports", 6, 8, 0.5)
    many = AncillaryCount("pairs", 6, 8, 0.1, np.log(10.0))
    assert_allclose(_p_values((alone, many)), [2 * 37 / 256, 28 / 10**5])
