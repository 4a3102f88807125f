"""estimate_groups: every design, every interface, every error; smaller errors, and coverage.

It tests groups/group_intervals.py, groups/group_intervals.py and groups/group_intervals.py as well.
"""

from __future__ import annotations

import json
from typing import Any, cast

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from cases import COIN, DIRECT, KUK, LOADED, NINE, PAIRS, THREE
from references import reference
from warner import (
    CutoffResponse,
    Memoized,
    RandomizedResponse,
    SquareWave,
    Tally,
    UnaryEncoding,
    estimate,
    estimate_groups,
    grid,
    pool,
)
from warner.groups import fay_herriot
from warner.groups.group_intervals import COVERAGE_WORDS, exact_limits
from warner.inference.quantities import Quantities
from warner.results import typeset
from warner.text import p_value, sentence

EXAMPLE = reference("groups")["groups"]
NAMES = tuple((name,) for name in "ABCDEFGH")
COUNTS = np.stack([EXAMPLE["count"], np.subtract(EXAMPLE["trials"], EXAMPLE["count"])], axis=1)
REGIONS = Tally(COIN, COUNTS, by=("region",), groups=NAMES)
WEEKS = Tally(COIN, COUNTS, by=("week",), groups=tuple((i,) for i in range(8)))


def drawn(design: Any, shares: Any, n: Any, rng: Any) -> Any:
    counts = np.stack([design.simulate(share, int(number), rng=rng) for share, number in zip(shares, n, strict=True)])
    return Tally(design, counts, n=np.asarray(n), by=("g",), groups=tuple((i,) for i in range(len(n))))


# Rows


@pytest.mark.parametrize(
    ("rows", "groups", "answers"), [(1, 1, 20), (5, 5, 20), (20, 20, 10), (25, 25, 8), (300, 30, 6)]
)
def test_rows_bound_what_is_printed_of_many_answers(rows: int, groups: int, answers: int) -> None:
    k, rng = 500, np.random.default_rng(1)
    shares = 1 / np.arange(1, k + 1) ** 2
    many = drawn(RandomizedResponse(k, epsilon=8), [shares / shares.sum()] * 30, [2_000] * 30, rng)
    found = estimate_groups(many)
    printed = typeset(found, rows=rows)
    assert len(printed.columns["value"]) == groups * answers <= max(200, rows)
    assert len(set(printed.columns["g"])) == groups
    largest = np.argsort(-found.shares[0], kind="stable")[:answers]
    assert printed.columns["value"][:answers] == [str(answer) for answer in largest]
    left = [f"{30 - groups} more group{'s' * (groups < 29)}"] * (groups < 30) + [
        f"{k - answers} more answers in each group"
    ]
    assert printed.notes[0] == f"... and {', '.join(left)}."
    assert len(typeset(found).columns["value"]) == 30 * k


def test_rows_bound_the_groups_of_two_answers() -> None:
    found = estimate_groups(REGIONS)
    assert typeset(found, rows=3).columns["region"] == ["A", "B", "C"]
    assert typeset(found, rows=3).notes[0] == "... and 5 more groups."
    assert typeset(found, rows=8) == typeset(found)


# Numbers


def test_the_table_has_the_reference_numbers() -> None:
    table = estimate_groups(REGIONS).table()
    assert list(table) == ["region", "value", "reports", "share", "se", "low", "high", "own"]
    for name in ("share", "own"):
        assert_allclose(table[name][::2], EXAMPLE["averaged"][name], atol=1e-5)
    assert (table["se"][::2] > EXAMPLE["averaged"]["se"]).all()  # by a prior under which intervals cover
    reach = 1.959964 * table["se"]
    assert_allclose(table["low"], np.clip(table["share"] - reach, 0, 1), atol=1e-6)
    assert_allclose(table["high"], np.clip(table["share"] + reach, 0, 1), atol=1e-6)
    assert_allclose(table["share"][::2] + table["share"][1::2], 1)
    assert_allclose(table["low"][::2] + table["high"][1::2], 1)


