"""The bound on what a client spends: exact by enumeration, above the claim for published leaks, and only then.

The leaks are those of clients that other projects shipped, each written down anew in a few lines. What is counted
in reports (`statistics`), which event is judged (`statistics`) and what is said of it (`audits`) show in the results.
"""

from __future__ import annotations

import itertools
import json
import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom

import warner
from cases import COIN, SETS
from warner import Audit, ProjectiveGeometry, RandomizedResponse, SubsetSelection, audit
from warner.auditing.audits import chance_of_repeating, epsilon_at_least, epsilon_bounds
from warner.auditing.statistics import Event, Observed, Statistic, statistics_of
from warner.designs import MECHANISMS, Design
from warner.results import typeset

if TYPE_CHECKING:
    from collections.abc import Callable

ANSWERS = ["a", "b", "c", "d", "e"]
SURE = 1 - 1e-6  # a level at which an honest client is accused in one of a million audits, at most


def hexadecimal(members: set[str]) -> str:
    return str(SETS.report_form.written(np.packbits([[label in members for label in ANSWERS]], axis=1))[0])


def one_by_one(client: Callable[[str], Any]) -> Callable[[list[str]], list[Any]]:
    return lambda answers: [client(answer) for answer in answers]


# The bound


@pytest.mark.parametrize("tail", [0.01, 0.1])
@pytest.mark.parametrize("runs", [1, 5, 12])
def test_the_bound_is_above_the_truth_no_more_often_than_it_says(runs: int, tail: float) -> None:
    counts = range(runs + 1)
    bounds = np.array([[epsilon_at_least(c, d, runs, tail) for d in counts] for c in counts])
    for p, q in itertools.product([0, 0.01, 0.1, 0.3, 0.5, 0.8, 0.99, 1], repeat=2):
        truth = math.inf if q == 0 < p else max(0, math.log(p / q)) if p else 0
        chance = np.outer(binom.pmf(counts, runs, p), binom.pmf(counts, runs, q))
        assert chance[bounds > truth + 1e-12].sum() <= 2 * tail + 1e-12


def test_the_bound_by_hand() -> None:
    # All of n hits against none: L = tail^(1/n) and U = 1 - tail^(1/n).
    limit = 0.05 ** (1 / 20)
    assert_allclose(epsilon_at_least(20, 0, 20, 0.05), math.log(limit / (1 - limit)), rtol=1e-12)
    assert epsilon_at_least(0, 20, 20, 0.05) == 0


def outcomes(runs: int) -> list[np.ndarray[Any, Any]]:
    """Return all counts of two kinds of reports that so many runs after each of two answers can give."""
    return [np.array([[c, runs - c], [d, runs - d]]) for c in range(runs + 1) for d in range(runs + 1)]


def test_learning_choosing_and_judging_together_err_no_more_often_than_promised() -> None:
    # Every outcome of 1, 1 and 4 runs after each of two answers, with the exact probability of each, for many clients.
    alpha, stages = 0.3, (1, 1, 4)
    kinds = (Statistic(lambda reports: reports, lambda values: "are", exclusive=True),)
    every = [outcomes(runs) for runs in stages]
    largest = np.empty([len(some) for some in every])
    for place in itertools.product(*(range(len(some)) for some in every)):
        seen: Any = [Observed((some[i],), runs) for some, i, runs in zip(every, place, stages, strict=True)]
        largest[place] = max(pair.epsilon_at_least for pair in epsilon_bounds(kinds, seen, ("x", "y"), alpha))
    assert largest.max() > 0
    for p, q in itertools.product([0, 0.05, 0.2, 0.5, 0.7, 0.95, 1], repeat=2):
        ratios = [one / other if other else math.inf if one else 1 for one, other in ((p, q), (1 - p, 1 - q))]
        ratios += [1 / ratio if ratio else math.inf for ratio in ratios]
        truth = math.log(max(ratios))
        chances = [
            np.array([binom.pmf(c[0, 0], runs, p) * binom.pmf(c[1, 0], runs, q) for c in some])
            for some, runs in zip(every, stages, strict=True)
        ]
        joint = np.einsum("i,j,k->ijk", *chances)
        assert_allclose(joint.sum(), 1)
        assert joint[largest > truth + 1e-12].sum() <= alpha + 1e-12


