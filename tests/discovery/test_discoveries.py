"""`discover` from every entry point, and the input that it rejects."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import warner
from warner import Discovery, OpenDomain, OpenTally, discover
from warner.discovery.prefix_search import fewest_crafted, search
from warner.inference.binomial import at_least, binomial_limits
from warner.results import typeset

WORDS = OpenDomain(epsilon=4, letters="a-z()", length=8, step=3)
SHARES = {"the": 0.3, "(other)": 0.2, "of": 0.15, "Größe": 0.1, "rare": 0.012}


@cache
def survey(seed: int = 1, n: int = 20_000) -> OpenTally:
    """Draw reports of people of whom some hold a text that looks like other, and some one that cannot be written."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("abcdefghij"))
    everybody = ["".join(word) for word in letters[rng.integers(10, size=(n, 8))]]
    held = rng.choice(len(SHARES) + 1, p=[*SHARES.values(), 1 - sum(SHARES.values())], size=n)
    words = [[*SHARES, own][place] for place, own in zip(held.tolist(), everybody, strict=True)]
    return OpenTally.of_rows(WORDS, WORDS.draw(WORDS.values.encoded(words).blocks, rng.bytes))


@cache
def found() -> Discovery:
    return discover(survey())


def test_frequent_values_are_found_with_their_shares() -> None:
    table = found().table()
    assert list(table) == ["value", "other", "support", "share", "low", "high", "p", "adjusted"]
    assert set(zip(table["value"].tolist(), table["other"].tolist(), strict=True)) == {
        ("the", False),
        ("(other)", False),
        ("of", False),
        ("(other)", True),
    }
    truth = {("the", False): 0.3, ("(other)", False): 0.2, ("of", False): 0.15, ("(other)", True): 0.1}
    for value, other, low, high in zip(
        *(table[name].tolist() for name in ("value", "other", "low", "high")), strict=True
    ):
        assert low <= truth[value, other] <= high
    assert (np.diff(table["support"]) <= 0).all()


def test_numbers_are_those_of_the_last_level() -> None:
    (part,) = found().findings
    n = int(survey().level_sizes[-1])
    assert_allclose(part.p, at_least(part.support, n, WORDS.q), rtol=1e-12)
    assert (part.adjusted >= part.p).all()
    assert (part.adjusted <= 0.05).all()
    assert (part.support >= part.critical).all()
    # Far above the critical count, the upper limit is the usual one, and nearly the lower.
    low, high = binomial_limits(part.support, n, 0.025)
    assert_allclose(part.high, (high - WORDS.q) / WORDS.gain, atol=1e-9)
    assert_allclose(part.low[0], (low[0] - WORDS.q) / WORDS.gain, atol=1e-9)


def test_a_text_that_looks_like_other_is_told_apart_at_every_door() -> None:
    text = found().text()
    assert "\n(other)  " in text
    assert "\n'(other)'" in text
    rows = found().to_dict()["values"]
    assert [row["other"] for row in rows if row["value"] == "(other)"] in ([True, False], [False, True])
    assert {"(other)", "'(other)'"} < set(typeset(found()).columns["value"])


def test_tables_for_papers_show_control_characters_as_escapes() -> None:
    design = OpenDomain(epsilon=6, bytes=4, normalize=())
    blocks = design.values.encoded(["a\nb|"] * 1000).blocks
    table = discover(warner.tally(design.draw(blocks, np.random.default_rng(2).bytes), design, codes=True))
    assert typeset(table).columns["value"] == ["a\\nb|"]


def test_the_text_says_what_it_rests_on() -> None:
    text = found().text()
    assert text.startswith("Detected values\n")
    assert "N = 20,000 reports" in text
    assert "The probability of naming any falsely is at most 5 %." in text
    assert "Intervals hold given that the value was found." in text
    assert f"A share of {100 * found().smallest_share:.2f} % would be found with a probability of 80 %" in text
    assert f"if its share is below {100 * found().lower_bound:.2f} %" in text
    assert "Every 1 % of fake reports can have moved a share by up to" in text
    assert repr(found()) == text


def test_json_has_the_same_names_and_numbers() -> None:
    document = json.loads(found().to_json())
    assert document["format"] == "warner discovery"
    assert set(document["values"][0]) == {"value", "other", "support", "share", "low", "high", "p", "adjusted"}
    assert [row["share"] for row in document["values"]] == found().table()["share"].tolist()
    assert document["smallest_share"] == found().smallest_share
    assert document["lower_bound"] == found().lower_bound < document["smallest_share"]
    assert document["reports"] == 20_000
    assert document["level_sizes"] == survey().level_sizes.tolist()
    assert set(document["candidates"][0]) == {"value", "support", "share", "other"}