def test_three_answers_have_the_reference_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    # As the prototype has it: without the prior under which intervals cover; a share of nothing differs nowhere
    monkeypatch.setattr(fay_herriot, "matched", lambda weights, _: weights)
    monkeypatch.setattr(fay_herriot, "error_of_overall", lambda direct, mean: 0.0)
    example = reference("groups")["three_answers"]
    together = estimate_groups(Tally(THREE, example["counts"], by=("g",), groups=NAMES[:4]))
    assert_allclose(together.shares, example["shares"], atol=1e-4)
    assert_allclose(together.errors, example["se"], atol=1e-4)
    assert together.spread.shape == (3,)


def test_all_below_the_noise() -> None:
    example = reference("groups")["all_below_the_noise"]
    together = estimate_groups(Tally(COIN, [[15, 85]] * 5, by=("g",), groups=NAMES[:5]))
    assert_allclose(together.shares[:, 0], example["share"])
    assert (together.errors[:, 0] > 0.03).all()  # more than that of full pooling, sqrt(0.75 / 500)


@pytest.mark.parametrize("design", [COIN, DIRECT, THREE, KUK, LOADED, PAIRS, UnaryEncoding(4, epsilon=1)], ids=repr)
def test_every_design_is_pooled_to_distributions(design: Any) -> None:
    rng = np.random.default_rng(1)
    shares = rng.dirichlet(np.full(design.k, 3.0), size=12)
    together = estimate_groups(drawn(design, shares, np.full(12, 80), rng))
    assert_allclose(together.shares.sum(axis=1), 1)
    assert (together.shares >= 0).all()
    assert ((together.own > 0) & (together.own < 1)).all()
    low, high = together.limits(0.95, "average")
    assert (low <= together.shares).all()
    assert (together.shares <= high).all()
    assert 0 <= together.test().p_value <= 1


def test_groups_under_designs_that_tell_the_same_are_as_under_one() -> None:
    """Half of the regions under another device with the same probabilities, in a pool: the same shares."""
    twin = RandomizedResponse(["yes", "no"], odds=(3, 1))
    channel = twin.as_channel()
    first, second = COUNTS.copy(), COUNTS.copy()
    first[4:], second[:4] = 0, 0
    both = pool(
        [Tally(COIN, first, by=("region",), groups=NAMES), Tally(channel, second, by=("region",), groups=NAMES)]
    )
    assert len(both.parts) == 2
    assert_allclose(estimate_groups(both).shares, estimate_groups(REGIONS).shares, rtol=1e-9)
    assert_allclose(
        estimate_groups(both).limits(0.95, "each"), estimate_groups(REGIONS).limits(0.95, "each"), atol=1e-7
    )


def test_answers_may_be_renamed_and_reordered() -> None:
    counts = np.array([[60, 25, 15], [50, 30, 20], [55, 20, 25], [70, 20, 10]])
    before = estimate_groups(Tally(THREE, counts, by=("g",), groups=NAMES[:4]))
    turned = RandomizedResponse(["often", "never", "once"], odds=(3, 1))
    after = estimate_groups(Tally(turned, counts[:, [2, 0, 1]], by=("g",), groups=NAMES[:4]))
    assert_allclose(after.shares, before.shares[:, [2, 0, 1]], rtol=1e-9)


def test_weights_count_as_effective_reports() -> None:
    """Weights of 2 for everybody are the reports themselves."""
    weighted = Tally(COIN, 2.0 * COUNTS, squares=4.0 * COUNTS.sum(axis=1), by=("region",), groups=NAMES)
    assert_allclose(estimate_groups(weighted).shares, estimate_groups(REGIONS).shares, rtol=1e-9)
    assert "approximate" in estimate_groups(weighted).text(kind="each")


def test_sets_of_answers_have_intervals() -> None:
    counts = [[60, 25, 15], [50, 30, 20], [55, 20, 25], [70, 20, 10]]
    together = estimate_groups(Tally(THREE, counts, by=("g",), groups=NAMES[:4]))
    both = together.interval(["never", "once"])
    one = together.interval("often")
    assert both.low.shape == one.low.shape == (4,)
    assert (both.high >= 1 - one.high - 0.2).all()
    for kind in COVERAGE_WORDS:
        assert json.loads(together.interval("often", kind=kind).to_json())["holds"] == COVERAGE_WORDS[kind]
    assert together.interval().low.shape == (4, 3)
    with pytest.raises(ValueError, match="at least one and not all"):
        together.interval(["never", "once", "often"])


