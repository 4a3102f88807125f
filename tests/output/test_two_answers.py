"""Two answers are one share: every text shows that of the first, once; tables for programs keep both.

It tests inference/comparisons.py.
"""

from __future__ import annotations

import json
import re
import warnings
from html import unescape
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.testing import assert_allclose

from warner import RandomizedResponse, Tally, UnaryEncoding, estimate, pool, surveys
from warner.inference.comparisons import rows_mirrored
from warner.results import typeset
from warner.typesetting import share_decimals

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from warner import Estimate, Pool

FORCED = surveys.forced_response(truth="3/4", yes="1/6")
OTHERS = RandomizedResponse(["has <cheated>", "has not"], truth="3/4")
BOTH = UnaryEncoding(["yes", "no"], epsilon=1)  # a report may support both answers
REGIONS = (("north",), ("south",), ("nowhere",))
CASES: dict[str, tuple[Tally | Pool, str, str]] = {
    "forced response": (Tally(FORCED, [213, 556]), "yes", "no"),
    "yes is the more common one": (Tally(FORCED, [600, 169]), "yes", "no"),
    "as many as not": (Tally(RandomizedResponse(["yes", "no"], truth="3/4"), [50, 50]), "yes", "no"),
    "other labels": (Tally(OTHERS, [420, 580]), "has <cheated>", "has not"),
    "nobody": (Tally(RandomizedResponse(["yes", "no"], truth="3/4"), [20, 80]), "yes", "no"),
    "numbers": (Tally(RandomizedResponse([1, 0], truth="3/4"), [42, 58]), "1", "0"),
    "reports with other names": (Tally(surveys.crosswise("1/4"), [198, 112]), "yes", "no"),
    "several reports": (Tally(surveys.kuk("4/5", "3/10", 2), [40, 35, 25]), "yes", "no"),
    "weights": (Tally(FORCED, [213.5, 556.25], squares=900.0), "yes", "no"),
    "a pool": (pool([Tally(FORCED, [213, 556]), Tally(surveys.warner("3/4"), [40, 60])]), "yes", "no"),
}
OPTIONS: list[dict[str, Any]] = [{"simultaneous": True}, {"target": "realised", "level": 0.8}, {"anytime": True}]


def grouped() -> Estimate:
    return estimate(Tally(FORCED, [[74, 248], [1088, 240], [0, 0]], by=("region",), groups=REGIONS))


def page_of(result: Estimate, folder: Path, **options: Any) -> str:
    path = folder / "page.html"
    result.save_page(path, **options)
    return path.read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")


def words(page: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "", re.sub(r"<(style|script|svg).*?</\1>", "", page, flags=re.DOTALL)))


def bars(ax: Axes) -> list[float]:
    return [bar.get_width() for bar in ax.patches if isinstance(bar, Rectangle)]


def ticks(ax: Axes) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


@pytest.mark.parametrize(
    ("tally", "first", "second", "options"),
    [(*case, {}) for case in CASES.values()] + [(*CASES["forced response"], options) for options in OPTIONS],
    ids=[*CASES, *map(str, OPTIONS)],
)
def test_every_door_tells_the_first_answer_once(
    tally: Tally | Pool, first: str, second: str, options: dict[str, Any], tmp_path: Path
) -> None:
    result = estimate(tally)
    table = result.table(**options)
    share, low, high = (100 * table[name][0] for name in ("share", "low", "high"))

    lines = result.text(**options).splitlines()
    assert lines[2].lstrip().startswith(first)
    assert lines[3] == f"The share of {tally.domain[1]!r} is 100 % minus that of {tally.domain[0]!r}."
    assert not any(line.startswith(second + " ") for line in lines)

    printed = typeset(result, **options).columns
    decimals = share_decimals(table["low"][:1], table["high"][:1])
    assert printed["value"] == [first]
    assert printed["share (%)"] == [f"{share:.{decimals}f}{'*' * int(table['outside'][0])}"]
    assert list(printed.values())[-1] == [f"{low:.{decimals}f} to {high:.{decimals}f}"]
    for texts in printed.values():
        assert len(texts) == 1
        assert texts[0] in lines[2]

    page = page_of(result, tmp_path, **options)
    text = words(page)
    assert f"For an estimated {share:.{decimals}f} % of people, the true answer is {first} (" in text
    assert f"interval: {low:.{decimals}f} % to {high:.{decimals}f} %)." in text
    assert f"For the other {100 - share:.{decimals}f} %, it is {second}." in text
    assert len(re.findall("<tr>", page)) == 2  # the head, and one row
    assert f"the share of {second} is 100 % minus that of {first}, and its interval is the mirror image" in text
    assert f"share of {tally.domain[0]!r}" in unescape(page)  # the caption of the picture
    assert not re.search(
        "leading answer|Next comes|tied|overlap|one answer at a time|for all answers|at once|sort by", text
    )

    ax = result.plot(**options, ax=Figure().subplots())
    assert ticks(ax) == [first]
    assert_allclose(bars(ax)[0], share)
    assert len(bars(ax)) == (2 if "reports" in table else 1)