def test_candidates_were_not_found_and_are_no_result() -> None:
    named = {(one.value, one.support) for one in found().candidates}
    assert not named & set(zip(found().values, found().findings[0].support.tolist(), strict=True))
    assert len(found().candidates) == 32


def test_fakes_move_no_share_by_more_than_is_said() -> None:
    # An attacker takes the last level, and replaces reports by some that do the opposite.
    (part,) = found().findings
    rows, _ = survey().rows
    n, fakes = int(survey().level_sizes[-1]), len(rows) // 100
    count = int(WORDS.closed(["the", "of"]).law.count(rows).counts[0])
    before, after = (((c / n) - WORDS.q) / WORDS.gain for c in (count, count + fakes))
    assert_allclose(after - before, part.moved, rtol=1e-9)
    assert found().to_dict()["moved"] == part.moved


def appears(word: str, crafted: tuple[int, ...], seed: int, expected: list[str] | None = None) -> bool:
    """Replace reports by crafted reports of these levels, and return whether the word is found."""
    rng, (rows, _) = np.random.default_rng(seed), survey().rows
    certain = OpenDomain(odds=(10**6, 1), letters="a-z()", length=8, step=3, field=WORDS.field)
    replaced = [rng.choice(np.flatnonzero(rows[:, 0] == level), n, replace=False) for level, n in enumerate(crafted, 1)]
    fakes: list[Any] = []
    while any(sum(row[0] == level for row in fakes) < n for level, n in enumerate(crafted, 1)):
        drawn = certain.draw(certain.values.encoded([word] * 1000).blocks, rng.bytes)
        fakes = [*fakes, *drawn.tolist()]
    chosen = [[row for row in fakes if row[0] == level][:n] for level, n in enumerate(crafted, 1)]
    kept = np.delete(rows, np.concatenate(replaced), axis=0)
    mixed = OpenTally.of_rows(WORDS, np.concatenate([kept, np.array([row for part in chosen for row in part])]))
    return word in discover(mixed, expected=expected).values


def random_word(seed: int, letters: int) -> str:
    return "".join(np.random.default_rng(900 + seed).choice(list("abcdefghijklmnopqrstuvwxyz"), letters))


# Of 12 values, 80 % appear on average; fewer than 5 with a probability of 6e-4.


def test_so_many_fakes_make_any_value_appear() -> None:
    (part,) = found().findings
    assert part.fakes is not None
    critical = search(WORDS, survey().of_group(0), 0.05, above=0.0, expected=None).critical
    crafted = fewest_crafted(WORDS.q, survey().level_sizes.tolist(), critical)
    assert crafted is not None
    assert sum(crafted) == part.fakes
    assert sum(appears(random_word(seed, 6), crafted, seed) for seed in range(12)) >= 5


def test_fewer_fakes_make_a_value_appear_that_begins_like_a_frequent_one() -> None:
    (part,) = found().findings
    assert part.fakes is not None
    assert part.fakes_continued is not None
    assert part.fakes_continued < part.fakes / 2
    crafted = 0, 0, part.fakes_continued
    assert sum(appears(f"(other{random_word(seed, 2)}", crafted, seed) for seed in range(12)) >= 5


def test_fewer_fakes_make_an_expected_value_appear() -> None:
    (part,) = discover(survey(), expected=["Rare", "the", "never", "rare"]).findings
    assert part.fakes is not None
    assert part.fakes_expected is not None
    # A listed value needs reports of the last level alone. One report as much as (1 - q)/(p - q) respondents, at all
    # levels, would be 230 of them.
    assert part.fakes_expected < part.fakes / 3
    hits = 0
    for seed in range(12):
        word = random_word(seed, 6)
        hits += appears(word, (0, 0, part.fakes_expected), seed, ["Rare", "the", "never", word])
    assert hits >= 5


def test_the_numbers_of_fakes_are_at_every_door() -> None:
    listed = discover(survey(), expected=["Rare", "the", "never", "rare"])
    (part,) = listed.findings
    said = (
        f"About {part.fakes:,} fake reports can make any value appear, {part.fakes_continued:,} one that begins like a "
        f"frequent value, {part.fakes_expected:,} one of the expected values"
    )
    assert said in " ".join(listed.text().split())
    document = listed.to_dict()
    assert [document[name] for name in ("fakes", "fakes_continued", "fakes_expected")] == [
        part.fakes,
        part.fakes_continued,
        part.fakes_expected,
    ]
    assert "expected" not in found().remarks(found().findings[0])[-1]
    assert found().to_dict()["fakes_expected"] is None


