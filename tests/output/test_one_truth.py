"""Intervals are called exact or approximate consistently in text, JSON, tables and pages."""

from __future__ import annotations

import json
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
from matplotlib.figure import Figure

from cases import COIN
from warner import Channel, RandomizedResponse, SubsetSelection, Tally, estimate, pool, surveys
from warner.results import typeset

if TYPE_CHECKING:
    from pathlib import Path

    from warner import Estimate, Pool

LINEAR = Channel([["1/2", "3/8", "1/8"], ["1/4", "1/2", "1/4"], ["1/8", "1/4", "5/8"]], 3, 3)
# Answers 1 and 2 lead to report 0 equally often, so its number is binomial in the share of answer 0, and no other is.
MIXED = Channel([["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/4", "1/8", "5/8"]], 3, 3)
THREE = RandomizedResponse(3, odds=(3, 1))
NAMES = {
    "clopper_pearson": "Clopper and Pearson",
    "exact": "by sums of binomial counts",
    "wilson": "Wilson",
    "score": "the score interval",
    "linear": "linear combination",
    "anytime": "mixture martingale",
}


def groups(*rows: list[int]) -> Tally:
    return Tally(THREE, list(rows), by=("region",), groups=tuple((f"region {i}",) for i in range(len(rows))))


REALISED: dict[str, Any] = {"target": "realised"}
AT_ONCE: dict[str, Any] = {"simultaneous": True}
ANYTIME: dict[str, Any] = {"anytime": True}
CASES: list[tuple[str, Tally | Pool, dict[str, Any], set[str], bool]] = [
    # what, reports, options, methods, approximate
    ("randomized response", Tally(COIN, [40, 60]), {}, {"clopper_pearson"}, False),
    ("another level", Tally(COIN, [40, 60]), {"level": 0.8}, {"clopper_pearson"}, False),
    ("all at once", Tally(THREE, [400, 350, 250]), AT_ONCE, {"clopper_pearson"}, False),
    ("no noise", Tally(RandomizedResponse(2, odds=(1, 0)), [40, 60]), {}, {"clopper_pearson"}, False),
    ("weights", Tally(COIN, [40.5, 60.25], squares=120.0), {}, {"clopper_pearson"}, True),
    ("these very people", Tally(COIN, [400, 600]), REALISED, {"exact"}, False),
    ("a few of them", Tally(COIN, [4, 6]), REALISED, {"exact"}, False),
    ("very many of them", Tally(COIN, [400_000, 600_000]), REALISED, {"score"}, True),
    (
        "very many of them, and hardly any noise",
        Tally(RandomizedResponse(2, odds=(10**12, 1)), [3 * 10**15, 5 * 10**15]),
        REALISED,
        {"exact"},
        False,
    ),
    ("these very people, with weights", Tally(COIN, [40.5, 60.25], squares=120.0), REALISED, {"score"}, True),
    ("a few of them, with weights", Tally(COIN, [4.5, 6.25], squares=12.0), REALISED, {"clopper_pearson"}, True),
    ("two answers at once", Tally(COIN, [40, 60]), AT_ONCE, {"clopper_pearson"}, False),
    (
        "far out in the tails",
        Tally(RandomizedResponse(6, odds=(3, 1)), [90, 80, 70, 60, 50, 50]),
        REALISED | AT_ONCE,
        {"exact"},
        False,
    ),
    ("a channel of two reports", Tally(surveys.crosswise("1/4"), [198, 112]), {}, {"clopper_pearson"}, False),
    ("a linear channel", Tally(LINEAR, [330, 330, 340]), {}, {"linear"}, True),
    ("a channel that is both", Tally(MIXED, [330, 330, 340]), {}, {"clopper_pearson", "linear"}, True),
    ("the same, realised", Tally(MIXED, [330, 330, 340]), REALISED, {"exact", "linear"}, True),
    (
        "forced response, realised",
        Tally(surveys.forced_response(truth="1/2", yes="1/3"), [10, 10]),
        REALISED,
        {"exact"},
        False,
    ),
    (
        "sets of answers",
        Tally(SubsetSelection(5, odds=(3, 1), size=2), [500, 450, 400, 350, 300], n=1000),
        {},
        {"clopper_pearson"},
        False,
    ),
    ("groups", groups([400, 350, 250], [40, 30, 30]), {}, {"clopper_pearson"}, False),
    ("any time", Tally(THREE, [400, 350, 250]), ANYTIME | AT_ONCE, {"anytime"}, False),
    ("any time, a channel that is both", Tally(MIXED, [330, 330, 340]), ANYTIME, {"anytime"}, False),
    ("any time, an empty group", groups([400, 350, 250], [0, 0, 0]), ANYTIME, {"anytime"}, False),
    ("an empty group", groups([400, 350, 250], [0, 0, 0]), {}, {"clopper_pearson"}, False),
    ("groups of two kinds", groups([400, 350, 250], [4, 3, 3]), REALISED, {"exact"}, False),
    (
        "groups of two kinds, many and few",
        groups([400_000, 350_000, 250_000], [4, 3, 3]),
        REALISED,
        {"score", "exact"},
        True,
    ),
    (
        "a pool",
        pool([Tally(COIN, [400, 600]), Tally(RandomizedResponse(["yes", "no"], odds=(9, 1)), [340, 660])]),
        {},
        {"exact"},
        False,
    ),
    (
        "a large pool",
        pool([Tally(COIN, [40_000, 60_000]), Tally(RandomizedResponse(["yes", "no"], odds=(9, 1)), [34_000, 66_000])]),
        {},
        {"score"},
        True,
    ),
    (
        "a large pool with hardly any noise, all alike",
        pool(
            [
                Tally(RandomizedResponse(["yes", "no"], odds=(10**7, 1)), [10**5, 0]),
                Tally(RandomizedResponse(["yes", "no"], odds=(10**8, 1)), [10**5, 1]),
            ]
        ),
        {},
        {"exact"},
        False,
    ),
    (
        "a pool with weights",
        pool(
            [
                Tally(COIN, [40.5, 60.25], squares=120.0),
                Tally(RandomizedResponse(["yes", "no"], odds=(9, 1)), [34.25, 66.0], squares=110.0),
            ]
        ),
        {},
        {"exact"},
        True,
    ),
    (
        "a small pool",
        pool([Tally(COIN, [4, 6]), Tally(RandomizedResponse(["yes", "no"], odds=(9, 1)), [3, 7])]),
        {},
        {"exact"},
        False,
    ),
    (
        "a pool with a channel",
        pool([Tally(THREE, [400, 350, 250]), Tally(LINEAR, [359, 407, 234])]),
        {},
        {"linear"},
        True,
    ),
    (
        "a pool of sets",
        pool([Tally(THREE, [400, 350, 250]), Tally(SubsetSelection(3, epsilon=1), [400, 350, 250], n=1000)]),
        {},
        {"exact"},
        False,
    ),
]


