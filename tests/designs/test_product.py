"""Several questions at once: the joint table, never written out, against the table written out."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from cases import COIN
from references import reference
from strategies import channels
from warner import (
    Channel,
    ChannelOperator,
    LocalHashing,
    Memoized,
    ProjectiveGeometry,
    RandomizedResponse,
    SubsetSelection,
    Tally,
    UnaryEncoding,
    certificate,
    channel_mle,
    estimate,
    inv,
    surveys,
    tally,
)
from warner.designs import Product, design_from_dict
from warner.designs.product import merged, mode_products

REFERENCE = reference("associations")

several = st.lists(channels(3, 3), min_size=2, max_size=3).map(Product)


def kron(tables: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    return reduce(np.kron, tables)


def drawn(design: Product, n: int, seed: int) -> np.ndarray[Any, Any]:
    """Draw reports of people who either hold the first answer to most questions, or hardly to any."""
    rng = np.random.default_rng(seed)
    inclined = rng.random(n) < 0.3
    answers = [
        np.where(rng.random(n) < np.where(inclined, 0.7, 0.1), 0, rng.integers(1, part.k, size=n))
        for part in design.designs
    ]
    reports = [part.draw(codes, rng.bytes) for part, codes in zip(design.designs, answers, strict=True)]
    return np.bincount(design.joined(reports), minlength=len(design.law.columns))


def test_a_joint_report_has_the_product_of_the_probabilities() -> None:
    # Odds 3 : 1 among two and three answers: the truth has 3/4 * 3/5, two lies 1/4 * 1/5.
    design = Product([COIN, RandomizedResponse(["a", "b", "c"], odds=(3, 1))])
    assert design.domain == ("yes & a", "yes & b", "yes & c", "no & a", "no & b", "no & c")
    table = design.law.likelihood().matrix()  # type: ignore[misc]
    assert_allclose(table[0], np.array([9, 3, 3, 3, 1, 1]) / 20, rtol=1e-14)
    assert design.ratio == (1, 9)
    assert design.shown_epsilon() == "2.198"  # 2 ln 3 = 2.19722...
    assert Product([RandomizedResponse(2, odds=(5, 2)), RandomizedResponse(3, odds=(2, 3))]).ratio == (4, 15)


@given(several, st.integers(0, 2**32))
def test_products_are_those_with_the_table_written_out(design: Product, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = kron([part.channel() for part in design.designs])  # type: ignore[attr-defined]
    told = design.law.likelihood()
    shares, weights = rng.random((2, design.k)), rng.random((2, len(design.law.columns)))
    assert_allclose(told.forward(shares), shares @ table, rtol=1e-12, atol=1e-15)
    assert_allclose(told.adjoint(weights), weights @ table.T, rtol=1e-12, atol=1e-15)
    assert told.matrix is not None
    assert_allclose(told.matrix(), table, rtol=1e-13)
    reports = rng.integers(len(design.law.columns), size=5)
    some, weights_of_some = design.law.likelihood(reports), rng.random((2, 5))
    assert_allclose(some.forward(shares), shares @ table[:, reports], rtol=1e-12, atol=1e-15)
    assert_allclose(some.adjoint(weights_of_some), weights_of_some @ table[:, reports].T, rtol=1e-12, atol=1e-15)
    assert told.squares is not None
    # Squared distances from one end of each column: those from the other would do as well.
    ends = [(table - end).T ** 2 for end in (table.min(axis=0), table.max(axis=0))]
    squares = told.squares(np.eye(len(design.law.columns)))
    assert np.min([np.abs(squares - end).max(axis=1) for end in ends], axis=0).max() <= 1e-14
    assert_allclose(told.squares(weights), weights @ squares, rtol=1e-9, atol=1e-12)
    least, most = design.law.bounds()
    assert_allclose(np.asarray(least), table.min(axis=0), atol=1e-15)
    assert_allclose(np.asarray(most), table.max(axis=0), atol=1e-15)
    assert_allclose(design.as_channel().channel(), table, rtol=1e-13)


@given(several)
def test_shares_are_told_where_the_written_out_table_tells_them(design: Product) -> None:
    channel = design.as_channel()
    assert_array_equal(design.law.linear.identifiable(), channel.law.linear.identifiable())
    assert_allclose(
        design.law.linear.weights(),
        channel.law.linear.weights(),
        atol=1e-9 * (1 + np.abs(channel.law.linear.weights()).max()),
    )
    assert_allclose(design.law.linear.influence(), channel.law.linear.influence(), rtol=1e-8, atol=1e-12)
    assert Fraction(*reversed(channel.ratio)) == Fraction(*reversed(design.ratio)) if channel.ratio[0] else True
    assert bool(channel.ratio[0]) == bool(design.ratio[0])


@given(st.lists(st.integers(2, 5), min_size=1, max_size=5), st.integers(0, 2**32))
def test_merging_tables_changes_nothing(sizes: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    tables = [rng.random((rows, int(rng.integers(1, 5)))) for rows in sizes]
    values = rng.random((3, math.prod(sizes)))
    assert_allclose(mode_products(values, merged(tables)), mode_products(values, tables), rtol=1e-12)
    assert_allclose(mode_products(values, tables), values @ kron(tables), rtol=1e-12)


@pytest.mark.parametrize("target", ["population", "realised"])
@pytest.mark.parametrize("sets", [None, [[0], [1, 4], list(range(5))]])
@pytest.mark.parametrize("design", Product.examples(), ids=lambda design: design.summary())
def test_joint_shares_show_as_under_the_table_written_out(
    design: Product, target: str, sets: list[list[int]] | None
) -> None:
    counts = np.array([design.simulate(np.full(design.k, 1 / design.k), 10**9, rng=np.random.default_rng(1))])
    n = np.array([[1e9]])
    sets = None if sets is None else [[place for place in members if place < design.k] for members in sets]
    joint = design.law.readout(counts, n, sets, target=target)
    written = design.as_channel().law.readout(counts, n, sets, target=target)
    linear = ~np.asarray(written.exact)  # a binomial count has another error
    assert joint.error is not None
    assert written.error is not None
    assert_allclose(joint.share()[0][linear], written.share()[0][linear], atol=1e-12)
    assert_allclose(joint.error[0][linear], written.error[0][linear], rtol=1e-6, atol=1e-11)


def test_most_likely_joint_shares_are_the_reference() -> None:
    case = REFERENCE["G_two_questions"]
    design = Product([surveys.warner("3/4"), RandomizedResponse(3, odds=(3, 1))])
    reports = np.array(case["reports"])
    fit = channel_mle(reports.ravel(), design)
    assert_allclose(fit.shares.reshape(2, 3), case["joint_mle"], atol=1e-10)
    assert_allclose(fit.log_likelihood, case["log_likelihood"], rtol=1e-12)
    assert fit.unique
    assert_allclose(inv(reports.ravel(), design).reshape(2, 3), case["inverse"], atol=1e-12)


@pytest.mark.parametrize(("questions", "answers"), [(6, 2), (3, 4), (8, 2), (4, 4), (12, 2), (6, 4)])
def test_most_likely_joint_shares_are_certified_up_to_4096_cells(questions: int, answers: int) -> None:
    design = Product([RandomizedResponse(answers, odds=(3, 1)) for _ in range(questions)])
    counts = drawn(design, 2000, seed=questions)
    fit = channel_mle(counts, design)
    assert fit.gap <= 1e-6
    assert fit.unique
    proof = certificate(fit.shares, counts, design)
    assert proof.gap <= 1.001e-6
    assert proof.unique
    if design.k <= 256:
        written = channel_mle(counts, design.as_channel())
        assert_allclose(fit.shares, written.shares, atol=1e-9)


def test_without_a_table_the_same_maximum_is_found() -> None:
    design = Product([RandomizedResponse(2, odds=(3, 1)) for _ in range(8)])
    told = design.law.likelihood()
    counts = drawn(design, 2000, seed=1)
    bare = ChannelOperator(told.shape, told.forward, told.adjoint, squares=told.squares)
    fit, dense = channel_mle(counts, bare, gap=1e-9), channel_mle(counts, design)
    assert fit.gap <= 1e-9
    assert fit.unique
    assert dense.unique
    assert_allclose(fit.log_likelihood, dense.log_likelihood, atol=1e-8)
    assert_allclose(fit.shares, dense.shares, atol=1e-4)


def test_answers_that_look_alike_have_no_unique_joint_shares() -> None:
    alike = Channel([["3/4", "1/4"], ["3/4", "1/4"], ["1/4", "3/4"]], ["beer", "wine", "water"], ["yes", "no"])
    design = Product([alike, COIN])
    assert not design.law.linear.identifiable().any() or not design.law.linear.identifiable().all()
    assert not channel_mle([40, 60, 80, 20], design).unique
    # Where the table is too large, the same is found by products.
    wide = Product([alike, *([RandomizedResponse(2, odds=(3, 1))] * 10)])
    assert wide.law.likelihood().matrix is None
    assert not channel_mle(drawn(wide, 1000, seed=2), wide).unique
    with pytest.raises(ValueError, match="linearly independent rows"):
        inv(drawn(wide, 1000, seed=2), wide)


def test_an_estimate_of_4096_joint_answers_needs_no_table() -> None:
    design = Product([RandomizedResponse(2, odds=(9, 1)) for _ in range(12)])
    counts = drawn(design, 3000, seed=3)
    result = estimate(Tally(design, counts))
    table = result.table()
    assert_allclose(table["share"].sum(), 1, atol=1e-9)
    # Nearly all intervals of rare joint answers hold what was drawn: a joint answer without respondents is rare.
    assert table["low"].max() < 0.45
    assert (table["low"] <= table["high"]).all()
    assert_allclose(inv(counts, design).sum(), 1, atol=1e-9)
    with pytest.raises(ValueError, match="fill the memory"):
        design.law.linear.weights()
    with pytest.raises(ValueError, match="fill the memory"):
        design.as_channel()


@given(several, st.integers(0, 2**32))
def test_marginals_of_unbiased_joint_shares_are_those_of_each_question(design: Product, seed: int) -> None:
    if not design.law.linear.identifiable().all():
        return
    counts = design.simulate(np.full(design.k, 1 / design.k), 100, rng=np.random.default_rng(seed))
    shares = inv(counts, design).reshape(design.sizes)
    for place, part in enumerate(design.designs):
        others = tuple(axis for axis in range(len(design.designs)) if axis != place)
        alone = counts.reshape(design.widths).sum(axis=others)
        assert_allclose(shares.sum(axis=others), inv(alone, part), atol=1e-9 * (1 + part.law.linear.influence()))


def test_joint_reports_are_drawn_question_by_question() -> None:
    design = Product([COIN, RandomizedResponse(3, odds=(1, 0)), COIN])
    answers = np.repeat(np.arange(design.k), 500)
    reports = design.draw(answers, np.random.default_rng(1).bytes)
    _, second, _ = np.unravel_index(reports, design.widths)
    assert_array_equal(second, design.split(answers)[1])  # which is always told
    first = np.unravel_index(reports, design.widths)[0] == design.split(answers)[0]
    # 6,000 draws with probability 3/4: five standard errors are 0.028.
    assert abs(first.mean() - 0.75) < 0.028
    assert tally(["yes & 1 & no", "no & 2 & no"], design).counts[[3, 11]].tolist() == [1, 1]


def test_questions_may_be_products_themselves() -> None:
    pair = Product({"a": COIN, "b": COIN})
    nested, flat = Product({"both": pair, "c": COIN}), Product({"a": COIN, "b": COIN, "c": COIN})
    assert nested.domain == flat.domain
    assert nested.ratio == flat.ratio
    shares = np.arange(8.0)
    assert_allclose(nested.law.likelihood().forward(shares), flat.law.likelihood().forward(shares))
    assert design_from_dict(nested.to_dict()) == nested
    assert flat.among([0, 2]).questions == ("a", "c")


def test_what_cannot_be_asked_together_is_refused() -> None:
    cases: list[tuple[Any, type[Exception], str]] = [
        ([COIN], ValueError, "two questions or more"),
        (COIN, TypeError, "a mapping or a list of designs"),
        ([COIN, "3/4"], TypeError, "must be a design, such as a RandomizedResponse, but got str"),
        ({"a": COIN, 2: COIN}, TypeError, "names that are texts"),
        ([COIN, UnaryEncoding(3, odds=(3, 1))], ValueError, "supports several answers"),
        ([COIN, SubsetSelection(3, odds=(3, 1), size=1)], ValueError, "written as a label, but under subset"),
        ([COIN, ProjectiveGeometry(4, odds=(3, 1), field=3)], ValueError, "written as a label, but under projective"),
        ([COIN, LocalHashing(3, odds=(3, 1), field=3)], ValueError, "written as a label, but under local hashing"),
        ([COIN] * 17, ValueError, "at most 65,536 joint answers.*131,072.*pairs"),
        ([Channel(np.full((2, 300), 1 / 300), 2, 300)] * 2, ValueError, "at most 65,536 joint reports"),
        ([COIN, RandomizedResponse(4097, epsilon=1)], ValueError, "at most 4,096 answers, but has 4,097"),
    ]
    for designs, kind, complaint in cases:
        with pytest.raises(kind, match=complaint):
            Product(designs)
    assert Product([COIN, RandomizedResponse(4096, epsilon=1)]).k == 8192
    alike = Product([RandomizedResponse(["a", "a & b"], odds=(2, 1)), RandomizedResponse(["b & c", "c"], odds=(2, 1))])
    with pytest.raises(ValueError, match="'a & b & c' can be read in two ways"):
        _ = alike.domain
    with pytest.raises(ValueError, match="'a & b & c' can be read in two ways"):
        design_from_dict(alike.to_dict())


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"questions": "ab"}, "questions must be a list of names"),
        ({"questions": ["a", "a"]}, "is named twice"),
        ({"questions": ["a", "b", "c"]}, "designs must be a list of 3"),
        ({"designs": [COIN.to_dict(), 3]}, "must say"),
    ],
)
def test_a_damaged_file_is_one_clear_error(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        design_from_dict(Product({"a": COIN, "b": COIN}).to_dict() | change)


def test_the_words_name_the_questions_and_the_sum_of_epsilons() -> None:
    words = " ".join(Product({"cheated": COIN, "copied": COIN}).sentences())
    assert "Questions (2): cheated, copied" in words
    assert "Randomization of 'copied'" in words
    assert "epsilon 2.198" in words
    assert "56.2 % certain" in words  # (3/4)^2
    many = Product([COIN] * 14).in_words()
    assert "And so on for 2 more questions." in many
    for labels in product(["yes", "no"], repeat=2):
        assert " & ".join(labels) in words


def test_a_product_does_not_promise_what_its_memoized_parts_do() -> None:
    # There is no memo for a product: "2 for all of an unchanged answer" holds for the part alone.
    twice = Memoized.response(["a", "b"], eps_infinity=2, eps_first=1)
    again = "A respondent who answers again spends all of it again: a product keeps no permanent responses"
    assert any(sentence.startswith(again) for sentence in Product({"x": twice, "y": COIN}).sentences())
    assert not any(sentence.startswith(again) for sentence in Product({"x": COIN, "y": COIN}).sentences())