def test_limits_of_one_answer_are_those_of_the_table_and_no_others_are_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = [[60, 25, 15], [50, 30, 20], [55, 20, 25], [70, 20, 10]]
    three, two = Tally(THREE, counts, by=("g",), groups=NAMES[:4]), REGIONS
    computed: list[int] = []

    def counted(tally: Any, sets: Any, place: int, *rest: Any) -> Any:
        computed.append(place)
        return exact_limits(tally, sets, place, *rest)

    monkeypatch.setattr("warner.groups.group_estimates.exact_limits", counted)
    for survey, answer, where, place in ((three, "once", 1, 1), (two, "no", 1, 0)):
        together = estimate_groups(survey)
        alone = together.interval(answer, kind="each")
        together.plot(answer, kind="each")
        assert computed == [place]
        low, high = together.limits(0.95, "each")
        assert_array_equal(alone.low, low[:, where])
        assert_array_equal(alone.high, high[:, where])
        assert sorted(computed) == list(range(len(together.direct)))  # each of them once
        computed.clear()


def test_the_limits_of_each_group_contain_their_direct_share_and_differ() -> None:
    together = estimate_groups(REGIONS)
    low, high = together.limits(0.95, "each")
    unbiased = np.array(EXAMPLE["unbiased"])
    assert ((low[:7, 0] < unbiased) & (unbiased < high[:7, 0])).all()
    assert (low[7, 0], high[7, 0]) == (0, 1)  # no reports
    exact = estimate(REGIONS).interval("yes")
    assert np.mean((high - low)[:6, 0]) < np.mean((exact.high - exact.low)[:6])


# Order


def test_a_trend_bridges_empty_weeks() -> None:
    example = reference("groups")["trend"]
    counts = np.stack([example["count"], np.subtract(example["trials"], example["count"])], axis=1)
    order = [3, 0, 5, 1, 2, 4, 7, 6]
    tally = Tally(COIN, counts[order], by=("week",), groups=tuple((int(i),) for i in order))
    together = estimate_groups(tally, along="week")
    assert_allclose(together.shares[:, 0], np.array(example["share"])[order], atol=example["tolerance"])
    assert together.own[4, 0] == 0  # week 2 has no reports
    assert "One step: " in together.text()


def test_a_panel_has_a_walk_for_each_region() -> None:
    groups = tuple((region, week) for region in "AB" for week in (1, 2, 3))
    counts = [[40, 60], [45, 55], [50, 50], [70, 30], [65, 35], [60, 40]]
    together = estimate_groups(Tally(COIN, counts, by=("region", "week"), groups=groups), along="week")
    assert together.series is not None
    assert together.series.indices.shape == (3, 2)
    assert together.shares[0, 0] < together.shares[3, 0]


# Interfaces


def test_every_door_says_for_whom_intervals_hold() -> None:
    together = estimate_groups(REGIONS)
    for kind, words in (("average", "on average over the groups"), ("each", "for each group")):
        document = json.loads(together.to_json(kind=kind))
        assert document["holds"] == COVERAGE_WORDS[kind]
        assert document["kind"] == kind
        assert words in together.text(kind=kind)
        assert words in "".join(typeset(together, kind=kind).columns)
    document = json.loads(together.to_json())
    assert sentence(document["meaning"]) in typeset(together).notes
    assert sentence(document["meaning"]) in " ".join(together.text().split("\n"))
    assert "warner.estimate" in document["meaning"]