def test_the_best_of_many_events_is_not_taken_for_more_than_it_is() -> None:
    # Reports that tell nothing, with 3,000 traits to choose from: the largest difference among so many is never 0, but
    # in other runs that very trait differs by chance alone. Of 100 audits at most 30 may err, and four errors more.
    alpha, runs = 0.3, 200
    traits = (Statistic(lambda reports: reports, lambda values: "have it", exclusive=False),)
    rng = np.random.default_rng(5)

    def wrong() -> bool:
        seen: Any = [Observed((rng.binomial(runs, 0.5, size=(2, 3000)),), runs) for _ in range(3)]
        return any(pair.epsilon_at_least > 0 for pair in epsilon_bounds(traits, seen, ("x", "y"), alpha))

    assert sum(wrong() for _ in range(100)) <= 30 + 4 * math.sqrt(100 * 0.3 * 0.7)


def test_the_level_is_divided_among_all_pairs() -> None:
    small = RandomizedResponse(4, epsilon=1)
    for pair in audit(small.randomize, small, runs=400, level=0.9).pairs:
        tail = 0.1 / 2 / (2 * 12)  # half of it for the bounds, of which there are 12, with two limits each
        assert_allclose(pair.epsilon_at_least, epsilon_at_least(pair.hits, pair.other_hits, pair.runs, tail), rtol=1e-9)
        assert pair.runs == 200


def test_an_event_counts_what_has_its_values_or_lacks_them() -> None:
    seen = Observed((np.array([[5, 3, 2], [1, 1, 8]]),), 10)
    assert [Event(0, np.array([0, 2])).hits(seen, answer) for answer in (0, 1)] == [7, 9]
    assert Event(0, np.array([0, 2]), lacking=True).hits(seen, 0) == 3
    assert (seen + seen).runs == 20
    assert (seen + seen).counts[0].tolist() == [[10, 6, 4], [2, 2, 16]]


# Honest clients


@pytest.mark.parametrize(
    "design", [d for kind in MECHANISMS.values() for d in kind.examples()], ids=lambda design: design.summary()
)
def test_an_honest_client_of_every_mechanism_passes(design: Design) -> None:
    found = audit(design.randomize, design, runs=2000, level=SURE)
    assert found.passed
    assert found.epsilon_at_least <= design.epsilon
    assert not found.misfits


def test_an_honest_client_is_seen_to_spend_most_of_what_it_claims() -> None:
    # The limits are 5.4 standard errors away: for p = 3/7 against q = 1/7 and 10,000 runs, 0.0115 and 0.0245 each, in
    # all 0.195. The bound itself varies by 0.027, so that it would be off by seven of these to be below.
    for design in (SETS, RandomizedResponse(ANSWERS, odds=(3, 1))):
        assert math.log(3) - 0.4 < audit(design.randomize, design, runs=20_000, level=SURE).epsilon_at_least


def test_support_in_a_large_geometry_is_told_apart_whatever_the_rounding() -> None:
    # Likelihoods come from fast transforms: those of two answers that are both supported differ in the last digits.
    design = ProjectiveGeometry(1000, epsilon=1)
    first, second = design.supports(np.arange(len(design.law.types or ())))[:, [3, 800]].T
    comparison = statistics_of(design, np.array([3, 800]), [])[1]
    counts = comparison.count(np.arange(len(first)))
    assert counts.tolist() == [(first & ~second).sum(), (second & ~first).sum()]


def test_what_is_said_of_an_honest_client() -> None:
    rng = np.random.default_rng(3)

    def honest(answers: list[str]) -> Any:
        return SETS.report_form.written(SETS.draw(np.array([ANSWERS.index(a) for a in answers]), rng.bytes))

    found = audit(honest, SETS, runs=20_000, answers=["b", "d"])
    assert found.worst.event in {"reports that support 'b' but not 'd'", "reports that support 'd' but not 'b'"}
    assert found.text().startswith("Nothing was found against the client: at least 1.0")
    assert "of the epsilon 1.099 that the design claims is spent" in found.text()
    assert "The reports fit the design: none of 10 counts stands out" in found.text()
    assert "Not detectable by an audit" in found.text()
    assert repr(found) == found.text()