def test_tables_for_papers_have_every_value() -> None:
    for printed in (found().to_markdown(), found().to_latex(), found().to_html()):
        assert printed.count("(other)") == 2
        assert len(re.findall(r"(?:'|&#x27;)\(other\)(?:'|&#x27;)", printed)) == 1  # the text that is an answer
    assert "95 % interval" in found().to_markdown()


def test_an_expected_list_finds_smaller_shares() -> None:
    expected = ["Rare", "the", "never", "rare"]
    listed = discover(survey(), expected=expected)
    assert listed.expected == ("never", "rare", "the")
    assert "rare" in listed.values
    assert "rare" not in found().values
    assert "never" not in listed.values
    (part,) = listed.findings
    assert part.smallest_expected is not None
    assert part.smallest_expected < part.smallest_share
    assert listed.lower_bound is None
    assert listed.to_dict()["lower_bound"] is None
    assert "Of the 3 expected values, a share of" in listed.text()
    assert "No protocol" not in listed.text()
    assert (part.other & (part.support > 0)).any()  # other is in the list, too


def test_values_must_exceed_the_limit_that_is_asked_for() -> None:
    frequent = discover(survey(), above=0.14)
    assert set(frequent.values) == {"the", "(other)"}
    assert not frequent.findings[0].other.any()
    assert "Detected values with a share above 14.00 %" in frequent.text()
    assert (frequent.findings[0].p >= found().findings[0].p[: len(frequent.values)]).all()


def test_groups_are_searched_each_on_its_own() -> None:
    parts = [survey(), survey(2, 5000)]
    rows = np.concatenate([part.rows[0] for part in parts])
    place = np.repeat([0, 1], [20_000, 5000])
    tally = OpenTally.of_rows(WORDS, rows, place, by=("city",), groups=(("A",), ("B",)), missing=np.zeros(2, dtype=int))
    both = discover(tally)
    assert both.findings[0].values == found().values
    assert_array_equal(both.findings[0].high, found().findings[0].high)
    assert both.smallest_share.shape == (2,)
    assert both.smallest_share[0] < both.smallest_share[1]
    table = both.table()
    assert next(iter(table)) == "city"
    assert table["city"].tolist() == ["A"] * len(both.findings[0].values) + ["B"] * len(both.findings[1].values)
    assert "at most 5 % in each group" in both.text()
    together = discover(tally, simultaneous=True)
    assert "at most 5 %, in all groups together" in together.text()
    assert (together.findings[0].critical >= both.findings[0].critical).all()
    assert len(together.to_dict()["smallest_share"]) == 2


@pytest.mark.parametrize("simultaneous", [False, True])
def test_an_adjusted_p_value_counts_all_tests_that_share_the_error(simultaneous: bool) -> None:
    # One block of two bits: four values are tested, each with a quarter of the error of its group.
    design = OpenDomain(odds=(3, 1), bits=2, field=5)
    rows = np.array([[1, 0, 0]] * 8 + [[1, 1, 1]] * 8)  # the direction 0 supports all values, the direction 1 the 1
    tally = OpenTally.of_rows(design, rows, np.arange(16) % 2, by=("x",), groups=((1,), (2,)))
    tail = Fraction(1, 5**8)  # all eight reports of a group support the 1
    together = discover(tally, simultaneous=simultaneous, level=0.9)
    for part in together.findings:
        assert part.values[0] == 1
        assert part.adjusted[0] == pytest.approx(float(tail * 4 * (2 if simultaneous else 1)), rel=1e-9)


def test_the_text_shows_the_first_values_of_each_group() -> None:
    rows, _ = survey().rows
    group = np.repeat([0, 1], [len(rows) - 20, 20])
    grouped = discover(OpenTally.of_rows(WORDS, rows, group, by=("x",), groups=((1,), (2,))))
    first, second = map(len, grouped.values)
    assert (first > 1, second) == (True, 0)
    lines = grouped.text(rows=1).splitlines()
    assert lines[2].split()[:2] == ["1", str(grouped.values[0][0])]
    assert lines[3] == f"{first - 1} more value{'s were' if first > 2 else ' was'} found."
    assert len(typeset(grouped).columns["value"]) == len(grouped.table()["value"]) == first
    assert lines[4] == "No value rises above the noise in 2."