def test_text_json_and_frame_tell_the_same_numbers() -> None:
    together = estimate_groups(REGIONS)
    document, table = json.loads(together.to_json(level=0.9)), together.table(0.9)
    assert [row["share"] for row in document["values"]] == table["share"].tolist()
    assert [row["low"] for row in document["values"]] == table["low"].tolist()
    assert document["values"][0]["group"] == {"region": "A"}
    assert document["spread"] == together.spread
    assert document["test"]["p_value"] == together.test().p_value
    frame = together.to_frame("polars", level=0.9)
    assert frame["share"].to_list() == table["share"].tolist()
    text = together.text(level=0.9)
    assert typeset(together, level=0.9).columns["share (%)"][0] == "33.0"
    assert p_value(together.test().p_value) in text
    assert "90 % interval" in text


def test_p_value_and_interval_of_the_spread_agree() -> None:
    together = estimate_groups(REGIONS)
    test = together.test()
    # 1,999 draws: the standard deviation of a share of 0.05 is 0.005, and groups are large enough for chi-squared.
    assert test.one_sided == pytest.approx(EXAMPLE["Q"]["p"], abs=0.02)
    assert test.p_value == 2 * test.one_sided
    assert (test.method, test.freedom, test.approximate) == ("conditional likelihood ratio", 6, False)
    assert together.spread_interval(0.95)[0] == 0
    assert together.spread_interval(0.8)[0] > 0


def test_many_groups_are_shown_in_part() -> None:
    tally = Tally(COIN, [[40, 60]] * 30, by=("g",), groups=tuple((i,) for i in range(30)))
    assert "... and 10 more groups" in estimate_groups(tally).text()


def test_the_share_of_the_second_of_two_answers_is_explained() -> None:
    sentence = "The share of 'no' is 100 % minus that of 'yes'."
    three = Tally(THREE, [[40, 30, 30], [30, 40, 30]], by=("g",), groups=(("a",), ("b",)))
    two = Tally(COIN, [[40, 60], [50, 50]], by=("g",), groups=(("a",), ("b",)))
    assert sentence in " ".join(estimate_groups(two).text().split())
    assert "minus that of" not in " ".join(estimate_groups(three).text().split())


def test_ranks_are_expected_ones() -> None:
    ranks = estimate_groups(REGIONS).ranks(count=2)
    table = ranks.table()
    assert table["region"][np.argmin(table["rank"])] == "E"
    assert_allclose(table["rank"].sum(), 36)  # of eight groups
    assert_allclose(table["first"].sum(), 2)
    assert (table["low"] <= table["rank"]).all()
    assert ranks.text().splitlines()[2].startswith("E")
    assert_allclose(estimate_groups(REGIONS).ranks(count=2).expected, ranks.expected)  # seeded by the counts


# What is doubted


def test_groups_with_enough_reports_are_told() -> None:
    counts = [[4000, 6000], [5000, 5000], [3000, 7000], [6000, 4000]]
    doubts = estimate_groups(Tally(NINE, counts, by=("g",), groups=NAMES[:4])).warnings()
    assert any("enough reports of their own" in doubt for doubt in doubts)
    assert not estimate_groups(REGIONS).warnings()


def test_sizes_that_go_with_shares_are_told() -> None:
    rng = np.random.default_rng(2)
    n = np.geomspace(50, 3000, 40).astype(int)
    yes = np.clip(0.1 + 0.12 * np.log(n / 50), 0, 1)
    tally = drawn(NINE, np.column_stack([yes, 1 - yes]), n, rng)
    assert any("size" in doubt for doubt in estimate_groups(tally).warnings())
    with_size = estimate_groups(tally, on={"g": list(range(40)), "size": np.log(n)})
    assert not any("size" in doubt for doubt in with_size.warnings())


def test_one_group_keeps_its_share_and_says_so() -> None:
    together = estimate_groups(Tally(COIN, [[40, 60]], by=("g",), groups=NAMES[:1]))
    assert_allclose(together.shares, [[0.3, 0.7]])
    assert any("nothing to pool" in doubt for doubt in together.warnings())