def test_programs_get_both_rows() -> None:
    result = estimate(Tally(FORCED, [213, 556]))
    assert [row["value"] for row in json.loads(result.to_json())["values"]] == ["yes", "no"]
    assert result.table()["value"].tolist() == ["yes", "no"]
    assert result.to_frame("pandas")["value"].tolist() == ["yes", "no"]


def test_the_number_of_all_reports_stays_known() -> None:
    # Two rows would sum to it; one row has it beside its own.
    result = estimate(Tally(FORCED, [513, 1256]))
    assert "513 of 1,769" in result.text()
    assert typeset(result).columns["reports"] == ["513 of 1,769"]
    assert "| --- | ---: | ---: | ---: |" in result.to_markdown()
    assert '<td align="right">513 of 1,769</td>' in result._repr_html_()
    assert "The share of &#x27;no&#x27; is 100 % minus that of &#x27;yes&#x27;" in result._repr_html_()


def test_the_reports_are_beside_it_on_the_page(tmp_path: Path) -> None:
    page = page_of(estimate(Tally(FORCED, [513, 1256])), tmp_path)
    assert "<td data-value='513'>513 of 1,769</td>" in page
    assert "reports is how often the answer was reported, of how many reports." in words(page)


def test_the_bar_of_a_single_share_is_a_part_of_the_whole() -> None:
    # 40 of 100 at truth 3/4: (0.40 - 0.25) / (0.75 - 0.25) = 0.30, and 0.30 * 24 = 7.2
    line = estimate(Tally(RandomizedResponse(["yes", "no"], truth="3/4"), [40, 60])).text().splitlines()[2]
    assert line.count("█") == 7


def test_groups_have_one_row_each(tmp_path: Path) -> None:
    result = grouped()
    shares = [f"{100 * share:.2f}" for share in result.shares[:2, 0]]
    lines, printed = result.text().splitlines(), typeset(result).columns
    assert [line.split()[:2] for line in lines[1:4]] == [["region", "value"], ["north", "yes"], ["south", "yes"]]
    assert lines[4].split() == ["nowhere", "no", "reports", "0", "of", "0"]
    assert printed["region"] == ["north", "south", "nowhere"]
    assert printed["value"] == ["yes", "yes", "no reports"]
    assert printed["reports"][0] == "74 of 322"
    assert printed["share (%)"][2] == ""

    page = page_of(result, tmp_path)
    text = words(page)
    assert "Estimated share of people whose true answer is yes, with its 95 % interval:" in text
    lows, highs = (100 * result.table()[end][::2] for end in ("low", "high"))
    for place, name in enumerate(("north", "south")):
        assert f"{name}: {shares[place]} % ({lows[place]:.2f} % to {highs[place]:.2f} %)" in text
    assert "nowhere: no reports" in text
    assert len(re.findall("<tr>", page)) == 4
    assert "one row for each group is enough" in text
    assert "The intervals hold for one group at a time" in text
    assert "and a group picked for its large share" in text
    assert "Click a column's name to sort by it." in text


