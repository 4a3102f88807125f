"""Block designs: draws, parameters and numbers against references.

Of `block_designs` and all that are made from it: `hashing`, `projective` and `hadamard`.

It tests designs/hadamard.py and designs/projective.py as well.
"""

from __future__ import annotations

import io
import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from references import reference
from strategies import epsilons
from warner import (
    HadamardResponse,
    LocalHashing,
    ProjectiveGeometry,
    RandomizedResponse,
    Tally,
    channel_mle,
    inv,
    inv_n,
    inv_p,
    simulate,
    tally,
)
from warner.designs import design_from_dict, hashing
from warner.designs.block_designs import BlockDesign
from warner.designs.hashing import AffineHashing

REFERENCE = reference("structured")
DRAWS = REFERENCE["exact_draws"]
ESTIMATES = {case["name"]: case for case in reference("support")["estimates"]}
MECHANISMS: list[Any] = [ProjectiveGeometry, LocalHashing, HadamardResponse]
SMALL = [design for made in MECHANISMS for design in made.examples() if isinstance(design, BlockDesign)]

every_small_design = pytest.mark.parametrize("design", SMALL, ids=lambda design: design.summary())


def drawn(design: Any) -> list[list[int]]:
    """Return the report for every answer and for every value of the one draw that decides it."""
    (total,) = design.draws
    source = np.arange(total, dtype="<u8").tobytes()
    return [design.draw(np.full(total, answer), io.BytesIO(source).read).tolist() for answer in range(design.k)]


def p_and_q(design: Any) -> tuple[Fraction, Fraction]:
    a, b, total = design.symmetry.whole
    return Fraction(a, total), Fraction(b, total)


# Draws and probabilities, against references


@pytest.mark.parametrize(
    ("design", "name"),
    [
        (ProjectiveGeometry(7, odds=(3, 1), field=2), "pgr_q2_t3_odds3_1"),
        (ProjectiveGeometry(4, odds=(3, 1), field=3), "pgr_q3_t2_odds3_1_equals_rr_on_4"),
        (HadamardResponse(3, odds=(3, 1)), "hr_t2_odds3_1"),
        (LocalHashing(9, odds=(3, 1), field=3), "lh_linear_g3_t2_odds3_1"),
    ],
)
def test_every_draw_gives_the_report_of_the_reference(design: BlockDesign, name: str) -> None:
    expected = DRAWS[name]
    assert drawn(design) == expected["report_of_answer_and_draw"]
    if "p" in expected:
        assert p_and_q(design) == (Fraction(expected["p"]), Fraction(expected["q"]))


@pytest.mark.parametrize(
    ("design", "p", "q"),
    [
        (ProjectiveGeometry(7, odds=(3, 1), field=2), "9/13", "5/13"),  # the Fano plane
        (ProjectiveGeometry(13, odds=(3, 1), field=3), "4/7", "2/7"),  # PG(2, 3)
        (ProjectiveGeometry(15, odds=(3, 1), field=2), "21/29", "13/29"),
        (LocalHashing(9, odds=(3, 1), field=3), "3/5", "3/10"),  # the affine plane AG(2, 3)
        (LocalHashing(8, odds=(3, 1), field=2), "3/4", "13/28"),  # AG(3, 2)
        (HadamardResponse(100, odds=(3, 1)), "3/4", "1/2"),
        (LocalHashing.affine(5, odds=(3, 1), values=2), "3/4", "9/20"),
    ],
)
def test_p_and_q_are_those_of_the_block_design(design: Any, p: str, q: str) -> None:
    assert p_and_q(design) == (Fraction(p), Fraction(q))
    # Answers that are not all of the points change nothing.
    if not isinstance(design, HadamardResponse | AffineHashing):
        fewer = type(design)(design.k - 1, odds=design.odds, field=design.field, dimension=design.dimension)
        assert p_and_q(fewer) == (Fraction(p), Fraction(q))


@pytest.mark.parametrize("row", REFERENCE["spaces"], ids=lambda row: f"{row['K']}, {row['epsilon']}")
def test_the_best_field_and_dimension_are_those_of_the_reference(row: dict[str, Any]) -> None:
    k, epsilon = row["K"], row["epsilon"]
    for made, name in ((ProjectiveGeometry, "PGR"), (LocalHashing, "LH_linear")):
        design = made(k, epsilon=epsilon)
        assert [design.field, design.dimension] == row[name]
        assert made(k, odds=design.odds) == design  # the same choice from the odds themselves
        assert made(k, epsilon=0.1).with_epsilon(epsilon) == design
        assert next(iter(made.variants(k, epsilon).values())) == design
    assert HadamardResponse(k, epsilon=epsilon).bits == row["HR"]