def test_a_design_without_noise_is_never_exceeded() -> None:
    honest = RandomizedResponse(["yes", "no"], odds=(1, 0))
    found = audit(honest.randomize, honest, runs=1000)
    assert found.passed
    assert found.epsilon_at_least > 4
    assert "of the epsilon inf that" in found.text()
    assert found.to_dict()["epsilon_claimed"] == "inf"


# Leaks that were published


def test_a_subset_client_that_lets_the_truth_into_its_lies_is_caught() -> None:
    """The client draws its lie among all answers, not among the others: epsilon ln(1 + e^eps K / (K - d))."""
    rng = random.Random(1)

    def leaky(answer: str) -> str:
        if rng.random() < SETS.p:
            return hexadecimal({answer, *rng.sample([label for label in ANSWERS if label != answer], SETS.size - 1)})
        return hexadecimal(set(rng.sample(ANSWERS, SETS.size)))

    # By enumeration: each of the 4 sets with the truth has p/4 + (1-p)/10, each of the 6 others (1-p)/10.
    p = Fraction(2, 3)
    within, without = p / 4 + (1 - p) / 10, (1 - p) / 10
    assert 4 * within + 6 * without == 1
    spent = math.log(within / without)
    assert_allclose(spent, math.log(1 + 3 * 5 / (5 - 2)))
    found = audit(one_by_one(leaky), SETS, runs=20_000)
    assert SETS.epsilon < found.epsilon_at_least < spent
    assert found.epsilon_at_least > spent - 0.25
    assert (found.exceeds, found.fits, found.repeats, found.passed) == (True, False, False, False)
    assert found.text().startswith("The client spends more than it claims: epsilon is at least 1.")
    # It holds the truth with probability p + (1-p) 2/5 = 0.8.
    own = next(misfit for misfit in found.misfits if misfit.event == f"reports that support {misfit.answer!r}")
    assert_allclose(own.share, 0.8, atol=0.02)
    assert_allclose(own.expected, 2 / 3)
    assert "the design says 66.67 %" in found.text()


def test_a_client_that_never_clears_a_bit_spends_without_limit() -> None:
    """Bits are set with probability q, but the bit of the truth is never cleared: epsilon is infinite."""
    design = warner.UnaryEncoding.optimal(ANSWERS, epsilon=1)
    rng = np.random.default_rng(1)

    def leaky(answers: list[str]) -> Any:
        bits = rng.random((len(answers), len(ANSWERS))) < design.q
        bits[np.arange(len(answers)), [ANSWERS.index(answer) for answer in answers]] = True
        return design.report_form.written(np.packbits(bits, axis=1))

    few, many = (audit(leaky, design, runs=runs) for runs in (1000, 100_000))
    assert few.exceeds
    assert many.epsilon_at_least > few.epsilon_at_least + 4  # ln 100 = 4.6 more
    assert "do not support" in many.worst.event or "other than those that support" in many.worst.event


@pytest.mark.parametrize("inside", [1.0, 0.0], ids=["a density taken for a probability", "a sign that is wrong"])
def test_square_waves_that_never_or_always_leave_the_window_spend_without_limit(inside: float) -> None:
    """Two faults of published clients: beyond epsilon .843 all reports lie in the window, or none does."""
    design = warner.SquareWave(range(21), epsilon=1)
    rng, window = np.random.default_rng(1), 2 * design.width + 1

    def faulty(answers: list[int]) -> Any:
        truth = np.array(answers)
        near = truth + rng.integers(window, size=truth.size)
        far = rng.integers(len(design.law.columns) - window, size=truth.size)
        places = np.where(rng.random(truth.size) < inside, near, far + (far >= truth) * window)
        return (places - design.width).tolist()

    few, many = (audit(faulty, design, runs=runs) for runs in (1000, 100_000))
    assert few.exceeds
    assert many.epsilon_at_least > few.epsilon_at_least + 4  # ln 100 = 4.6 more


