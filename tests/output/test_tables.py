"""Tables by group: which group a row belongs to, and which answer, can be read whatever they are called.

It tests text.py as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from warner import RandomizedResponse, Tally, estimate, tally
from warner.text import told_apart

if TYPE_CHECKING:
    from pathlib import Path

ANSWERS = RandomizedResponse(["never", "once", "often", "always"], odds=(6, 1))
RURAL, URBAN = "Mecklenburg-Vorpommern (ländlicher Raum, ohne Städte)", "Mecklenburg-Vorpommern (städtischer Raum)"
REGIONS = Tally(
    ANSWERS, [[400, 350, 250, 200], [40, 30, 30, 25]], by=("region", "week"), groups=((RURAL, 1), (URBAN, 0))
)
WEEKS = Tally(
    ANSWERS, [[400 + week, 350, 250, 200] for week in range(4)], by=("week",), groups=((1,), (2,), (3,), (4,))
)


def test_a_long_group_leaves_the_answer_readable_and_has_its_name_at_the_head() -> None:
    lines = estimate(REGIONS).text().splitlines()
    assert lines[1].split()[:3] == ["region", "week", "value"]
    rows = lines[2:10]
    assert len({row.split("  ")[0] for row in rows}) == 2
    assert all(row.split("  ")[0].startswith("Mecklenburg-Vorpommern (") for row in rows)
    for answer in ANSWERS.domain:
        assert sum(f"  {answer} " in row for row in rows) == 2
    assert max(map(len, (row.split("  ")[0] for row in rows))) == 40


def test_every_form_of_the_table_has_columns_for_group_and_answer(tmp_path: Path) -> None:
    result = estimate(REGIONS)
    assert result.to_markdown().splitlines()[2].startswith("| region | week | value |")
    assert "region & week & value &" in result.to_latex()
    for page in (result.to_html(), result._repr_html_()):
        assert "region</th>" in page
        assert RURAL in page  # a page has space
    result.save_page(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"<td class='text'>{RURAL}</td><td class='text'>1</td><td class='text'>never</td>" in page
    assert "400 of 1,200" in page


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_rows_are_those_of_each_group(rows: int) -> None:
    text = estimate(WEEKS).text(rows=rows)
    shown = [line.split()[0] for line in text.splitlines()[2 : 2 + 4 * rows]]
    assert shown == [str(week) for week in (1, 2, 3, 4) for _ in range(rows)]
    hidden = 4 - rows
    assert f"... and {hidden} more answer{'s' * (hidden > 1)} in each group" in text


def test_many_groups_are_not_all_shown() -> None:
    groups = tuple((number,) for number in range(1000))
    text = estimate(Tally(ANSWERS, [[40, 35, 25, 16]] * 1000, by=("school",), groups=groups)).text(rows=2)
    assert len(text.splitlines()) == 2 + 200 + 1
    assert text.endswith("... and 2 more answers in each group, 900 more groups.")
    two = RandomizedResponse(["yes", "no"], odds=(3, 1))
    one_row_each = estimate(Tally(two, [[40, 60]] * 1000, by=("school",), groups=groups))
    for rows, shown in ((1, 200), (30, 200), (900, 900)):
        text = one_row_each.text(rows=rows)
        assert f"... and {1000 - shown} more groups" in text
        assert len(text.splitlines()) == 2 + shown + 2


def test_a_group_without_reports_has_one_row() -> None:
    text = estimate(Tally(ANSWERS, [[40, 35, 25, 16], [0] * 4], by=("g",), groups=(("a",), ("b",)))).text()
    assert [line.split() for line in text.splitlines() if line.startswith("b")] == [
        ["b", "no", "reports", "0", "of", "0"]
    ]


def test_weeks_in_a_text_file_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    lines = [f"{week},{answer}" for week in (10, 9, 1, 2, 11) for answer in ANSWERS.domain]
    (tmp_path / "reports.csv").write_text("\n".join(["week,answer", *lines]), encoding="utf-8")
    counted = tally(tmp_path / "reports.csv", ANSWERS, column="answer", by="week")
    assert [group[0] for group in counted.groups] == ["1", "2", "9", "10", "11"]


@pytest.mark.parametrize(
    "texts",
    [
        ["short", "x" * 50],
        [f"{'a' * 60}{end}" for end in "xyz"],
        [f"{start}{'a' * 60}" for start in "xyz"],
        [f"{'a' * 60}{middle}{'b' * 60}" for middle in ("x", "y")],
    ],
)
def test_texts_that_differ_still_do_when_they_are_cut(texts: list[str]) -> None:
    cut = told_apart(texts, 40)
    assert len(set(cut)) == len(set(texts))
    assert all(len(text) <= 40 for text in cut)
    assert told_apart([], 40) == []