def test_no_other_small_space_has_a_smaller_variance() -> None:
    for made, k, odds in (
        (ProjectiveGeometry, 40, (5, 2)),
        (LocalHashing, 40, (5, 2)),
        (LocalHashing, 12, (30, 1)),
        (ProjectiveGeometry, 12, (30, 1)),
    ):
        best = made(k, odds=odds)
        others = [made(k, odds=odds, field=field) for field in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43)]
        assert min(_variance(other) for other in others) == _variance(best)
        for dimension in (2, 3, 4):
            given_dimension = made(k, odds=odds, dimension=dimension)
            some = [field for field in (2, 3, 5, 7, 11, 13, 41) if made._counts(field, dimension)[0] >= k]
            for field in some:
                other = made(k, odds=odds, field=field, dimension=dimension)
                assert _variance(given_dimension) <= _variance(other)


def test_affine_collisions_are_those_of_the_reference() -> None:
    for name, expected in REFERENCE["affine_hash_collision"].items():
        prime, values = (int(part[1:]) for part in name.split("_"))
        symmetry = LocalHashing.affine(2, odds=(1, 0), values=values, prime=prime).symmetry
        assert symmetry.q == Fraction(expected)  # without noise a collision is all there is


def test_the_best_number_of_affine_values_is_found_where_all_can_be_tried() -> None:
    for k, odds in ((16, (12, 1)), (31, (20, 1)), (50, (33, 1)), (16, (3, 2)), (3, (100, 1))):
        best = LocalHashing.affine(k, odds=odds)
        others = [LocalHashing.affine(k, odds=odds, values=values, prime=best.prime) for values in range(2, best.prime)]
        assert _variance(best) == min(map(_variance, others))


def _variance(design: Any) -> Fraction:
    p, q = p_and_q(design)
    return q * (1 - q) / (p - q) ** 2


@given(st.sampled_from(MECHANISMS), st.integers(2, 3000), epsilons)
def test_epsilon_is_never_exceeded(mechanism: Any, k: int, epsilon: float) -> None:
    try:
        design = mechanism(k, epsilon=epsilon)
    except ValueError as error:  # odds so close to 1 that 64 bits cannot draw them
        assert "cannot be drawn" in str(error) or "2^62" in str(error)
        return
    a, b = design.odds
    assert Fraction(a, b) <= Fraction(math.nextafter(math.exp(epsilon), math.inf))
    assert design.epsilon <= math.nextafter(epsilon, math.inf)
    assert design.draws[0] < 2**62
    assert design.blocks.points >= k


# Estimates, against references


@pytest.mark.parametrize(
    ("design", "name"),
    [
        (ProjectiveGeometry(7, odds=(3, 1), field=2), "pgr_fano"),
        (LocalHashing(9, odds=(3, 1), field=3), "lh_linear_g3_t2"),
    ],
)
def test_estimates_are_those_of_the_reference(design: BlockDesign, name: str) -> None:
    case = ESTIMATES[name]
    assert [np.flatnonzero(row).tolist() for row in design.supports(np.arange(design.blocks.number))] == case[
        "supports"
    ]
    reports = np.repeat(np.arange(design.blocks.number), case["multiplicity"])
    counted = tally(np.random.default_rng(1).permutation(reports), design)
    assert counted.counts.tolist() == case["support_counts"]
    assert counted.histogram.tolist() == case["multiplicity"]
    assert Tally(design, histogram=case["multiplicity"]) == counted
    for estimator in (inv, inv_n, inv_p):
        shares = estimator(counted.counts, design, n=counted.n)
        assert shares.tolist() == [float(Fraction(share)) for share in case[estimator.__name__]]
    fitted = channel_mle(counted.histogram, design.law.likelihood(), gap=1e-10)
    assert_allclose(fitted.shares, [float(share) for share in case["mle"]], atol=1e-5)