def test_an_order_that_gives_the_truth_away_is_seen_in_raw_reports() -> None:
    """The members of a set are sent as a list, with the truth first if it is in, so that it is never second.

    To look at the first place alone gives ln(d e^eps (K-1) / (K-d)) = ln 8; all of the order, an infinite epsilon.
    """
    rng = random.Random(2)

    def ordered(answer: str) -> str:
        others = rng.sample([label for label in ANSWERS if label != answer], SETS.size)
        return ",".join([answer, *others[1:]] if rng.random() < SETS.p else others)

    found = audit(one_by_one(ordered), SETS, runs=20_000, raw=True, answers=["a", "b"])
    assert found.epsilon_at_least > math.log(8) + 1
    assert found.worst.other_hits == 0
    assert found.exceeds
    assert found.to_dict()["fits"] is None
    assert "not tested whether they follow the design" in found.text()
    # As a set the same reports are what they should be.
    as_sets = one_by_one(lambda answer: hexadecimal(set(ordered(answer).split(","))))
    assert audit(as_sets, SETS, runs=5000, level=SURE).passed


def test_a_client_that_is_seeded_anew_repeats_itself() -> None:
    def seeded(answers: list[str]) -> list[Any]:
        drawn = SETS.draw(np.array([ANSWERS.index(answer) for answer in answers]), np.random.default_rng(7).bytes)
        return list(SETS.report_form.written(drawn))

    for raw in (False, True):
        found = audit(seeded, SETS, runs=400, raw=raw)
        assert found.repeats
        assert not found.passed
        assert found.text().startswith("The client repeats itself")


def test_a_client_whose_report_follows_from_the_answer_spends_without_limit() -> None:
    fixed = {answer: hexadecimal({answer, ANSWERS[place - 1]}) for place, answer in enumerate(ANSWERS)}
    few, many = (audit(one_by_one(fixed.get), SETS, runs=runs) for runs in (200, 20_000))
    assert few.exceeds
    assert many.epsilon_at_least > few.epsilon_at_least + 4  # ln 100
    assert not many.repeats  # there is nothing that could differ
    assert not many.fits


def test_a_leak_by_single_reports_among_very_many_is_found() -> None:
    """One report in fifty has a mark that depends on the answer: a set that honest clients would hardly ever make."""
    design = SubsetSelection(64, epsilon=1)
    marks = design.randomize(list(range(64)))

    def marked(answers: list[int]) -> list[str]:
        honest = design.randomize(answers)
        return [marks[answers[i]] if i % 50 == 0 else report for i, report in enumerate(honest)]

    found = audit(marked, design, runs=8000)
    assert found.exceeds
    assert found.worst.event.startswith(("reports that are ", "reports that have in place "))


# Clients that follow another design


def test_more_noise_than_claimed_is_seen_and_is_no_accusation() -> None:
    noisy = RandomizedResponse(["yes", "no"], truth="0.6")
    found = audit(noisy.randomize, COIN, runs=20_000)
    assert (found.exceeds, found.fits, found.passed) == (False, False, False)
    assert found.text().startswith("The client does not follow the design, though it was not found to spend more")
    assert found.misfits[0].expected in {0.75, 0.25}
    assert_allclose(abs(found.misfits[0].share - 0.5), 0.1, atol=0.03)


def test_p_values_are_those_of_the_binomial_law() -> None:
    # 130 of 200 reports are yes after yes, and 60 after no, where 3/4 and 1/4 are expected.
    reports = {"yes": ["yes"] * 130 + ["no"] * 70, "no": ["yes"] * 60 + ["no"] * 140}
    made = {answer: iter(random.Random(1).sample(some, 200)) for answer, some in reports.items()}
    found = audit(one_by_one(lambda answer: next(made[answer])), COIN, runs=200)
    # Two-sided, for 4 counts and 4 comparisons of starts, and half of the level.
    assert_allclose(found.p_value, 2 * binom.cdf(130, 200, 0.75) * (4 + 4) * 2)
    assert {misfit[:4] for misfit in found.misfits} == {
        ("yes", "reports that are 'yes'", 0.65, 0.75),
        ("yes", "reports that are 'no'", 0.35, 0.25),
    }