def page_text(result: Estimate, folder: Path, options: dict[str, Any]) -> str:
    path = folder / "page.html"
    result.save_page(path, **options)
    return unescape(path.read_text(encoding="utf-8")).replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("tally", "options", "methods", "approximate"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_every_door_tells_the_same_of_the_intervals(
    tally: Tally | Pool, options: dict[str, Any], methods: set[str], approximate: bool, tmp_path: Path
) -> None:
    result = estimate(tally)
    interval = result.interval(**options)
    assert set(interval.methods) == methods
    assert interval.approximate == approximate
    assert interval.text().count("approximate") == approximate

    written = json.loads(result.to_json(**options))
    assert written["interval"] == interval.method
    assert written["approximate"] == approximate
    assert result.text(**options).splitlines()[1].count("approximate") == approximate

    page = page_text(result, tmp_path, options)
    level = f"{100 * interval.confidence.level:g} %"
    assert (f"in about {level} of the repetitions" in page) == approximate
    assert (f"in at least {level} of the repetitions" in page) == (not approximate)
    assert (f"(approximate: the level is about {level})" in page) == approximate
    assert (f"(the level is at least {level})" in page) == (not approximate)
    assert (f"approximate {level}" in page) == approximate  # in the headline, the table and the picture
    for method, name in NAMES.items():
        assert (name in page) == (method in methods)

    ax = result.plot(**options, ax=Figure().subplots())
    legend = ax.get_legend()
    assert legend is not None
    words = " ".join(text.get_text() for text in (*legend.get_texts(), *ax.texts))
    assert words.count("approximate") == approximate

    anytime = bool(options.get("anytime"))
    assert written["anytime"] == interval.to_dict()["anytime"] == anytime
    assert ("any-time" in words) == ("any-time" in interval.text()) == anytime
    said = [text for text in (result.text(**options), page) if "any-time" in text and "however often you look" in text]
    assert len(said) == 2 * anytime


@pytest.mark.parametrize("tally", [c[1] for c in CASES], ids=[c[0] for c in CASES])
def test_a_notebook_tells_the_same_as_the_interval(tally: Tally | Pool) -> None:
    result = estimate(tally)
    approximate = "approximate " * result.interval().approximate
    assert f'<th align="right">{approximate}95 % interval (population)</th>' in result._repr_html_()


def test_a_notebook_marks_shares_outside_and_says_which_estimator_was_taken_and_why() -> None:
    result = estimate(Tally(RandomizedResponse(100, epsilon=3), [100] * 99 + [130]))
    page, shown = result._repr_html_(), typeset(result, rows=20)
    shares = [text for text in shown.columns["share (%)"] if text.endswith("*")]
    assert shares
    for text in (*shares, *shown.notes[-2:]):  # why a share is outside, and why this estimator
        assert text in page
        assert text in " ".join(result.text().split())