@pytest.mark.parametrize(
    "design",
    [ProjectiveGeometry(6, odds=(7, 2), field=5), LocalHashing(5, odds=(7, 2), field=5)],
    ids=lambda design: design.mechanism,
)
def test_in_the_least_dimension_it_is_randomized_response(design: BlockDesign) -> None:
    response = RandomizedResponse(design.k, odds=(7, 2))
    assert design.symmetry.whole == response.symmetry.whole
    assert design.symmetry.both == design.symmetry.neither == 0
    assert design.law.exclusive
    assert design.law.sufficient == "counts"
    assert design.law.types is None
    assert design.draws == response.draws
    reports = np.random.default_rng(2).integers(design.k, size=500)
    # Each report names one answer: the counts are those of the answers that are named.
    named = design.supports(reports).argmax(axis=1)
    assert_array_equal(tally(reports, design).counts, tally(named, response).counts)
    assert_array_equal(np.bincount(named, minlength=design.k), tally(reports, design).counts)
    assert (
        inv_p(tally(reports, design).counts, design).tolist() == inv_p(tally(named, response).counts, response).tolist()
    )
    assert_allclose(design.law.likelihood().matrix(), response.law.likelihood().matrix())  # type: ignore[misc]


def test_hadamard_response_is_projective_geometry_with_a_report_that_says_nothing() -> None:
    hadamard, geometry = HadamardResponse(15, epsilon=1), ProjectiveGeometry(15, epsilon=1, field=2)
    reports = np.arange(16)
    assert hadamard.supports(reports)[0].all()
    assert_array_equal(hadamard.supports(reports)[1:], geometry.supports(reports[:15]))
    # 22 % more variance, as computed apart from this library.
    assert_allclose(float(_variance(hadamard)), 4.683, atol=5e-4)
    assert_allclose(float(_variance(geometry)), 3.827, atol=5e-4)


# Blocks


@every_small_design
def test_blocks_are_those_of_the_supports(design: BlockDesign) -> None:
    blocks, everything = design.blocks, type(design).__new__(type(design))
    for name, value in vars(design).items():
        object.__setattr__(everything, name, value)
    object.__setattr__(everything, "domain", range(blocks.points))  # an answer for each point
    support = everything.supports(np.arange(blocks.number))
    assert support.shape == (blocks.number, blocks.points)
    assert_array_equal(support[:, : design.k], design.supports(np.arange(blocks.number)))
    assert (support.sum(axis=0) == blocks.with_one).all()
    together = support.T.astype(int) @ support
    assert (together[~np.eye(blocks.points, dtype=bool)] == blocks.with_two).all()
    if blocks.points > 2:
        thirds = [support[:, list(pair)].all(axis=1) @ (support.sum(axis=1) - 2) for pair in combinations(range(3), 2)]
        assert {Fraction(int(sum_), blocks.points - 2) for sum_ in thirds} == {blocks.with_three}
    # The transforms are products with the table.
    counts = np.random.default_rng(3).integers(2**40, size=(2, blocks.number))
    assert_array_equal(design._sums_around(counts), counts @ support)
    weights = np.random.default_rng(4).integers(2**40, size=(2, blocks.points))
    assert_array_equal(design._sums_within(weights), weights @ support.T)


@every_small_design
def test_the_blocks_with_an_answer_are_numbered(design: BlockDesign) -> None:
    support = design.supports(np.arange(design.blocks.number))
    for answer in range(design.k):
        numbers = np.arange(design.blocks.with_one)
        held = design._block_with(np.full(numbers.size, answer), numbers)
        assert sorted(held.tolist()) == np.flatnonzero(support[:, answer]).tolist()


@every_small_design
def test_the_average_law_of_pairs_is_that_of_all_points(design: BlockDesign) -> None:
    if design.blocks.points != design.k:
        return
    (a, b), total = design.odds, design.blocks.total(*design.odds)
    support = design.supports(np.arange(design.blocks.number))
    law = [
        Fraction(sum(a if row[x] else b for row in support if row[i] and row[j]), total)
        for x in range(design.k)
        for i, j in combinations(sorted(set(range(design.k)) - {x}), 2)
    ]
    assert sum(law) / max(len(law), 1) == (design.symmetry.neither if law else 0)


