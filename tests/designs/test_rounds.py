"""Privacy loss of all reports of a respondent whose answer changes and returns: every history and report sequence.

The law of a whole sequence of reports is enumerated in whole numbers, with a common denominator, from the two tables
alone. Two histories are compared over all sequences at once.
"""

from __future__ import annotations

import itertools
import math
import textwrap
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from references import ROOT
from tables import exact
from warner import RandomizedResponse
from warner.designs import Memo, Memoized
from warner.designs.hashing import LocalHashing
from warner.designs.unary import UnaryEncoding

if TYPE_CHECKING:
    from pathlib import Path

History = tuple[int, ...]
Table = Any  # an array of whole numbers without limit


def pattern(history: History) -> tuple[int, ...]:
    """Number the keys in the order in which they come: equal where and only where the keys are."""
    return tuple(list(dict.fromkeys(history)).index(key) for key in history)


def changes(history: History) -> tuple[bool, ...]:
    """Return the times at which the key changes."""
    return tuple(now != before for before, now in itertools.pairwise(history))


def whole(table: list[list[Fraction]]) -> Table:
    """Write a table of probabilities in whole numbers, over one denominator."""
    denominator = math.lcm(*(p.denominator for row in table for p in row))
    return np.array([[int(p * denominator) for p in row] for row in table], dtype=object)


def bits_table(design: Any, inputs: list[tuple[int, ...]]) -> list[list[Fraction]]:
    """Return the probability of each row of bits, if a 1 of the input becomes 1 with p and a 0 with q."""
    rows = list(itertools.product((0, 1), repeat=design.k))

    def of_bit(given: int, bit: int) -> Fraction:
        p: Fraction = design.one if given else design.zero
        return p if bit else 1 - p

    return [[math.prod(map(of_bit, given, row), start=Fraction(1)) for row in rows] for given in inputs]


def tables(design: Memoized) -> tuple[Table, Table]:
    """Return both rounds: permanent responses after each key, and reports after each permanent response."""
    if isinstance(design.first, UnaryEncoding):
        k = design.k
        answers = [tuple(int(i == answer) for i in range(k)) for answer in range(k)]
        first = bits_table(design.first, answers)
        return whole(first), whole(bits_table(design.second, list(itertools.product((0, 1), repeat=k))))
    first_odds: Any = design.first
    keys = RandomizedResponse(design.rounds.keys, odds=first_odds.odds)  # of hashing, the hash values
    return whole(exact(keys)), whole(exact(design.second))


def law(first: Table, second: Table, history: History) -> Table:
    """Return, for all sequences of reports, what is in proportion to their probability: an array with an axis for each.

    A permanent response is drawn for every key, used or not, so that the denominator is the same for all histories.
    """
    n, (keys, responses), reports = len(history), first.shape, second.shape[1]
    total = np.ones((reports,) * n, dtype=object)
    for key in range(keys):
        times = [t for t in range(n) if history[t] == key]
        after = sum(
            first[key, r]
            * math.prod((second[r].reshape([-1 if t == axis else 1 for axis in range(n)]) for t in times), start=1)
            for r in range(responses)
        )
        total = total * after
    return total


def largest_ratio(one: Table, other: Table) -> Fraction:
    """Return the largest ratio of the probabilities of a report sequence under two histories."""
    quotients: Table = np.maximum(one, other) / np.minimum(one, other)
    best = int(np.argmax(quotients))
    pair = sorted((one.flat[best], other.flat[best]))
    return Fraction(pair[1], pair[0])


def within(one: Table, other: Table, bound: Fraction) -> bool:
    """Return whether no sequence of reports is likelier by more than the bound, exactly."""
    high, low = bound.as_integer_ratio()
    return bool((one * low <= other * high).all() and (other * low <= one * high).all())