def test_a_picture_of_groups_has_a_bar_for_each(tmp_path: Path) -> None:
    result = grouped()
    ax = result.plot(ax=Figure().subplots())
    assert ticks(ax) == ["north", "south", "nowhere (no reports)"]
    assert_allclose(bars(ax)[:2], 100 * result.shares[:2, 0])
    assert_allclose(bars(ax)[3:5], [100 * 74 / 322, 100 * 1088 / 1328])
    assert ax.get_xlabel() == "share of respondents with the answer 'yes' (%)"
    assert legend_texts(ax) == ["estimated", "95 % interval (population)", "reported, as randomized"]
    ax = result.plot(rows=2, ax=Figure().subplots())
    assert ticks(ax) == ["north", "south"]
    assert "the 2 of 3 groups with the most reports" in " ".join(text.get_text() for text in ax.texts)
    result.save_plot(tmp_path / "picture.png")


def legend_texts(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def test_a_dollar_in_an_answer_starts_no_formula() -> None:
    design = RandomizedResponse(["$x$", "no"], truth="3/4")
    result = estimate(Tally(design, [[40, 60], [50, 50]], by=("region",), groups=REGIONS[:2]))
    assert not result.plot(ax=Figure().subplots()).xaxis.label.get_parse_math()


def test_two_readings_of_one_share_are_both_shown_the_first_one_first(tmp_path: Path) -> None:
    result = estimate(Tally(BOTH, [120, 150], n=360), method="inv")
    assert not rows_mirrored(result.table(), 2)
    assert [line.split()[0] for line in result.text().splitlines()[2:4]] == ["yes", "no"]
    text = words(page_of(result, tmp_path))
    assert f"For an estimated {100 * result.shares[0]:.1f} % of people, the true answer is yes (" in text
    assert f"The other answer is no with an estimated {100 * result.shares[1]:.1f} % of people (" in text
    assert "mirror image" not in text
    assert ticks(result.plot(ax=Figure().subplots())) == ["yes", "no"]
    several = estimate(Tally(BOTH, [[120, 150], [125, 145]], n=[360, 360], by=("region",), groups=REGIONS[:2]))
    assert ticks(several.plot(ax=Figure().subplots())) == ["yes", "no"]


@pytest.mark.filterwarnings("ignore:the reports do not seem to fit:UserWarning")
def test_of_a_share_below_zero_nothing_is_said_of_the_rest(tmp_path: Path) -> None:
    result = estimate(Tally(RandomizedResponse(["yes", "no"], truth="3/4"), [5, 95]), method="inv")
    text = words(page_of(result, tmp_path))
    assert "For an estimated -40.00 % of people, the true answer is yes (95 % interval: " in text
    assert "see * below)" in text
    assert "For the other" not in text
    assert "many rare ones" not in text


def test_three_answers_have_all_their_rows(tmp_path: Path) -> None:
    result = estimate(Tally(RandomizedResponse(["never", "once", "often"], truth="3/4"), [250, 350, 400]))
    assert [line.split()[0] for line in result.text().splitlines()[2:]] == ["often", "once", "never"]
    assert "The leading answer is often with an estimated" in words(page_of(result, tmp_path))
    assert typeset(result).columns["reports"] == ["250", "350", "400"]


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("target", ["population", "realised"])
@pytest.mark.parametrize("odds", [(3, 1), (9, 1), (999, 1), (1, 0)])
def test_rows_of_weighted_answers_are_mirror_images(odds: tuple[int, int], target: str, level: float) -> None:
    design = RandomizedResponse(["yes", "no"], odds=odds)
    rng = np.random.default_rng(1)
    for share in (0.0, 0.02, 0.5, 0.9, 1.0):  # at both ends the rule for counts beyond the noise takes hold
        weights = rng.lognormal(size=30)
        yes = rng.random(30) < share
        tally = Tally(design, [weights[yes].sum(), weights[~yes].sum()], squares=(weights**2).sum())
        for collected in (tally, pool([tally, Tally(surveys.warner("3/4"), [3.3, 4.4], squares=8.5)])):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                table = estimate(collected).table(level, target=target)
            assert rows_mirrored(table, 2)
            assert_allclose(table["low"] + table["high"][::-1], 1, atol=1e-6)
            assert_allclose(table["se"][0], table["se"][1], rtol=1e-9)