# Errors


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: estimate_groups(Tally(COIN, [40, 60])), "must have groups"),
        (lambda: estimate_groups(REGIONS, along="week"), "along must name groups"),
        (lambda: estimate_groups(REGIONS, along="region"), "no order that can be read"),
        (lambda: estimate_groups(WEEKS, on={"week": list(range(8)), "x": range(8)}, along="week"), "not both"),
        (lambda: estimate_groups(REGIONS).table(kind="all"), "kind must be 'average' or 'each'"),
        (lambda: estimate_groups(REGIONS).table(1.5), "level must be between 0 and 1"),
        (lambda: estimate_groups(WEEKS, along="week").table(kind="each"), "along an order"),
        (lambda: estimate_groups(REGIONS).ranks(count=9), "count must be a whole number from 1 to 8"),
        (lambda: estimate_groups(REGIONS).ranks("maybe"), "must be in the domain"),
        (
            lambda: estimate_groups(Tally(KUK, [[20, 30, 50]] * 3, by=("g",), groups=NAMES[:3])).table(kind="each"),
            "do not show in binomial counts",
        ),
        (
            lambda: estimate_groups(pool([REGIONS, Tally(NINE, COUNTS, by=("region",), groups=NAMES)])).table(
                kind="each"
            ),
            "under several designs",
        ),
        (lambda: estimate_groups(Tally(COIN, COUNTS, by=("own",), groups=NAMES)), "column of the result"),
        (
            lambda: estimate_groups(Tally(THREE, [[1, 2, 3]] * 3, by=("g",), groups=NAMES[:3])).plot(),
            "answer must be named",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(call: Any, words: Any) -> None:
    with pytest.raises(ValueError, match=words) as refused:
        call()
    assert "\n" not in str(refused.value)


def test_what_is_no_tally_is_refused() -> None:
    with pytest.raises(TypeError, match="must be a Tally or a Pool"):
        estimate_groups(cast("Any", [[1, 2]]))


def test_one_group_is_its_own() -> None:
    one = estimate_groups(Tally(COIN, [[45, 55], [0, 0]], by=("g",), groups=NAMES[:2]))
    assert_allclose(one.shares[:, 0], 0.4)
    assert one.own[:, 0].tolist() == [1, 0]
    assert one.spread == 0
    assert one.warnings() == ["there is one group with reports, and nothing to pool: its share is its own"]


def test_a_memoized_design_has_no_trend_unless_people_differ() -> None:
    design = Memoized.response(["yes", "no"], eps_infinity=2, eps_first=1)
    weeks = Tally(design, COUNTS[:6], by=("week",), groups=tuple((i,) for i in range(6)))
    with pytest.raises(ValueError, match="memoized"):
        estimate_groups(weeks, along="week")
    assert np.isfinite(estimate_groups(weeks, along="week", different_people=True).shares).all()
    assert np.isfinite(estimate_groups(weeks).shares).all()


# Statistics


def shares_of(shape: Any, groups: Any, rng: Any) -> Any:
    """Return shares of laws that the method was not built on: heavy tails, two clusters, sizes that go with shares."""
    if shape == "beta":
        return rng.beta(24.9, 58.1, groups)  # mean 0.3, standard deviation 0.05
    if shape == "heavy":
        return np.clip(0.3 + 0.04 * rng.standard_t(2.5, groups), 0, 1)
    return np.where(rng.random(groups) < 0.5, 0.2, 0.4)  # two clusters


def squared_errors(shape: Any, surveys: Any, groups: Any, n: Any, rng: Any) -> Any:
    """Return squared errors of pooled and separate shares, and how often the intervals hold, survey by survey."""
    design = RandomizedResponse(["yes", "no"], epsilon=1)
    pooled, separate, covered = np.empty((3, surveys))
    for survey in range(surveys):
        truth = shares_of(shape, groups, rng)
        tally = drawn(design, np.column_stack([truth, 1 - truth]), np.full(groups, n), rng)
        together = estimate_groups(tally)
        low, high = together.limits(0.95, "average")
        pooled[survey] = np.mean((together.shares[:, 0] - truth) ** 2)
        separate[survey] = np.mean((np.clip(together.direct[0].share, 0, 1) - truth) ** 2)
        covered[survey] = np.mean((low[:, 0] <= truth) & (truth <= high[:, 0]))
    return pooled, separate, covered


def test_pooling_is_closer_than_separate_estimates() -> None:
    """20 groups of 100 reports at epsilon 1, beta law: the squared error is about a quarter (0.25 was measured)."""
    pooled, separate, covered = squared_errors("beta", 25, 20, 100, np.random.default_rng(7))
    ratio = pooled.sum() / separate.sum()
    error = np.std(pooled / separate.mean(), ddof=1) / 5  # of the numerator; the denominator is known much better
    assert ratio < 0.25 + 4 * error + 0.05
    # Coverage on average over groups: 500 groups, whose errors share the estimate of the spread within a survey.
    assert covered.mean() > 0.95 - 4 * np.std(covered, ddof=1) / 5


@pytest.mark.long
@pytest.mark.parametrize(("shape", "bound"), [("beta", 0.25), ("heavy", 0.45), ("clusters", 0.65)])
def test_squared_error_and_coverage_on_fresh_laws(shape: Any, bound: Any) -> None:
    pooled, separate, covered = squared_errors(shape, 200, 100, 100, np.random.default_rng(8))
    assert pooled.sum() / separate.sum() < bound
    assert covered.mean() > 0.95 - 4 * np.std(covered, ddof=1) / np.sqrt(200)


def test_rare_answers_whose_overall_share_is_estimated_as_nothing_may_still_differ() -> None:
    rng, design, overall = np.random.default_rng(3), RandomizedResponse(3, epsilon=1), np.array([0.96, 0.02, 0.02])
    covered = []
    for _ in range(80):
        shares = rng.dirichlet(10 * overall, size=30)
        together = estimate_groups(drawn(design, shares, [100] * 30, rng))
        low, high = together.limits(0.95, "average")
        inside = ((low <= shares) & (shares <= high)).mean(axis=0)
        covered += inside[together.overall == 0].tolist()
    # Groups of one survey go together: the standard error is that of surveys. Four of them are a false alarm in 30,000.
    assert len(covered) >= 20
    assert np.mean(covered) + 4 * np.std(covered) / np.sqrt(len(covered)) >= 0.95


def test_direct_answers_that_all_agree_do_not_prove_that_nobody_differs() -> None:
    # By the rule of three, up to 3 of 1,200 people may say yes if none did: 0.25 %, with four people more 0.33 %.
    names = tuple((place,) for place in range(12))
    high = estimate_groups(Tally(DIRECT, [[0, 100]] * 12, by=("g",), groups=names)).table()["high"][::2]
    assert (high > 3 / 1200).all()
    rng, covered = np.random.default_rng(0), []
    for _ in range(150):
        counts = rng.binomial(100, 0.001, 12)
        rare = Tally(DIRECT, np.column_stack([counts, 100 - counts]), by=("g",), groups=names)
        low, high = estimate_groups(rare).limits(0.95, "average")
        covered.append(((low[:, 0] <= 0.001) & (high[:, 0] >= 0.001)).mean())
    # Surveys cover all of their groups or hardly any: four standard errors of these are a false alarm in 30,000.
    assert np.mean(covered) + 4 * np.std(covered) / np.sqrt(150) >= 0.95


def test_a_group_without_a_place_along_the_order_has_no_share_and_is_named() -> None:
    counts = [[30, 30], [35, 25], [20, 40], [31, 29]]
    weeks = Tally(
        RandomizedResponse(["yes", "no"], odds=(3, 1)), counts, by=("week",), groups=((1,), (2,), (3,), (None,))
    )
    together = estimate_groups(weeks, along="week")
    assert np.isnan(together.shares[3]).all()
    assert np.isfinite(together.shares[:3]).all()
    assert together.warnings() == ["groups without a value of 'week' have no position along it, and no share here"]
    assert "nan" not in together.text()


@pytest.mark.long
def test_trends_are_closer_than_separate_weeks_and_cover() -> None:
    rng = np.random.default_rng(9)
    design = RandomizedResponse(["yes", "no"], epsilon=1)
    errors, covered = [], []
    for _ in range(60):
        truth = np.clip(0.3 + np.cumsum(rng.normal(0, 0.01, 52)), 0, 1)
        tally = drawn(design, np.column_stack([truth, 1 - truth]), np.full(52, 100), rng)
        together = estimate_groups(tally, along="g")
        low, high = together.limits(0.95, "average")
        separate = np.mean((np.clip(together.direct[0].share, 0, 1) - truth) ** 2)
        errors.append((np.mean((together.shares[:, 0] - truth) ** 2), separate))
        covered.append(np.mean((low[:, 0] <= truth) & (truth <= high[:, 0])))
    pooled, separate = np.array(errors).T
    assert pooled.sum() / separate.sum() < 0.12  # the prototype: 0.066
    assert np.mean(covered) > 0.95 - 4 * np.std(covered, ddof=1) / np.sqrt(60)


# Means of a number


def test_means_under_cutoff_responses_are_pooled_as_the_shares_of_a_coin() -> None:
    # Yeses are binomial in the mean, with the base and gain of Warner's coin: so must be all that follows from them.
    design = CutoffResponse([0, 1, 5, 20], odds=(3, 1))
    rng = np.random.default_rng(3)
    reports = drawn(design, rng.dirichlet([1, 1, 1, 1], 12), [60] * 12, rng)
    yes = np.asarray(reports.counts)[:, 1::2].sum(axis=1)
    coin = Tally(COIN, np.stack([yes, 60 - yes], axis=1), by=("g",), groups=reports.groups)
    shares = estimate_groups(coin)
    for kind in ("average", "each"):
        mean = estimate_groups(reports).mean(kind=kind)
        table = {name: column[::2] for name, column in shares.table(kind=kind).items()}
        for name, column in (("value", "share"), ("se", "se"), ("low", "low"), ("high", "high")):
            assert_allclose(getattr(mean, name), 20 * table[column], atol=1e-6)
        assert_allclose(mean.own, table["own"], atol=1e-9)
        assert mean.approximate == (kind == "average")
        assert COVERAGE_WORDS[kind] == mean.to_dict()["holds"]
    of_two = shares.mean({"yes": 20, "no": 0})
    assert_allclose(of_two.value, 20 * shares.shares[:, 0])
    assert_allclose(of_two.low, 20 * shares.limits(0.95, "average")[0][:, 0])


def test_pooled_means_are_closer_than_separate_ones_and_their_intervals_hold_on_average() -> None:
    design, rng = SquareWave(grid(0, 100, 5), epsilon=1), np.random.default_rng(5)
    x, pooled, separate, held = np.arange(0, 101, 5), 0.0, 0.0, []
    for _ in range(10):
        bumps = np.exp(-(((x - rng.normal(50, 8, (30, 1))) / 15) ** 2) / 2)
        shares = bumps / bumps.sum(axis=1, keepdims=True)
        reports, truth = drawn(design, shares, [100] * 30, rng), shares @ x
        mean = estimate_groups(reports).mean()
        pooled += float(np.square(mean.value - truth).sum())
        separate += float(np.square(estimate(reports).mean().value - truth).sum())
        held.append(np.mean((mean.low <= truth) & (truth <= mean.high)))
    assert pooled < 0.5 * separate
    # Four standard errors of ten surveys, each of which varies at most as 30 independent intervals
    assert np.mean(held) >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / 300)


def test_means_of_groups_that_cannot_be_are_refused() -> None:
    together = estimate_groups(REGIONS)
    with pytest.raises(ValueError, match="answers must be numbers, but 'yes' is not a number; give values"):
        together.mean()
    with pytest.raises(ValueError, match="values must not all be equal"):
        together.mean([1, 1])
    with pytest.raises(ValueError, match="kind must be"):
        together.mean([0, 1], kind="all")
    design = SquareWave(10, epsilon=1)
    waves = estimate_groups(drawn(design, np.full((3, 10), 0.1), [50] * 3, np.random.default_rng(1)))
    with pytest.raises(ValueError, match='kind must be "average" under a design whose shares do not show in binomial'):
        waves.mean(kind="each")
    assert "95 % interval, on average over the groups" in typeset(waves.mean()).columns
    assert set(Quantities((waves.mean(),)).table()["interval"]) == {"partially pooled, on average over the groups"}
    assert waves.mean().to_markdown()