NEARLY_BARE = (60, 1)  # a second round that hides little, so that three or four reports show what many would
DESIGNS = {
    "response": (Memoized(RandomizedResponse(3, odds=(2, 1)), RandomizedResponse(3, odds=NEARLY_BARE)), 4),
    "four answers": (Memoized(RandomizedResponse(4, odds=(3, 2)), RandomizedResponse(4, odds=NEARLY_BARE)), 3),
    "unary": (Memoized(UnaryEncoding.optimal(3, odds=(2, 1)), UnaryEncoding(3, p="30/31", q="1/31")), 3),
    "rappor": (Memoized.rappor(3, f="3/4", p="1/20", q="19/20"), 3),
    "hashing": (Memoized(LocalHashing(9, odds=(2, 1), field=3), RandomizedResponse(3, odds=NEARLY_BARE)), 4),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_the_bound_holds_for_equal_patterns_and_not_for_equal_times_of_change(name: str) -> None:
    design, n = DESIGNS[name]
    first, second = tables(design)
    histories = list(itertools.product(range(design.rounds.keys), repeat=n))
    laws = {history: law(first, second, history) for history in histories}
    assert len({int(values.sum()) for values in laws.values()}) == 1  # one denominator
    forever = Fraction(*reversed(design.first.ratio))
    closest, broken = Fraction(0), set()
    for one, other in itertools.combinations(histories, 2):
        if changes(one) != changes(other):
            continue
        ratio, used = largest_ratio(laws[one], laws[other]), max(len(set(one)), len(set(other)))
        if pattern(one) == pattern(other):
            pairs = set(zip(one, other, strict=True))
            differ = sum(key != its for key, its in pairs)
            assert within(laws[one], laws[other], forever**differ)
            assert differ <= used
            closest = max(closest, ratio / forever**differ)
        elif ratio > forever**used:
            broken.add((one, other))
    assert closest > Fraction(4, 5)  # nearly all of it is spent: no smaller bound could be printed
    assert any(pattern(one)[:3] == (0, 1, 0) and pattern(other)[:3] == (0, 1, 2) for one, other in broken)


def test_many_rounds_of_returns_exceed_any_bound_while_equal_patterns_keep_theirs() -> None:
    # ABABAB against ABCABC, designs as they are made from their epsilons: 16.7 and 14.5, where 6 and 3 were printed.
    for eps_infinity, eps_first, exceeded in ((2, "1.9", 16.6), (1, "0.95", 14.4)):
        design = Memoized.response(3, eps_infinity=eps_infinity, eps_first=eps_first)
        first, second = (np.array(exact(part), dtype=np.float64) for part in (_keys(design), design.second))
        laws = [law(first, second, tuple(map("ABC".index, text))) for text in ("ABABAB", "ABCABC", "BCBCBC")]
        returns, none, same = (values.astype(np.float64) for values in laws)
        assert np.log(np.maximum(returns / none, none / returns).max()) > exceeded > 3 * eps_infinity
        assert np.log(np.maximum(returns / same, same / returns).max()) <= 2 * eps_infinity + 1e-9


def _keys(design: Memoized) -> RandomizedResponse:
    first: Any = design.first
    return RandomizedResponse(design.rounds.keys, odds=first.odds)


def test_under_hashing_equal_patterns_of_answers_do_not_suffice_but_an_unchanged_answer_does() -> None:
    # All functions, each as likely, and told by every report: one bound must hold under each of them.
    design = Memoized(LocalHashing(4, odds=(2, 1), field=2), RandomizedResponse(2, odds=NEARLY_BARE))
    first, second = tables(design)
    forever = Fraction(2)

    def ratio(one: History, other: History) -> Fraction:
        hashed = [
            [tuple(design.rounds.keyed(np.array(h), np.full(len(h), function)).tolist()) for h in (one, other)]
            for function in range(design.rounds.functions)
        ]
        return max(largest_ratio(*(law(first, second, keys) for keys in pair)) for pair in hashed)

    for one, other in itertools.combinations(range(4), 2):
        assert ratio((one,) * 4, (other,) * 4) <= forever
    changing = itertools.combinations(itertools.permutations(range(4), 2), 2)
    worst = max(ratio(one * 2, other * 2) for one, other in changing)
    assert worst > forever**2
    assert "even histories with the same pattern of answers are distinguishable" in " ".join(design.in_words().split())


def test_any_two_histories_are_told_apart_by_the_second_round_at_most_for_each_report() -> None:
    design, n = DESIGNS["response"]
    first, second = tables(design)
    histories = list(itertools.product(range(3), repeat=n))
    laws = {history: law(first, second, history) for history in histories}
    each = Fraction(*NEARLY_BARE)
    for one, other in itertools.combinations(histories, 2):
        assert largest_ratio(laws[one], laws[other]) <= each**n


@pytest.mark.parametrize("name", DESIGNS)
def test_the_relation_is_the_same_at_every_door(name: str, tmp_path: Path) -> None:
    design, _ = DESIGNS[name]
    key = "hash value" if name == "hashing" else "answer"
    relation = f"against any other history with the same pattern of equal and different {key}s"
    words = " ".join(design.in_words().split())
    assert f"{relation}." in words
    assert "Not protected: this pattern, which shows that the answer changed, when, and that an earlier" in words
    memo = Memo.create(tmp_path / "memo.json", design)
    design.report([0, 1, 0, 1], memo)
    spent = memo.spent()
    assert str(spent).endswith(relation)
    assert spent.epsilon == pytest.approx(spent.keys * design.eps_infinity, rel=1e-15)
    function = memo.read().function
    assert spent.keys == len(set(design.rounds.keyed(np.array([0, 1]), np.full(2, function)).tolist()))


def test_no_page_promises_more() -> None:
    texts = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("src/warner/**/*.py"), *ROOT.glob("src/warner/service/web/*")]
    for path in [*texts, ROOT / "README.md"]:
        text = " ".join(textwrap.dedent(path.read_text("utf-8")).split())
        assert "stays and changes at the same times" not in text, path
        assert "stay and change at the same times" not in text, path
        assert "change at the same times" not in text.replace("that they change at the same times", ""), path