def test_repeating_by_chance_has_the_probability_that_it_is_given() -> None:
    assert chance_of_repeating(list("ab"), list("ba")) == 1
    assert_allclose(chance_of_repeating(list("aabb"), list("aabb")), 1 / 6)
    assert chance_of_repeating(["x"] * 9, ["x"] * 9) == 1
    assert chance_of_repeating(list("abc"), list("abcd")) == pytest.approx(1 / 6)  # as far as both go


# Forms, and bad input


@pytest.fixture(scope="module")
def found() -> Audit:
    return audit(COIN.randomize, COIN, runs=1000, level=SURE)


def test_an_audit_is_the_same_in_every_form(found: Audit) -> None:
    table, fields = found.table(), json.loads(found.to_json())
    assert list(table) == ["answer", "other", "epsilon_at_least", "event", "hits", "other_hits", "runs"]
    assert table["answer"].tolist() == [pair["answer"] for pair in fields["pairs"]] == ["yes", "no"]
    assert table["epsilon_at_least"].max() == fields["epsilon_at_least"] == found.epsilon_at_least
    assert f"at least {math.floor(1000 * found.epsilon_at_least) / 1000:g} of the" in found.text()
    assert fields["passed"] is found.passed is True
    assert fields["design"] == COIN.to_dict()
    assert fields["epsilon_claimed"] == COIN.epsilon
    assert fields["pairs"] == [pair._asdict() for pair in found.pairs]
    assert len(found.to_frame()) == 2
    shown = typeset(found).columns
    assert [float(text) for text in shown["epsilon at least"]] == sorted(
        (math.floor(1000 * pair.epsilon_at_least) / 1000 for pair in found.pairs), reverse=True
    )
    assert typeset(found).notes[0] == found.text().split("\n")[0]


def test_which_answers_are_tried() -> None:
    wide = RandomizedResponse(100, epsilon=1)
    assert audit(wide.randomize, wide, runs=100).answers == (0, 50, 99)
    assert audit(wide.randomize, wide, runs=100, answers=[3, 7]).answers == (3, 7)
    small = RandomizedResponse(4, epsilon=1)
    assert audit(small.randomize, small, runs=100).answers == (0, 1, 2, 3)
    assert len(audit(small.randomize, small, runs=100).pairs) == 12


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"answers": ["yes"]}, "at least two different answers, but got 'yes'"),
        ({"answers": ["yes", "yes"]}, "at least two different answers"),
        ({"answers": ["yes", "maybe"]}, "it does not have 'maybe'"),
        ({"runs": 99}, "runs must be a whole number from 100"),
        ({"runs": 100.5}, "runs must be a whole number"),
        ({"level": 95}, "level must be between 0 and 1"),
    ],
)
def test_bad_options_are_clear_errors(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        audit(COIN.randomize, COIN, **options)


@pytest.mark.parametrize(
    ("client", "error", "complaint"),
    [
        (lambda answers: answers[1:], ValueError, "for 25 answers it returned 24"),
        (lambda answers: (answer for answer in answers), TypeError, "but returned a generator"),
        (lambda answers: "yes", TypeError, "but returned a str"),
        (lambda answers: None, TypeError, "but returned a NoneType"),
        (lambda answers: [*answers[1:], "maybe"], ValueError, "position 24 after the answer 'yes' is 'maybe'"),
        (lambda answers: [None, *answers[1:]], ValueError, "position 0 after the answer 'yes' is None"),
        (lambda answers: np.ones(len(answers)), TypeError, "must be strings"),
        (COIN, TypeError, "client must be a function"),
    ],
)
def test_clients_that_give_no_reports_are_clear_errors(client: Any, error: type[Exception], complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        audit(client, COIN, runs=100)


def test_a_report_that_is_no_report_is_shown() -> None:
    with pytest.raises(ValueError, match=r"with 2 bits set, but position 3 after the answer 'a' is 'F0'"):
        audit(lambda answers: ["c0"] * 3 + ["F0"] * (len(answers) - 3), SETS, runs=100)


def test_data_and_design_in_each_others_place() -> None:
    swapped: Any = (COIN, COIN.randomize)
    with pytest.raises(TypeError, match="design must be a design"):
        audit(*swapped)
    with pytest.raises(TypeError, match="answers must be a list"):
        audit(COIN.randomize, COIN, answers="yes")