def test_a_group_that_is_too_small_finds_nothing() -> None:
    rows, _ = survey().rows
    tally = OpenTally.of_rows(WORDS, rows[:3], np.zeros(3, dtype=int), by=("x",), groups=((1,), (2,)))
    nothing = discover(tally)
    assert nothing.values == [(), ()]
    assert np.isinf(nothing.smallest_share).all()
    assert nothing.text().startswith("Detected values\nNo value rises above the noise in 1, 2.\n")
    assert typeset(nothing).notes[0] == "No value rises above the noise in 1, 2."
    assert "1: Not even a share of 100 %" in nothing.text()
    assert "inf" not in nothing.text()
    assert nothing.to_dict()["values"] == []
    assert nothing.to_dict()["smallest_share"] == [None, None]
    assert nothing.to_frame("pandas").empty


def test_order_and_merging_change_nothing() -> None:
    rows, _ = survey().rows
    halves = [OpenTally.of_rows(WORDS, rows[start::2][::-1]) for start in (0, 1)]
    assert discover(halves[0] + halves[1]).to_json() == found().to_json()


def test_renaming_letters_renames_what_is_found() -> None:
    # With the alphabet in another order, codes differ, and the same answers have other blocks: the same is found.
    other = OpenDomain(epsilon=4, letters="zyxwvutsrqponmlkjihgfedcba()", length=8, step=3)
    rng = np.random.default_rng(5)
    words = np.where(rng.random(20_000) < 0.3, "the", "of").astype(object)
    made = OpenTally.of_rows(other, other.draw(other.values.encoded(words).blocks, rng.bytes))
    assert set(discover(made).values) == {"the", "of"}


def test_whole_numbers_are_found_as_numbers() -> None:
    design = OpenDomain(epsilon=3, bits=48, step=16)
    rng = np.random.default_rng(6)
    people = np.where(rng.random(20_000) < 0.25, 123_456_789_012, rng.integers(2**48, size=20_000))
    tally = warner.tally(design.draw(design.values.encoded(people).blocks, rng.bytes), design, codes=True)
    table = discover(tally).table()
    assert table["value"].tolist() == [123_456_789_012]
    assert "other" not in table


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"level": 1.0}, ValueError, "level must be between"),
        ({"above": 1.0}, ValueError, "above must be a share"),
        ({"above": -0.1}, ValueError, "above must be a share"),
        ({"above": "1 %"}, ValueError, "above must be a share"),
        ({"power": 0}, ValueError, "power must be"),
        ({"power": None}, ValueError, "power must be"),
        ({"expected": "the"}, TypeError, "expected must be a list"),
        ({"expected": []}, ValueError, "at least one value"),
        ({"expected": ["the", "far too long"]}, ValueError, "but got 'far too long'"),
        ({"expected": ["the", "  "]}, ValueError, "but got '  '"),
    ],
)
def test_what_cannot_be_is_one_clear_line(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as refused:
        discover(survey(), **options)
    assert "\n" not in str(refused.value)


def test_a_level_without_reports_is_named() -> None:
    rows, _ = survey().rows
    with pytest.raises(ValueError, match=r"level 1 has none of its 10; collect more"):
        discover(OpenTally.of_rows(WORDS, rows[rows[:, 0] == 2][:10]))


def test_other_tallies_are_refused_with_the_remedy() -> None:
    coin = warner.RandomizedResponse(2, epsilon=1)
    with pytest.raises(TypeError, match=r"warner\.estimate"):
        discover(warner.Tally(coin, [1, 2]))  # type: ignore[arg-type]
    for ask in (warner.estimate, warner.estimate_groups):
        with pytest.raises(TypeError, match=r"warner\.discover finds .*, and tally\.closed\(.*\) looks up"):
            ask(survey())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="reports of one open domain add up"):
        warner.pool([survey(), survey()])  # type: ignore[list-item]


def test_a_domain_beyond_the_largest_double_has_a_text() -> None:
    design = OpenDomain(epsilon=4, bits=1024)
    rows = np.zeros((design.levels, design.levels + 2), dtype=np.int64)
    rows[:, 0] = np.arange(1, design.levels + 1)
    assert "N = 64 reports, about 1.8e308 possible values." in discover(warner.tally(rows, design, codes=True)).text()
