"""Contract of all mechanisms: each of `MECHANISMS` faces the same exact tests, and none is named here.

It tests designs/contract.py, designs/report_forms.py and designs/symmetric.py as well.
"""

from __future__ import annotations

import inspect
import io
import itertools
import json
import math
import pickle
from collections import Counter
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from warner import Tally, estimate, inv, simulate, tally
from warner.designs import MECHANISMS, OPEN, Design, design_from_dict, design_from_json, load_design
from warner.designs.draws import Compared
from warner.designs.facts import LinearCombination, counts_everyone
from warner.planning.mechanisms import decoding_steps

LISTED: list[Any] = [mechanism for mechanism in OPEN.values() if issubclass(mechanism, Design)]
DESIGNS = [design for mechanism in [*MECHANISMS.values(), *LISTED] for design in mechanism.examples()]
MOST_DRAWS = 200_000  # that are enumerated

every_design = pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.summary())


def in_bytes(numbers: np.ndarray[Any, Any], below: int) -> np.ndarray[Any, Any]:
    """Write numbers, a row each, as the bytes from which they are drawn."""
    if not isinstance(below, Compared):
        return numbers.astype("<u8")[:, np.newaxis].view(np.uint8)
    assert below <= 128  # then the first byte of (u + 1/2) / below is never that of n / below, and decides
    return ((2 * numbers + 1) * 128 // below).astype(np.uint8)[:, np.newaxis]


@cache
def reports_of(design: Design) -> list[tuple[np.ndarray[Any, Any], Counter[bytes]]]:
    """Enumerate all draws for each answer: the reports, and how often each comes."""
    sequences = np.array(list(itertools.product(*(range(total) for total in design.draws))), dtype=np.int64)
    assert len(sequences) <= MOST_DRAWS
    result = []
    for answer in range(design.k):
        columns = map(in_bytes, sequences.T, design.draws)

        def scripted(size: int, columns: Any = columns) -> bytes:
            # Each report is given as many of its next draws as it asks for, side by side.
            given = [next(columns)]
            while sum(column.size for column in given) < size:
                given.append(next(columns))
            return np.hstack(given).tobytes()

        drawn = design.draw(np.full(len(sequences), answer), scripted)
        assert next(columns, None) is None  # nothing else was to be decided
        result.append((drawn, Counter(np.asarray(row).tobytes() for row in drawn)))
    return result


@cache
def law(design: Design) -> tuple[np.ndarray[Any, Any], list[list[Fraction]]]:
    """Return all possible reports, and the exact probability of each after each answer."""
    drawn = reports_of(design)
    total = int(np.prod([int(below) for below in design.draws]))
    keys: dict[bytes, np.ndarray[Any, Any]] = {}
    for rows, _ in drawn:
        keys |= {np.asarray(row).tobytes(): row for row in rows}
    table = [[Fraction(times[key], total) for key in keys] for _, times in drawn]
    return np.array(list(keys.values())), table


def supports(design: Design) -> np.ndarray[Any, Any]:
    """Return what each possible report adds to the counts."""
    reports, _ = law(design)
    return np.array([design.law.count(reports[[place]]).counts for place in range(len(reports))])


def exact_law_of_columns(design: Design) -> list[list[Fraction]]:
    """Return the exact probability that a report counts for each column, after each answer."""
    added = supports(design)
    _, table = law(design)
    return [
        [sum((p for p, counts in zip(row, added, strict=True) if counts[j]), Fraction(0)) for j in range(len(added[0]))]
        for row in table
    ]


def exact_law_of_kinds(design: Design) -> list[list[Fraction]]:
    """Return the exact probability of each kind of report, after each answer."""
    reports, table = law(design)
    kinds = [design.law.count(reports[[place]]).histogram.argmax() for place in range(len(reports))]  # type: ignore[union-attr]
    assert design.law.types is not None
    return [
        [
            sum((p for p, kind in zip(row, kinds, strict=True) if kind == j), Fraction(0))
            for j in range(len(design.law.types))
        ]
        for row in table
    ]


def test_the_registry_knows_each_mechanism_by_its_name() -> None:
    for name, mechanism in MECHANISMS.items():
        assert mechanism.mechanism == name
        assert len(mechanism.examples()) >= 3


@pytest.mark.parametrize("mechanism", [*MECHANISMS.values(), *OPEN.values()], ids=lambda one: str(one.mechanism))
def test_eps_is_an_error_that_names_epsilon_if_there_is_one(mechanism: Any) -> None:
    named = "epsilon" in inspect.signature(mechanism.__init__).parameters
    hint = rf"eps must be spelled out: {mechanism.__name__}\(..., epsilon=1.5\)"
    with pytest.raises(TypeError, match=hint if named else "argument 'eps'"):
        mechanism(4, eps=1.5)


@every_design
def test_the_probabilities_of_all_reports_sum_to_one(design: Design) -> None:
    _, table = law(design)
    assert [sum(row) for row in table] == [1] * design.k


@every_design
def test_one_answer_by_itself_is_drawn_as_it_is_among_others(design: Design) -> None:
    # One person's device may take shorter ways; from the same bytes it gives the same report. Of many draws, some.
    sequences = np.array(list(itertools.product(*(range(total) for total in design.draws))), dtype=np.int64)
    some = np.unique(np.linspace(0, len(sequences) - 1, 400).astype(int))
    columns = [in_bytes(sequences[some, place], below) for place, below in enumerate(design.draws)]
    for answer, (drawn, _) in enumerate(reports_of(design)):
        for place, row in zip(some.tolist(), np.hstack(columns), strict=True):
            source = io.BytesIO(row.tobytes())
            assert_array_equal(design.draw(np.array([answer]), source.read)[0], drawn[place])
            assert source.read() == b""


@every_design
def test_draws_follow_the_likelihood_that_the_design_tells(design: Design) -> None:
    reports, table = law(design)
    told = design.law.likelihood(reports)
    assert told.shape == (design.k, len(reports))
    likelihood = np.array([told.forward(vertex) for vertex in np.eye(design.k)])
    drawn = np.array(table, dtype=float)
    # Up to one positive factor for each report: compare after dividing each column by its sum.
    assert_allclose(likelihood / likelihood.sum(axis=0), drawn / drawn.sum(axis=0), atol=1e-12)
    weights = np.arange(1.0, len(reports) + 1)
    assert_allclose(told.adjoint(weights), likelihood @ weights, rtol=1e-12)
    assert told.matrix is not None
    assert_allclose(told.matrix(), likelihood, atol=1e-12)


@every_design
def test_the_operator_of_the_columns_is_their_law(design: Design) -> None:
    if design.law.sufficient is None:
        with pytest.raises(ValueError, match="give the reports themselves"):
            design.law.likelihood()
        return
    assert design.law.exclusive == (design.law.sufficient == "counts")
    law_of = exact_law_of_columns if design.law.exclusive else exact_law_of_kinds
    exact = np.array(law_of(design), dtype=float)
    told = design.law.likelihood()
    assert_allclose([told.forward(vertex) for vertex in np.eye(design.k)], exact, atol=1e-15)
    assert_allclose(told.forward(np.eye(design.k)), exact, atol=1e-15)  # leading axes are kept
    assert_allclose(told.adjoint(np.eye(exact.shape[1])), exact.T, atol=1e-15)
    if told.squares is not None:
        # Squared distances from one end of each column: those from the other would do as well.
        sides = [(exact - end).T ** 2 for end in (exact.min(axis=0), exact.max(axis=0))]
        apart = [np.abs(told.squares(np.eye(exact.shape[1])) - side).max(axis=1) for side in sides]
        assert np.minimum(*apart).max() <= 1e-15


@every_design
def test_epsilon_is_the_largest_log_ratio_of_two_answers(design: Design) -> None:
    _, table = law(design)
    pairs = [(min(column), max(column)) for column in zip(*table, strict=True)]
    low, high = design.ratio
    if any(smallest == 0 for smallest, _ in pairs):
        assert low == 0
        assert design.shown_epsilon() == "inf"
    else:
        assert max(largest / smallest for smallest, largest in pairs) == Fraction(high, low)
        assert design.epsilon >= np.log(high / low) * (1 - 1e-15)
        assert float(design.shown_epsilon()) >= design.epsilon * (1 - 1e-15)


@every_design
def test_the_symmetry_is_the_law_of_single_answers_and_of_pairs(design: Design) -> None:
    symmetry = design.law.symmetry
    if symmetry is None:
        return
    columns = exact_law_of_columns(design)
    p, q = symmetry.p, symmetry.q
    for held, counted in itertools.product(range(design.k), repeat=2):
        assert columns[held][counted] == symmetry.asked * (p if held == counted else q)
    added, (_, table) = supports(design), law(design)
    neither = set()
    for held in range(design.k):
        for i, j in itertools.combinations(range(design.k), 2):
            both = sum((x for x, row in zip(table[held], added, strict=True) if row[i] and row[j]), Fraction(0))
            if held in {i, j}:
                assert both == symmetry.both
            else:
                neither.add(both)
    if neither and design.law.sufficient != "histogram":  # where whole reports are at hand, `neither` is but an average
        assert min(neither) <= symmetry.neither <= max(neither)


@every_design
def test_answers_with_a_symmetry_are_alike_in_a_count_of_those_who_were_asked(design: Design) -> None:
    symmetry = design.law.symmetry
    if symmetry is None:
        return
    p, q, asked = symmetry[:3]
    a, b, total = symmetry.whole
    assert (Fraction(a, total), Fraction(b, total), math.gcd(a, b, total)) == (p, q, 1)
    reports, table = law(design)
    rows = design.law.readout(supports(design), np.ones((len(reports), 1)))
    trials, count = (np.broadcast_to(part, (len(reports), design.k)) == 1 for part in (rows.trials, rows.count))
    for held, answer in itertools.product(range(design.k), repeat=2):
        told = sum((x for x, one in zip(table[held], trials[:, answer], strict=True) if one), Fraction(0))
        ones = sum((x for x, one in zip(table[held], count[:, answer], strict=True) if one), Fraction(0))
        assert (told, ones) == (asked, asked * (p if held == answer else q))
    if design.law.exhaustive:
        assert counts_everyone(design.law) == (asked == 1)
    assert symmetry.variance_of_absent == q * (1 - q) / (p - q) ** 2 / asked


@every_design
def test_the_probabilities_of_columns_are_as_reported(design: Design) -> None:
    exact = np.array(exact_law_of_columns(design), dtype=float)
    if design.law.symmetry is not None or design.law.sufficient == "counts":
        assert_allclose(design.law.probabilities(np.eye(design.k)), exact, atol=1e-15)


@every_design
def test_exclusive_means_that_each_report_is_counted_once(design: Design) -> None:
    sums = supports(design).sum(axis=1)
    assert design.law.exclusive == bool((sums == 1).all())
    assert set(np.unique(supports(design))) <= {0, 1}


@every_design
def test_counting_adds_up_over_reports_amounts_and_groups(design: Design) -> None:
    reports, _ = law(design)
    rng = np.random.default_rng(1)
    rows = reports[rng.integers(len(reports), size=200)]
    one_by_one = np.sum([design.law.count(rows[[place]]).counts for place in range(200)], axis=0)
    counts, n, histogram = design.law.count(rows)
    assert_array_equal(counts, one_by_one)
    assert n == 200
    assert (histogram is None) == (design.law.types is None)
    if histogram is not None and design.law.types is not None:
        assert histogram.shape == (len(design.law.types),)
        assert histogram.sum() == 200
        support = design.law.types.support(histogram)
        assert support is None or (support == counts).all()
    amounts = rng.integers(1, 5, size=200)
    repeated = design.law.count(np.repeat(rows, amounts, axis=0))
    together = design.law.count(rows, amounts)
    assert_array_equal(together[0], repeated[0])
    assert together[1] == repeated[1]
    group = rng.integers(3, size=200)
    group[group == 1] = 2  # a group without reports
    by_group, numbers, kinds = design.law.count(rows, amounts, group=group, groups=3)
    for place in range(3):
        alone = design.law.count(rows[group == place], amounts[group == place])
        assert_array_equal(by_group[place], alone[0])
        assert numbers[place] == alone[1]
        assert kinds is None or (kinds[place] == alone.histogram).all()


@every_design
@pytest.mark.parametrize("target", ["population", "realised"])
def test_readouts_are_unbiased_and_their_errors_right(design: Design, target: str) -> None:
    shares = np.arange(1.0, design.k + 1) / np.arange(1.0, design.k + 1).sum()
    added, (_, table) = supports(design), law(design)
    probabilities = np.array(table, dtype=float)
    n = 1e12  # so many that half a report more is nothing
    expected = (shares @ probabilities) @ added * n
    sets: list[list[int] | None] = [None, [0], list(range(design.k - 1))]
    for chosen in sets:
        readout = design.law.readout(expected[np.newaxis], np.array([[n]]), None if chosen is None else [chosen])
        truth = shares if chosen is None else np.array([shares[chosen].sum()])
        known = np.isfinite(np.broadcast_to(0.0 if readout.error is None else readout.error[0], truth.shape))
        known |= np.broadcast_to(readout.exact, truth.shape)
        assert_allclose(readout.share()[0][known], truth[known], atol=1e-9)
        if readout.scores is not None:
            scores = design.law.readout(added, np.ones((len(added), 1)), None if chosen is None else [chosen]).share()
            scores = np.where(np.broadcast_to(readout.exact, truth.shape), 0.0, scores)
            assert (scores >= np.minimum(readout.scores[0], 0) - 1e-9).all()
            assert (scores <= np.maximum(readout.scores[1], 1) + 1e-9).all()
    if design.k < 3:
        return
    # Mean and variance of the score of one report, by enumeration: of a difference of two shares, and of sets.
    kinds = None
    if design.law.types is not None:
        kinds = n * (shares @ np.array(exact_law_of_kinds(design), dtype=float))[np.newaxis]
    for chosen, minus in (([0], [[1]]), ([0, 1], None), (list(range(design.k - 1)), None)):
        options: dict[str, Any] = {"minus": minus, "target": target}
        readout = design.law.readout(expected[np.newaxis], np.array([[n]]), [chosen], histogram=kinds, **options)
        if readout.exact.any() or not np.isfinite(readout.error).all():  # type: ignore[arg-type]
            continue
        scores = np.array(
            [design.law.readout(row[np.newaxis], np.ones((1, 1)), [chosen], **options).share() for row in added]
        )
        if minus is None:
            assert readout.scores is not None
            least, most = (float(end[0]) for end in readout.scores)
            assert least - 1e-9 <= scores.min() <= scores.max() <= most + 1e-9
        means = probabilities @ scores.ravel()
        held = np.isin(np.arange(design.k), chosen).astype(float)
        held[1] -= minus is not None
        assert_allclose(means, held, atol=1e-9)
        variance = probabilities @ scores.ravel() ** 2
        everybody = shares @ variance - (shares @ means) ** 2
        wanted = everybody if target == "population" else shares @ (variance - means**2)
        assert readout.error is not None
        assert_allclose(readout.error[0, 0], np.sqrt(wanted / n), rtol=1e-6)


@every_design
@pytest.mark.parametrize("target", ["population", "realised"])
def test_readouts_of_fuzzy_sets_are_unbiased_and_their_errors_right(design: Design, target: str) -> None:
    if design.k < 3 or not design.law.exhaustive:
        return
    x = np.arange(design.k) / (design.k - 1)
    fuzzy = np.array([x, 4 * (x - 0.5) ** 2, np.sqrt(np.arange(1.0, design.k + 1)) % 1])
    shares = np.arange(1.0, design.k + 1) / np.arange(1.0, design.k + 1).sum()
    added, (_, table) = supports(design), law(design)
    probabilities = np.array(table, dtype=float)
    n = 1e12
    expected = (shares @ probabilities) @ added * n
    kinds = None
    if design.law.types is not None:
        kinds = n * (shares @ np.array(exact_law_of_kinds(design), dtype=float))[np.newaxis]
    numbers = np.array([[n]])
    readout = design.law.readout(
        expected[np.newaxis], numbers, LinearCombination(fuzzy), target=target, histogram=kinds
    )
    one_by_one = design.law.readout(added, np.ones((len(added), 1)), LinearCombination(fuzzy), target=target)
    assert readout.error is not None
    told = np.isfinite(readout.error[0])
    for place in np.flatnonzero(told):
        scores = np.broadcast_to(one_by_one.share(), (len(added), 3))[:, place]
        assert_allclose(probabilities @ scores, fuzzy[place], atol=1e-9)
        assert_allclose(readout.share()[0, place], shares @ fuzzy[place], atol=1e-9)
        if np.broadcast_to(readout.exact, 3)[place]:
            assert target == "population"
            counted = np.broadcast_to(one_by_one.count, (len(added), 3))[:, place]
            assert set(np.unique(counted)) <= {0.0, 1.0}
            base, gain = (float(np.broadcast_to(part, 3)[place]) for part in (readout.base, readout.gain))
            assert_allclose(probabilities @ counted, base + gain * fuzzy[place], atol=1e-12)
            continue
        assert readout.scores is not None
        least, most = (float(np.broadcast_to(end, 3)[place]) for end in readout.scores)
        assert least - 1e-9 <= scores.min() <= scores.max() <= most + 1e-9
        variance = probabilities @ scores**2 - fuzzy[place] ** 2
        wanted = shares @ (variance + fuzzy[place] ** 2) - (shares @ fuzzy[place]) ** 2
        wanted = wanted if target == "population" else shares @ variance
        # Where reports are not at hand, and it matters which three answers they support, the average law must do.
        tolerance = 0.01 if design.law.sufficient is None else 1e-5
        assert_allclose(readout.error[0, place], np.sqrt(max(wanted, 0) / n), rtol=tolerance, atol=1e-11)


@every_design
def test_mean_squares_of_scores_are_those_of_all_reports_after_each_answer(design: Design) -> None:
    if design.k < 3 or not design.law.exhaustive or not (design.law.symmetry or design.law.linear.identifiable().all()):
        return
    x = np.arange(design.k) / (design.k - 1)
    added, (_, table) = supports(design), law(design)
    for fuzzy in (x, np.sqrt(np.arange(1.0, design.k + 1)) % 1):
        one_by_one = design.law.readout(added, np.ones((len(added), 1)), LinearCombination(fuzzy[np.newaxis]))
        wanted = np.array(table, dtype=float) @ one_by_one.share()[:, 0] ** 2
        # Where reports are not at hand, and it matters which three answers they support, the average law must do.
        assert_allclose(
            design.law.linear.second_moments(fuzzy),
            wanted,
            rtol=0.1 if design.law.sufficient is None else 1e-9,
            atol=1e-14,
        )


@every_design
def test_of_two_answers_the_commoner_is_oftener_supported_without_the_other(design: Design) -> None:
    symmetry = design.law.symmetry
    if symmetry is None:
        return
    added, (_, table) = supports(design), law(design)
    gain = symmetry.asked * (symmetry.p - symmetry.q)
    for i, j in itertools.combinations(range(design.k), 2):
        sign = added[:, i].astype(int) - added[:, j]
        apart = [sum(p * int(s) for p, s in zip(row, sign, strict=True)) for row in table]
        assert apart == [gain * ((x == i) - (x == j)) for x in range(design.k)]


@every_design
def test_counts_are_binomial_where_the_readout_says_exact(design: Design) -> None:
    added, (_, table) = supports(design), law(design)
    probabilities = np.array(table, dtype=float)
    for chosen in [[0], [0, 1]] if design.k > 2 else [[0], [1]]:
        rows = design.law.readout(added, np.ones((len(added), 1)), [chosen])
        if not np.all(rows.exact):
            continue
        trials = np.broadcast_to(rows.trials, rows.count.shape)[:, 0]
        counted, asked = np.asarray(rows.count)[:, 0], trials == 1
        assert set(np.unique(counted[asked])) <= {0.0, 1.0}  # each report is counted or not
        assert (trials[~asked] <= 1e-9).all()  # or says nothing of the answer, for all that may be true
        told = probabilities @ asked
        assert_allclose(told, told[0], atol=1e-12)
        after = probabilities[:, asked] @ counted[asked]
        base, gain = float(np.ravel(rows.base)[0]), float(np.ravel(rows.gain)[0])
        held = np.isin(np.arange(design.k), chosen)
        assert_allclose(after, told * (base + gain * held), atol=1e-12)


@every_design
def test_bounds_are_attained_and_never_passed(design: Design) -> None:
    exact = np.array(exact_law_of_columns(design), dtype=float)
    least, most = design.law.bounds()
    if least is not None:
        assert_allclose(np.broadcast_to(least, exact.shape[1]), exact.min(axis=0), atol=1e-15)
    if most is not None:
        assert_allclose(np.broadcast_to(most, exact.shape[1]), exact.max(axis=0), atol=1e-15)
    assert least is not None or most is not None


@every_design
def test_bounds_of_kinds_are_attained_and_never_passed(design: Design) -> None:
    if design.law.types is None:
        return
    bounds = design.law.types.bounds()
    exact = np.array(exact_law_of_kinds(design), dtype=float)
    assert bounds.least is not None
    assert bounds.most is not None
    assert_allclose(np.broadcast_to(bounds.least, exact.shape[1]), exact.min(axis=0), atol=1e-15)
    assert_allclose(np.broadcast_to(bounds.most, exact.shape[1]), exact.max(axis=0), atol=1e-15)


@every_design
def test_what_is_ancillary_has_one_law_whatever_the_answer(design: Design) -> None:
    ancillary = None if design.law.types is None else design.law.types.ancillary()
    if ancillary is None:
        return
    exact = np.array(exact_law_of_kinds(design), dtype=float)
    classes = np.array([np.bincount(ancillary.classes, weights=row, minlength=len(ancillary.law)) for row in exact])
    assert_allclose(classes, np.broadcast_to(ancillary.law, classes.shape), atol=1e-15)
    assert design.law.types is not None
    assert ancillary.of_each_type == (len(design.law.types) == len(ancillary.law))


@every_design
def test_a_report_counts_for_so_many_answers_and_no_more(design: Design) -> None:
    sizes = supports(design).sum(axis=1)
    if design.law.symmetry is not None:
        assert design.law.linear.largest_support() == sizes.max()
    assert design.law.support_size in {None, sizes.min()}


@every_design
def test_inverting_undoes_the_design(design: Design) -> None:
    exact = np.array(exact_law_of_columns(design), dtype=float)
    shares = np.arange(1.0, design.k + 1) / np.arange(1.0, design.k + 1).sum()
    if np.linalg.matrix_rank(exact) < design.k:
        with pytest.raises(ValueError, match="linearly independent rows"):
            inv(1000 * shares @ exact, design)
        return
    number = {} if design.law.exclusive else {"n": 1000.0}
    assert_allclose(inv(1000 * shares @ exact, design, **number), shares, atol=1e-12)
    # One report more or less of any kind moves a share by at most the leverage over n.
    pseudo = [inv(1.0 * row, design, **({} if design.law.exclusive else {"n": 1.0})) for row in supports(design)]
    assert np.ptp(pseudo, axis=0).max() <= design.law.linear.influence() * (1 + 1e-9)


@every_design
def test_simulated_counts_have_the_mean_and_the_variance_of_drawn_ones(design: Design) -> None:
    exact = np.array(exact_law_of_columns(design), dtype=float)
    shares = np.arange(1.0, design.k + 1) / np.arange(1.0, design.k + 1).sum()
    times, n = 400, 50
    drawn = simulate.reports_of_population(shares, n, design, rng=np.random.default_rng(2), size=times)
    assert drawn.shape == (times, exact.shape[1])
    mean = shares @ exact
    # Five standard errors of a mean of `times` binomial counts; of a variance, with a fourth moment below 3 v^2 + v.
    spread = n * mean * (1 - mean)
    assert (np.abs(drawn.mean(axis=0) - n * mean) <= 5 * np.sqrt(spread / times) + 1e-9).all()
    assert (np.abs(drawn.var(axis=0) - spread) <= 5 * np.sqrt((2 * spread**2 + spread) / times) + 1e-9).all()
    people = np.arange(1, design.k + 1) * 10
    of_people = simulate.reports_of_people(people, design, rng=np.random.default_rng(3), size=times)
    mean = people @ exact
    spread = people @ (exact * (1 - exact))
    assert (np.abs(of_people.mean(axis=0) - mean) <= 5 * np.sqrt(spread / times) + 1e-9).all()
    assert (np.abs(of_people.var(axis=0) - spread) <= 5 * np.sqrt((2 * spread**2 + spread) / times) + 1e-9).all()


@every_design
def test_simulations_take_lists_and_reject_what_is_no_distribution(design: Design) -> None:
    rng = np.random.default_rng(1)
    equal = [1 / design.k] * design.k
    first = [1.0] + [0.0] * (design.k - 1)
    assert design.simulate(equal, 7, rng=rng).shape == design.simulate(first, 7, rng=rng, size=1)[0].shape
    assert design.simulate(np.array(equal, dtype=np.float32), 7, rng=rng).dtype == np.int64
    wrong: list[Any] = [
        equal[1:],
        [*equal, 0.0],
        [1.1, *first[1:]],
        [1.5, -0.5, *first[2:]],
        [np.nan, *first[1:]],
        [equal],
        1.0,
    ]
    if design.law.exhaustive:
        wrong.append([0.9, *first[1:]])
    else:
        assert design.simulate([0.9, *first[1:]], 7, rng=rng).shape == design.simulate(equal, 7, rng=rng).shape
    for shares in wrong:
        with pytest.raises(ValueError, match=rf"^shares must be {design.k:,} shares of at least 0 that sum to"):
            design.simulate(shares, 7, rng=rng)
        with pytest.raises(ValueError, match=rf"^shares must be {design.k:,} shares of at least 0 that sum to"):
            simulate.reports_of_population(shares, 7, design, rng=rng)
    with pytest.raises(TypeError, match=rf"^shares must be {design.k:,} numbers"):
        design.simulate(["a"] * design.k, 7, rng=rng)
    with pytest.raises(TypeError, match="rng must be"):
        design.simulate(equal, 7, rng=1)  # type: ignore[arg-type]
    for n in (-1, 2.5, 10**30, True):
        with pytest.raises(ValueError, match=r"^n must be a whole number of respondents"):
            design.simulate(equal, n, rng=rng)  # type: ignore[arg-type]
    assert design.law.simulate_people([1] * design.k, rng=rng).shape == design.simulate(equal, 7, rng=rng).shape
    for people in ([1] * (design.k + 1), [-1, *[2] * (design.k - 1)], [0.5] * design.k, [2**53] * design.k):
        with pytest.raises(ValueError, match=rf"^true_counts must be {design.k:,} whole numbers of at least 0"):
            design.law.simulate_people(people, rng=rng)


@every_design
def test_a_design_survives_its_file_and_a_pickle(design: Design, tmp_path: Any) -> None:
    path = tmp_path / "design.json"
    design.save(path)
    for copy in (
        load_design(path),
        type(design).load(path),
        design_from_json(design.to_json()),
        design_from_dict(design.to_dict()),
        pickle.loads(pickle.dumps(design)),
    ):
        assert copy == design
        assert hash(copy) == hash(design)
        assert copy.to_json() == design.to_json()
    assert json.loads(design.to_json()) == design.to_dict()
    damaged = design.to_dict() | {"surplus": 1}
    with pytest.raises(ValueError, match="damaged"):
        design_from_dict(damaged)
    for name in design.fields():
        missing = {key: value for key, value in design.to_dict().items() if key != name}
        if name not in design._optional_fields:
            with pytest.raises(ValueError, match="damaged"):
                design_from_dict(missing)


@every_design
def test_a_design_says_in_words_what_it_spends(design: Design) -> None:
    assert f"epsilon {design.shown_epsilon()}" in design.in_words()
    assert design.shown_epsilon() in design.summary()
    assert repr(design) == f"<{design.summary()}>"
    assert all("\n" not in sentence for sentence in design.sentences())


@every_design
def test_a_report_takes_as_many_bits_as_there_are_reports(design: Design) -> None:
    # Some of what a column could hold may never be drawn, but less than half of it.
    assert 0.5 < len(law(design)[0]) / 2**design.report_form.bits <= 1 + 1e-9
    assert decoding_steps(design, 1000) >= 1000 * (1 - 1e-9)
    assert decoding_steps(design, 2000) > decoding_steps(design, 1000)


@every_design
def test_variants_are_designs_of_the_mechanism_within_epsilon(design: Design) -> None:
    mechanism = type(design)
    for name, variant in mechanism.variants(5, 1).items():
        assert name.startswith(design.mechanism)
        assert variant.mechanism == design.mechanism
        assert 0.5 < variant.epsilon <= 1
    for quantity in ("mean", "distribution"):
        for name, variant in mechanism.variants(range(5), 1, quantity).items():
            assert name.startswith(design.mechanism)
            assert 0.5 < variant.epsilon <= 1


@every_design
def test_reports_are_written_read_and_counted_alike(design: Design) -> None:
    answers = np.arange(design.k).repeat(5)
    written = design.randomize(list(np.array(design.domain, dtype=object)[answers]))
    assert len(written) == len(answers)
    read = design.report_form.read(written)
    assert not read.status.any()
    counts, n = design.law.count(read.reports)[:2]
    counted = tally(written, design)
    assert_array_equal(counted.counts, counts)
    assert counted.n == n == len(answers)
    assert_array_equal(design.report_form.written(read.reports).tolist(), written)


@every_design
def test_the_whole_walk_from_answers_to_an_estimate(design: Design) -> None:
    shares = np.arange(1.0, design.k + 1) / np.arange(1.0, design.k + 1).sum()
    counts = simulate.reports_of_population(shares, 5000, design, rng=np.random.default_rng(4))
    result = estimate(Tally(design, counts, n=5000))
    table = result.table()
    if design.law.exhaustive:
        assert_allclose(table["share"].sum(), 1, atol=1e-9)
    assert (table["low"] <= table["high"]).all()
    # Simultaneous intervals at 1 - 1e-6 hold the truth, whatever the design.
    wide = result.table(1 - 1e-6, simultaneous=True)
    assert ((wide["low"] <= shares) & (shares <= wide["high"])).all()