@every_small_design
def test_the_most_answers_that_a_report_supports_are_those_of_the_largest_block(design: BlockDesign) -> None:
    sizes = design.supports(np.arange(design.blocks.number)).sum(axis=1)
    assert design.law.linear.largest_support() == sizes.max()
    assert design.law.support_size in {None, sizes.max()}
    assert (design.law.support_size is None) == (sizes.min() < sizes.max())


@every_small_design
def test_a_small_design_is_a_channel(design: BlockDesign) -> None:
    channel = design.as_channel()
    assert channel.epsilon == design.epsilon
    if not design.law.exclusive:
        assert_allclose(channel.law.likelihood().matrix(), design.law.likelihood().matrix(), atol=1e-15)  # type: ignore[misc]


def test_affine_functions_agree_with_the_formula() -> None:
    design = LocalHashing.affine(11, odds=(3, 1), values=3, prime=13)
    reports = np.array([[alpha, beta, value] for alpha in range(1, 13) for beta in range(13) for value in range(3)])
    expected = [[(a * x + b) % 13 % 3 == s for x in range(11)] for a, b, s in reports.tolist()]
    assert_array_equal(design.supports(reports), expected)
    # Large primes: products stay within 64 bits.
    large = LocalHashing.affine(2**32 - 5, odds=(3, 1), values=1000)
    rows = np.array([[2**32 - 6, 2**32 - 6, 0]])
    answer = 2**32 - 6
    assert large._hashed(rows, np.array([answer]))[0] == ((2**32 - 6) * answer + 2**32 - 6) % (2**32 - 5) % 1000


# Many answers


@pytest.mark.parametrize(
    "design",
    [
        ProjectiveGeometry(4_000, epsilon=1),
        LocalHashing(4_000, epsilon=4),
        HadamardResponse(4_000, epsilon=0.5),
    ],
    ids=lambda design: design.mechanism,
)
def test_many_answers_are_decoded_exactly(design: BlockDesign) -> None:
    rng = np.random.default_rng(5)
    reports = design.draw(rng.integers(design.k, size=100), rng.bytes)
    counts, n, histogram = design.law.count(reports)
    assert_array_equal(counts, design.supports(reports).sum(axis=0))
    assert n == 100
    assert histogram is not None
    assert histogram.sum() == 100
    weighted = design.law.count(reports, np.linspace(0, 1, 100)).counts
    assert_allclose(weighted, np.linspace(0, 1, 100) @ design.supports(reports), atol=1e-9)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_simulated_reports_follow_their_law_both_one_by_one_and_together(mechanism: Any) -> None:
    # Many respondents have answer 0, more than there are blocks with it; few have the others.
    design = mechanism(300, epsilon=1)
    people = np.full(300, 3)
    people[0] = 20_000
    rng = np.random.default_rng(6)
    histogram = design.law._simulate_reports_of_people(people, rng)
    assert histogram.sum() == people.sum()
    probabilities = (design.law.likelihood().forward(people / people.sum())) * people.sum()
    # Pearson's statistic has mean at most R - 1 and a variance near 2 R; five standard deviations above.
    number = design.blocks.number
    assert ((histogram - probabilities) ** 2 / probabilities).sum() < number + 5 * math.sqrt(2 * number)
    counts = simulate.reports_of_people(people, design, rng=rng, size=50)
    a, b, total = design.symmetry.whole
    p, q = a / total, b / total
    mean, spread = q * people.sum() + (p - q) * people, people * p * (1 - p) + (people.sum() - people) * q * (1 - q)
    # 300 means of 50 counts each: five standard errors.
    assert (np.abs(counts.mean(axis=0) - mean) < 5 * np.sqrt(spread / 50)).all()
    assert simulate.reports_of_people(np.zeros(300, dtype=int), design, rng=rng).tolist() == [0] * 300


def test_hash_functions_are_drawn_whatever_the_answer() -> None:
    design = LocalHashing(9, odds=(3, 1), field=3)
    assert design.law.types is not None
    ancillary = design.law.types.ancillary()
    assert ancillary is not None
    assert not ancillary.ordered
    channel = design.law.likelihood().matrix()  # type: ignore[misc]
    for row in channel:
        assert_allclose(np.bincount(ancillary.classes, weights=row), ancillary.law)
    for other in (LocalHashing(3, odds=(3, 1), field=3), ProjectiveGeometry(9, epsilon=1)):
        assert other.law.types is None or other.law.types.ancillary() is None


