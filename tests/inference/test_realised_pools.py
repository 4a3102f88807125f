"""Intervals of pooled collections for the sample, and groups with different designs."""

from __future__ import annotations

import numpy as np
import pytest

from warner import Channel, RandomizedResponse, SubsetSelection, Tally, check, estimate, pool
from warner.estimation import estimated

LABELS = ["a", "b", "c"]
NOISY, CLEAR, TRUE, SILENT = (RandomizedResponse(LABELS, odds=odds) for odds in ((2, 1), (20, 1), (1, 0), (1, 1)))
TRUTH = np.array([0.5, 0.3, 0.2])
TIMES = 300

pytestmark = pytest.mark.filterwarnings("ignore:the reports do not seem to fit:UserWarning")


def enough(covered: int) -> bool:
    """Return whether 95 % intervals cover, up to four binomial standard errors of a share of TIMES."""
    return bool(covered / TIMES >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / TIMES))


def test_groups_under_different_designs_are_compared_by_what_each_design_says() -> None:
    rng = np.random.default_rng(1)

    def group(design: RandomizedResponse, name: str) -> Tally:
        return Tally(design, [design.simulate(TRUTH, 100_000, rng=rng)], by=("g",), groups=((name,),))

    compared = estimate(pool([group(NOISY, "x"), group(CLEAR, "y")])).compare("a", between=("x", "y"))
    assert compared.test == "normal"
    assert compared.low < 0 < compared.high
    assert compared.p_value > 0.01


def test_differences_among_these_very_people_are_averaged_by_their_numbers() -> None:
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(TIMES):
        first, second = rng.multinomial(2000, TRUTH), rng.multinomial(1000, TRUTH[::-1])
        tallies = [
            Tally(NOISY, NOISY.law.simulate_people(first, rng=rng)),
            Tally(TRUE, TRUE.law.simulate_people(second, rng=rng)),
        ]
        # Without the warning that the collections differ: the share of these respondents needs no single population.
        compared = estimated(pool(tallies)).compare("a", "b", target="realised")
        people = first + second
        covered += bool(compared.low <= (people[0] - people[1]) / 3000 <= compared.high)
    assert enough(covered)


def test_people_whose_reports_say_nothing_may_hold_anything() -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(TIMES):
        first, second = rng.multinomial(1000, TRUTH), rng.multinomial(1000, TRUTH[::-1])
        tallies = [
            Tally(CLEAR, CLEAR.law.simulate_people(first, rng=rng)),
            Tally(SILENT, SILENT.law.simulate_people(second, rng=rng)),
        ]
        interval = estimate(pool(tallies)).interval("a", target="realised")
        covered += bool(interval.low <= (first + second)[0] / 2000 <= interval.high)
        assert interval.high - interval.low >= 0.5  # the silent half
    assert enough(covered)


@pytest.mark.parametrize(
    "tally",
    [
        Tally(
            Channel([["9/10", "1/20", "1/20"], ["1/20", "9/10", "1/20"], ["1/10", "1/20", "17/20"]], 3, 3),
            [450, 440, 110],
        ),
        Tally(SubsetSelection(3, odds=(9, 1), size=2), [700, 680, 620], n=1000),
        pool([Tally(NOISY, [400, 350, 250]), Tally(CLEAR, [500, 300, 200])]),
    ],
)
def test_equality_is_tested_in_the_population_whosever_shares_the_interval_is_for(tally: Tally) -> None:
    first, second = tally.domain[:2]
    sampled, realised = (estimate(tally).compare(first, second, target=name) for name in ("population", "realised"))
    assert sampled.p_value == realised.p_value


def test_a_group_that_says_nothing_is_refused_by_its_name() -> None:
    def group(design: RandomizedResponse, name: str) -> Tally:
        return Tally(design, [[40, 30, 30]], by=("g",), groups=((name,),))

    with pytest.raises(ValueError, match="epsilon above 0, but y has none; leave it out"):
        estimate(pool([group(NOISY, "x"), group(SILENT, "y")]))


def test_one_answer_has_the_same_interval_alone_and_as_the_first_of_many() -> None:
    result = estimate(Tally(SubsetSelection(LABELS, odds=(3, 1), size=2), [70, 60, 70], n=100))
    alone, cumulative = result.interval("a"), result.interval(cumulative=True)
    assert (cumulative.low[0], cumulative.high[0]) == (alone.low, alone.high)
    assert not alone.approximate
    everything = result.interval(LABELS)
    assert (everything.low, everything.high, everything.approximate) == (1.0, 1.0, False)


def test_a_collection_that_does_not_tell_all_shares_leaves_inverting_to_the_others() -> None:
    merged = NOISY.coarsened({"a": ["a", "b"], "c": ["c"]})
    clear = Tally(CLEAR, [500, 300, 200])
    together = pool([clear, Tally(merged, [50, 20, 30])])
    np.testing.assert_allclose(estimate(together, method="inv").shares, estimate(clear, method="inv").shares)
    assert estimate(together, method="auto").choices


def test_only_counted_reports_are_checked() -> None:
    with pytest.raises(TypeError, match="tally must be a Tally or a Pool, but got list"):
        check([1, 2, 3])  # type: ignore[call-overload]
