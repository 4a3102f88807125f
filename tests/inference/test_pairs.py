"""Pairs of answers that crafted reports support together (`report_types`): moments, tail bounds, size and power."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from references import reference
from tables import whole
from warner import (
    HadamardResponse,
    Memoized,
    ProjectiveGeometry,
    RandomizedResponse,
    SubsetSelection,
    Tally,
    UnaryEncoding,
    check,
    pool,
    tally,
)
from warner.designs import MECHANISMS, design_from_dict
from warner.inference import report_types
from warner.inference.report_types import PairTest, _PairLaw

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner import Check

CASES = [case for case in reference("asking")["cases"] if case["item"] == 5]
BITS = UnaryEncoding(["a", "b", "c", "d", "e", "f"], epsilon=3)
SETS = SubsetSelection(["a", "b", "c", "d", "e", "f"], odds=(6, 1), size=2)


def crafted(design: Any, n: int, targets: tuple[int, ...], rng: np.random.Generator) -> Any:
    """Draw reports that support the targets first, with as many answers as a genuine report supports."""
    bits = np.zeros((n, design.k), dtype=bool)
    sizes = design.supports(design.draw(rng.integers(design.k, size=n), rng.bytes)).sum(axis=1)
    for row, size in zip(bits, sizes.tolist(), strict=True):
        rest = [answer for answer in rng.permutation(design.k).tolist() if answer not in targets]
        row[[*targets, *rest][:size]] = True
    return np.packbits(bits, axis=1)


def reports(design: Any, n: int, fakes: int = 0, targets: tuple[int, ...] = (1, 3), seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    honest = design.draw(rng.integers(design.k, size=n - fakes), rng.bytes)
    return np.concatenate([honest, crafted(design, fakes, targets, rng)]) if fakes else honest


def pair_test(found: Check) -> PairTest:
    (test,) = (test for test in found.tests if isinstance(test, PairTest))
    return test


# Moments and tails


def all_reports(design: Any, truth: int) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """Enumerate the reports after a true answer, with their probabilities, from the definition of the mechanism."""
    k = design.k
    if isinstance(design, UnaryEncoding):
        for bits in product((0, 1), repeat=k):
            chance = Fraction(1)
            for answer, bit in enumerate(bits):
                one = design.one if answer == truth else design.zero
                chance *= one if bit else 1 - one
            yield tuple(np.flatnonzero(bits).tolist()), chance
        return
    sets = list(combinations(range(k), design.size))
    a, b = design.odds
    total = sum(a if truth in one else b for one in sets)
    for one in sets:
        yield one, Fraction(a if truth in one else b, total)


ALIKE = [
    design
    for mechanism in MECHANISMS.values()
    for design in mechanism.examples()
    if design.law.symmetry is not None and design.law.symmetry.pairs_alike and not design.repetition()
]


@pytest.mark.parametrize("design", [one for one in ALIKE if one.k >= 3], ids=str)
def test_the_statistic_has_the_mean_zero_after_every_answer(design: Any) -> None:
    assert isinstance(design, UnaryEncoding | SubsetSelection)
    p, q, _, both, neither, _ = design.symmetry
    beta = (both - neither) / (p - q)
    alpha = neither - 2 * q * beta
    law = _PairLaw.of(design.symmetry)
    for truth in {0, design.k - 1}:
        for i, j in [(0, 1), (1, 2), (0, design.k - 1)]:
            laws: dict[int, Fraction] = {0: Fraction(0), 1: Fraction(0), 2: Fraction(0)}
            for support, chance in all_reports(design, truth):
                laws[(i in support) + (j in support)] += chance
            mean = laws[2] - alpha - beta * (2 * laws[2] + laws[1])
            assert mean == 0
            expected = law.holders if truth in (i, j) else law.others
            assert_allclose([float(laws[count]) for count in (2, 1, 0)], expected, atol=1e-15)


def test_only_designs_whose_pairs_are_alike_are_marked() -> None:
    assert {type(design) for design in ALIKE} == {UnaryEncoding, SubsetSelection}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_moments_and_tails_of_the_reference(case: dict[str, Any]) -> None:
    wanted = case["value"]
    design: Any = design_from_dict(case["input"]["design"])
    law = _PairLaw.of(design.symmetry)
    assert_allclose([law.alpha, law.beta], [wanted["alpha"], wanted["beta"]], rtol=1e-12)
    tails = law.tail(np.array([300.0, 400.0]), 20_000, np.array([20_000.0, 20_000.0]))
    assert_allclose(tails, [wanted["tail_300_of_20000"], wanted["tail_400_of_20000"]], rtol=case["tolerance"])


@pytest.mark.parametrize("design", [BITS, SETS, UnaryEncoding(3, epsilon=1), SubsetSelection(4, odds=(2, 1), size=3)])
@pytest.mark.parametrize("n", [1, 8, 30])
def test_the_bound_is_above_the_exact_tail_of_every_population(design: Any, n: int) -> None:
    law = _PairLaw.of(design.symmetry)
    for holders in range(0, n + 1, max(1, n // 4)):
        chances = {0.0: 1.0}
        for person in range(n):
            one: dict[float, float] = {}
            steps = law.holders if person < holders else law.others
            for total, chance in chances.items():
                for value, step in zip(law.values, steps, strict=True):
                    key = round(total + float(value), 9)
                    one[key] = one.get(key, 0.0) + chance * float(step)
            chances = one
        totals = np.array(sorted(chances))
        exact = np.cumsum([chances[total] for total in totals][::-1])[::-1]
        for most in {holders, n}:
            bound = law.tail(totals - 1e-9, n, np.full(totals.size, float(most)))
            assert (bound >= exact * (1 - 1e-9)).all()


# The test


def own_p_value(design: Any, data: Any) -> float:
    """Write the test anew, over all pairs one by one, with h = n and with confidence limits of SciPy."""
    from scipy.stats import beta as beta_law

    bits = design.supports(data).astype(int)
    n, k = bits.shape
    p, q, _, both, neither, _ = (float(value) for value in design.symmetry)
    slope = (both - neither) / (p - q)
    level = neither - 2 * q * slope
    values = [1 - level - 2 * slope, -level - slope, -level]
    cumulants = [
        lambda x, chances=chances: np.log(sum(c * np.exp(x * v) for c, v in zip(chances, values, strict=True)))
        for chances in (
            (neither, 2 * (q - neither), 1 - 2 * q + neither),
            (both, p + q - 2 * both, 1 - p - q + both),
        )
    ]
    x = np.geomspace(1e-6, 5, 40_000) / max(map(abs, values))
    free, held = cumulants[0](x), np.maximum(cumulants[0](x), cumulants[1](x))
    c = bits.sum(axis=0)
    limits = np.clip((beta_law.ppf(1 - 0.001 / k, c + 1, n - c) - q) / (p - q), 0, 1)
    safe, sharp = 1.0, 1.0
    for i, j in combinations(range(k), 2):
        t = float((bits[:, i] * bits[:, j] - level - slope * (bits[:, i] + bits[:, j])).sum())
        holders = min(n, np.ceil(n * (limits[i] + limits[j])))
        safe = min(safe, float(np.exp((-x * t + n * held).min())))
        sharp = min(sharp, float(np.exp((-x * t + (n - holders) * free + holders * held).min())))
    pairs = k * (k - 1) / 2
    return float(min(1.0, 2 * min(pairs * safe, pairs * sharp + 0.001)))


@pytest.mark.parametrize("design", [BITS, SETS, UnaryEncoding.symmetric(6, epsilon=3)])
@pytest.mark.parametrize("fakes", [0, 60, 400])
def test_the_p_value_against_a_test_written_anew(design: Any, fakes: int) -> None:
    data = reports(design, 1500, fakes)
    test = pair_test(check(whole(design, data)))
    assert_allclose(float(test.p_value[0]), own_p_value(design, data), rtol=1e-3)  # of another grid
    if fakes == 400:
        assert test.p_value[0] < 0.001
        assert test.pairs == ((design.domain[1], design.domain[3]),)
        # Honest reports have a sum of mean 0 and a variance of at most n E t^2 after an answer of the pair: 5 standard
        # deviations, a false alarm has a probability below 1e-6. The fakes add their own t.
        law = _PairLaw.of(design.symmetry)
        deviation = (
            np.sqrt(1500 * max(float(part @ law.values**2) for part in (law.others, law.holders))) / law.values[0]
        )
        supported = design.supports(data[-400:])[:, [1, 3]].sum(axis=1)
        assert abs(test.crafted[0] - law.values[2 - supported].sum() / law.values[0]) < 5 * deviation
    if fakes == 0:
        assert np.isnan(test.crafted[0])


def test_blocks_and_repeated_reports_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    data = reports(SETS, 3000, 200)
    apart = whole(SETS, data)
    together = tally(data, SETS, codes=True, keep=True)  # 15 different reports, with the number of each
    assert apart.kept is not None
    assert together.kept is not None
    assert sum(len(block.reports) for block in together.kept.blocks()) == 15
    found = pair_test(check(apart))
    assert_allclose(pair_test(check(together)).p_value, found.p_value, rtol=1e-9)
    monkeypatch.setattr(report_types, "PAIR_CELLS", 100)
    assert_allclose(pair_test(check(apart)).p_value, found.p_value, rtol=1e-9)


def test_each_group_has_its_own_pair() -> None:
    data = [reports(SETS, 1500, 0), reports(SETS, 1500, 250, (0, 5))]
    groups = np.repeat([0, 1], 1500)
    found = check(whole(SETS, np.concatenate(data), groups))
    test = pair_test(found)
    for place, part in enumerate(data):
        alone = pair_test(check(whole(SETS, part)))
        assert_allclose(test.p_value[place], alone.p_value[0], rtol=1e-9)
        assert test.pairs[place] == alone.pairs[0]
    assert list(found.group_fits) == [True, False]
    text = " ".join(found.text().split())
    assert "p pairs" in text
    assert "1: Answers reported less or more often than the design can explain" in text
    assert "Pairs of answers: 'a' and 'f' are supported together" in text
    assert "crafted reports would explain this" in text


def test_text_json_and_table_agree() -> None:
    found = check(whole(BITS, reports(BITS, 1500, 250)))
    test = pair_test(found)
    text = " ".join(found.text().split())
    assert test.say(0) in text
    assert f"About {test.crafted[0]:,.0f} crafted reports would explain this." in text
    assert f"in fewer than about {100 * test.detectable[0]:.2f} % of the reports" in text
    assert "The test cannot detect crafted reports for one answer alone" in text
    (collection,) = json.loads(found.to_json())["groups"][0]["collections"]
    told = collection["tests"][-1]
    assert told == {
        "name": "pairs of answers",
        "p_value": test.p_value[0],
        "pair": ["b", "d"],
        "crafted": test.crafted[0],
        "detectable": test.detectable[0],
    }
    assert found.table()["pairs of answers"].tolist() == test.p_value.tolist()
    assert "p pairs" in found.to_html()
    honest = json.loads(check(whole(BITS, reports(BITS, 1500))).to_json())["groups"][0]["collections"][0]["tests"][-1]
    assert honest["crafted"] is None


def test_the_verdict_counts_the_test() -> None:
    found = check(whole(SETS, reports(SETS, 1500, 150)))
    assert [test.name for test in found.tests] == ["possible range", "pairs of answers"]
    assert found.p_value == 2 * min(float(test.p_value[0]) for test in found.tests)
    assert not found.fits


def test_crafted_reports_are_named_at_the_level_of_one_of_all_tests() -> None:
    data = whole(SETS, reports(SETS, 1500, 80))
    p = float(pair_test(check(data)).p_value[0])
    assert 1e-3 < p < 0.2
    assert np.isfinite(pair_test(check(data, level=1 - 2 * 1.01 * p)).crafted[0])  # of two tests
    assert np.isnan(pair_test(check(data, level=1 - 2 * 0.99 * p)).crafted[0])


@pytest.mark.parametrize(
    "design",
    [
        UnaryEncoding(2, epsilon=1),
        SubsetSelection(5, odds=(3, 1), size=1),
        HadamardResponse(6, epsilon=1),
        ProjectiveGeometry(13, odds=(3, 1), field=3),
        RandomizedResponse(4, epsilon=1),
        UnaryEncoding(1100, epsilon=1),
        Memoized(UnaryEncoding(4, p="3/4", q="1/4"), UnaryEncoding(4, p="4/5", q="1/5")),
    ],
    ids=str,
)
def test_other_designs_have_no_such_test(design: Any) -> None:
    rng = np.random.default_rng(1)
    data = tally(design.draw(rng.integers(design.k, size=50), rng.bytes), design, codes=True, keep=True)
    found = check(data, simulations=19)
    assert "pairs of answers" not in [test.name for test in found.tests]
    assert "supported together" not in found.text()


def test_without_kept_reports_or_with_weights_there_is_no_such_test() -> None:
    data = reports(SETS, 300)
    kept = whole(SETS, data)
    assert "pairs of answers" in [test.name for test in check(kept).tests]
    assert [test.name for test in check(Tally(SETS, kept.counts, n=kept.n)).tests] == ["possible range"]
    rows = {"r": SETS.randomize(["a", "b", "c"] * 50), "w": [1.0, 2.0] * 75}
    weighted = tally(rows, SETS, column="r", weights="w", keep=True)
    assert [test.name for test in check(weighted).tests] == ["possible range"]
    both = check(pool([kept, whole(BITS, reports(BITS, 1500, 200))]))
    assert [test.name for test in both.tests].count("pairs of answers") == 2


@pytest.mark.long
@pytest.mark.parametrize("design", [UnaryEncoding(8, epsilon=3), SubsetSelection(8, epsilon=2)])
@pytest.mark.parametrize("shares", [[1.0] + [0.0] * 7, [0.5, 0.5] + [0.0] * 6, [0.125] * 8])
def test_good_reports_are_hardly_ever_rejected(design: Any, shares: list[float]) -> None:
    # The size is at most 0.05: of 400 surveys more than 38 are rejected with a probability below 2e-4.
    rng, rejected = np.random.default_rng(4), 0
    for _ in range(400):
        data = design.draw(rng.choice(8, p=shares, size=500), rng.bytes)
        rejected += bool(report_types.pair_test(whole(design, data), 0.05).p_value[0] < 0.05)
    assert rejected <= 38