def test_the_variance_of_very_many_sets_is_the_average_one(monkeypatch: pytest.MonkeyPatch) -> None:
    design = ProjectiveGeometry(13, odds=(3, 1), field=3)
    histogram = np.arange(1, 14)[np.newaxis]
    assert design.law.types is not None
    counts, n = design.law.types.support(histogram), histogram.sum(axis=-1, keepdims=True)
    sets = [[0, 1], [2, 5, 7]]
    plain = design.law.readout(counts, n, sets)
    exact = design.law.readout(counts, n, sets, histogram=histogram)
    assert not np.allclose(plain.error, exact.error)  # type: ignore[arg-type]
    monkeypatch.setattr("warner.designs.block_designs.MOST_SET_REPORTS", 10)
    assert_allclose(design.law.readout(counts, n, sets, histogram=histogram).error, plain.error)  # type: ignore[arg-type]
    # Some sets at a time is the same as all at once.
    monkeypatch.setattr("warner.designs.block_designs.MOST_SET_REPORTS", 10**6)
    monkeypatch.setattr("warner.designs.block_designs.SET_REPORTS_AT_ONCE", 1)
    assert_allclose(design.law.readout(counts, n, sets, histogram=histogram).error, exact.error)  # type: ignore[arg-type]


# Bad input


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: ProjectiveGeometry(9), r"needs either epsilon or odds \(field and dimension may be left out\)"),
        (lambda: HadamardResponse(9, epsilon=1, odds=(3, 1)), "but got both"),
        (lambda: ProjectiveGeometry(9, epsilon=1, field=4), "field must be a prime .*, but got 4; the next one is 5"),
        (lambda: LocalHashing(9, epsilon=1, field=1), "field must be a whole number from 2"),
        (lambda: ProjectiveGeometry(9, epsilon=1, field=2, dimension=3), "a point for each of the 9 answers"),
        (lambda: LocalHashing(9, epsilon=1, field=2, dimension=3), "but 2 and 3 give 8"),
        (lambda: ProjectiveGeometry(9, epsilon=1, dimension=1), "dimension must be a whole number from 2"),
        (lambda: LocalHashing(10**12, epsilon=1, dimension=1), "dimension must be larger"),
        (lambda: ProjectiveGeometry(9, odds=(1, 1)), "larger for a set with the true answer, a > b, but got 1 : 1"),
        (lambda: LocalHashing(9, odds=(1, 3)), "a > b, but got 1 : 3"),
        (lambda: ProjectiveGeometry(9, odds=(2**61, 1), field=2), "one draw below 2.62"),
        (lambda: HadamardResponse(9, epsilon=1, bits=3), r"2\^bits is above the number of answers, 9, but got 3"),
        (lambda: HadamardResponse(9, epsilon=1, bits=1), "bits must be a whole number from 2"),
        (lambda: LocalHashing.affine(9), r"needs either epsilon or odds \(values and prime may be left out\)"),
        (lambda: LocalHashing.affine(9, epsilon=1, prime=12), "a prime number, but got 12; the next one is 13"),
        (lambda: LocalHashing.affine(9, epsilon=1, prime=7), "at least the number of answers, 9, but got 7"),
        (lambda: LocalHashing.affine(9, epsilon=1, values=11, prime=11), "values must be a whole number from 2 to 10"),
        (lambda: LocalHashing.affine(2**33, epsilon=1), "at most 4,294,967,291 answers to be hashed"),
        (lambda: ProjectiveGeometry(5000, epsilon=1).as_channel(), "at most 4096 answers and possible reports"),
    ],
)  # fmt: skip
def test_parameters_that_do_not_fit_together_are_refused(make: Any, complaint: str) -> None:
    with pytest.raises((TypeError, ValueError), match=complaint):
        make()


@pytest.mark.parametrize(
    ("design", "damage", "complaint"),
    [
        (ProjectiveGeometry(7, epsilon=1), {"field": 4}, "field must be a prime number"),
        (ProjectiveGeometry(7, epsilon=1), {"field": "2"}, "damaged: field must be a whole number"),
        (ProjectiveGeometry(7, epsilon=1), {"dimension": 1}, "damaged: dimension must be a whole number from 2"),
        (ProjectiveGeometry(7, epsilon=1), {"field": 2, "dimension": 2}, "a point for each of the 7 answers"),
        (ProjectiveGeometry(7, epsilon=1), {"odds": ["1", "3"]}, "a > b"),
        (HadamardResponse(7, epsilon=1), {"bits": 2}, r"2\^bits is above the number of answers"),
        (HadamardResponse(7, epsilon=1), {"bits": True}, "damaged: bits must be a whole number"),
        (LocalHashing(7, epsilon=1), {"hash": "xx"}, 'damaged: hash must be "linear" or "affine"'),
        (LocalHashing(7, epsilon=1), {"hash": ["linear"]}, 'damaged: hash must be "linear" or "affine"'),
        (LocalHashing(7, epsilon=1), {"hash": "affine"}, "must have prime and values, but has dimension and field"),
        (LocalHashing(7, epsilon=1), {"prime": 7}, "but has dimension and field and prime"),
        (LocalHashing(7, epsilon=1), {"field": 2, "dimension": 2}, "but 2 and 2 give 4"),
        (LocalHashing.affine(7, epsilon=1), {"hash": "linear"}, "have dimension and field, but has prime and values"),
        (LocalHashing.affine(7, epsilon=1), {"prime": 9}, "prime must be a prime number"),
        (LocalHashing.affine(7, epsilon=1), {"prime": 5}, "prime must be at least the number of answers"),
        (LocalHashing.affine(7, epsilon=1), {"prime": 7.0}, "damaged: prime must be a whole number"),
        (LocalHashing.affine(7, epsilon=1), {"values": 7}, "damaged: values must be a whole number from 2"),
    ],
)  # fmt: skip
def test_design_files_that_do_not_fit_together_are_refused(design: Any, damage: Any, complaint: str) -> None:
    assert design_from_dict(design.to_dict()) == design
    with pytest.raises(ValueError, match=complaint):
        design_from_dict(design.to_dict() | damage)


def test_an_affine_file_is_not_read_as_a_linear_design() -> None:
    linear, affine = LocalHashing(7, epsilon=1), LocalHashing.affine(7, epsilon=1)
    read: Any = LocalHashing.from_dict(affine.to_dict())
    assert read == affine
    with pytest.raises(ValueError, match="damaged"):
        AffineHashing.from_dict(linear.to_dict())
    assert affine.with_epsilon(2) == LocalHashing.affine(7, epsilon=2)


def test_words_say_what_a_report_stands_for() -> None:
    fano = ProjectiveGeometry(7, odds=(3, 1), field=2)
    assert "a number below 7 is drawn" in fano.in_words()
    assert "a set of 3 answers, a line of a finite geometry" in fano.sentences()[1]
    assert "the true one in 23.1 %" in fano.sentences()[3]  # 3/13
    assert "about" in ProjectiveGeometry(6, odds=(3, 1), field=2).sentences()[3]
    assert "outside its set is not the truth (epsilon inf)" in ProjectiveGeometry(3, odds=(1, 0)).in_words()
    assert "another hash is not the truth (epsilon inf)" in LocalHashing.affine(3, odds=(1, 0)).in_words()
    assert "4 hash functions and one of its 3 values" in LocalHashing(9, odds=(3, 1), field=3).sentences()[1]


@pytest.mark.parametrize("mechanism", [LocalHashing, ProjectiveGeometry, HadamardResponse])
def test_weights_that_no_double_holds_leave_no_support_none(mechanism: Any) -> None:
    design = mechanism(100, epsilon=2)
    reports = np.array([0, 5, 77 % len(design.law.types)])
    weights = np.array([1.2, 0.7, 1.9])
    counted = tally(reports, design, weights=weights)
    support = design.supports(reports)
    assert_allclose(counted.counts, weights @ support, rtol=1e-14)
    assert ((counted.counts == 0) == ~support.any(axis=0)).all()
    assert Tally.from_json(counted.to_json()) == counted
    grouped = tally(np.tile(reports, 2), design, weights=[*(1e9 * weights), *weights], by=[0, 0, 0, 1, 1, 1])
    assert_allclose(grouped.counts[1], counted.counts, rtol=1e-14)


def test_numbers_of_values_next_to_the_ideal_one_are_tried() -> None:
    # Classes of 1, 2, 3 and 4 of 101 codes make 101, 50 or 51, 33 or 34 and 25 or 26 values.
    assert {39, 40, 41, 42} <= set(hashing._candidates(101, 40))
