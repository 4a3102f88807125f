"""From a data frame of numeric answers to their means by department and month, in Python and in the shell.

Also of inference/quantities and output/group_plots: the numbers that come first, and their pictures.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from warner import RandomizedResponse, SquareWave, Tally, estimate, estimate_groups, grid, tally
from warner.results import typeset

if TYPE_CHECKING:
    from pathlib import Path

    from cli.shell import Prompt

SALARIES = SquareWave(grid(0, 200_000, 1_000), epsilon=2)
NUMBERS = ["mean", "median", "standard deviation"]
REMEDY = 'method="smooth" (--quantile-method smooth)'


@pytest.fixture(scope="module")
def salaries() -> Any:
    rng = np.random.default_rng(4)
    month, size = np.repeat(np.arange(1, 7), 400), 2_400
    salary = np.round(rng.lognormal(10.8, 0.4, size) * (1 + 0.05 * month) / 1_000).clip(0, 200).astype(np.int64)
    reports = SALARIES.report_form.written(SALARIES.draw(salary, rng.bytes), like=np.dtype(object)).tolist()
    months = [f"2026-{number:02d}" for number in month]
    department = rng.choice(["HR", "IT", "Sales"], size)
    return pd.DataFrame({"salary": reports, "department": department, "month": months})


def axes() -> Any:
    return Figure().subplots()


def test_an_estimate_by_group_leads_with_the_numbers_of_each(salaries: Any) -> None:
    result = estimate(tally(salaries, SALARIES, column="salary", by="department"))
    rows = result.text().partition("method of the interval\n")[2].splitlines()
    assert [row.split()[0] for row in rows[:9]] == ["HR", "IT", "Sales"] * 3
    shown = typeset(result).columns
    assert shown["quantity"] == np.repeat(NUMBERS, 3).tolist()
    assert shown["reports"] == [f"{number:,}" for number in np.tile(result.tally.n, 3)]
    asked = result.mean(), result.median(), result.standard_deviation()
    assert shown["estimate"] == [value for one in asked for value, _ in one.value_texts()]
    for place in (result.text(), result._repr_html_().replace("&quot;", '"')):
        assert "<td>61000</td>" not in place
        assert place.count(REMEDY) == 1
    document = result.to_dict()
    assert document["standard_deviation"] == result.standard_deviation().to_dict()
    assert REMEDY in document["quantiles"][0]["note"]
    assert len(document["values"]) == len(result.table()["value"]) == 3 * 201


def test_many_groups_are_counted_and_the_first_are_shown() -> None:
    counts = [SALARIES.simulate(np.full(201, 1 / 201), 50, rng=np.random.default_rng(seed)) for seed in range(5)]
    result = estimate(Tally(SALARIES, counts, by=("shop",), groups=tuple((number,) for number in range(5))))
    assert "\n... and 2 more groups." in result.text(rows=3)
    assert len(typeset(result, rows=3).columns["shop"]) == 3 * 3
    assert len(typeset(result).columns["shop"]) == 3 * 5


def test_one_line_names_the_narrower_method_where_it_can_be_used(salaries: Any) -> None:
    counted = tally(salaries, SALARIES, column="salary")
    wide: Any
    smooth: Any
    wide, smooth = estimate(counted).median(), estimate(counted).median(method="smooth")
    assert smooth.high - smooth.low < (wide.high - wide.low) / 2
    assert REMEDY in wide.text()
    assert REMEDY in wide.to_dict()["note"]
    assert REMEDY in wide.to_markdown()
    for found in (smooth, estimate(counted).median(target="realised"), estimate(counted).median(anytime=True)):
        assert REMEDY not in found.text()
        assert "note" not in found.to_dict()
    few = Tally(RandomizedResponse([0, 1], truth="3/4"), [5, 5])  # not a fine grid
    assert REMEDY not in estimate(few).median().text()


def test_any_time_results_have_no_standard_deviation(salaries: Any) -> None:
    result = estimate(tally(salaries, SALARIES, column="salary"))
    assert typeset(result, anytime=True).columns["quantity"] == NUMBERS[:2]
    assert "standard_deviation" not in result.to_dict(anytime=True)


def test_means_and_medians_are_drawn_by_group(salaries: Any) -> None:
    result = estimate(tally(salaries, SALARIES, column="salary", by="department"))
    numbers: list[Any] = [result.mean(), result.median(method="smooth"), result.standard_deviation()]
    for number in numbers:
        ax: Any = number.plot(ax=axes())
        assert [tick.get_text() for tick in ax.get_yticklabels()] == ["HR", "IT", "Sales"]
        (points,) = ax.lines
        assert points.get_xdata().tolist() == number.value.tolist()
        ends = np.array([segment[:, 0] for segment in ax.collections[0].get_segments()])
        assert ends.tolist() == np.transpose([number.low, number.high]).tolist()
        assert ax.get_xlabel() == number.name
    drawn: Any = result.plot(ax=axes())  # 201 answers of each group are no picture
    assert drawn.lines[0].get_xdata().tolist() == numbers[0].value.tolist()


def test_means_are_drawn_over_time(salaries: Any) -> None:
    counted = tally(salaries, SALARIES, column="salary", by=["department", "month"])
    mean: Any = estimate(counted, method="mle").mean()
    ax: Any = mean.plot(along="month", ax=axes())
    lines = [line.get_ydata().tolist() for line in ax.lines]
    assert lines == np.reshape(mean.value, (3, 6)).tolist()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["HR", "IT", "Sales"]
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("mean", "month")
    months = [str(moment)[:7] for moment in ax.lines[0].get_xdata()]
    assert months == [f"2026-{number:02d}" for number in range(1, 7)]
    with pytest.raises(ValueError, match=r"along must be a column of numbers, dates, .* but 'department' has no order"):
        mean.plot(along="department")
    with pytest.raises(
        ValueError, match=r"along must name a column of groups \('department', 'month'\), but got 'day'"
    ):
        mean.plot(along="day")


def test_groups_estimated_together_lead_with_their_means(salaries: Any, tmp_path: Path) -> None:
    together: Any = estimate_groups(tally(salaries, SALARIES, column="salary", by="department"))
    mean = together.mean()
    assert typeset(together).columns["mean"] == [value for value, _ in mean.value_texts()]
    assert typeset(together, rows=2).columns["department"] == ["HR", "IT"]
    assert "Partially pooled means of 3 groups by department" in together.text()
    assert len(together.table()["value"]) == 3 * 201
    assert together.plot(ax=axes()).lines[0].get_xdata().tolist() == mean.value.tolist()
    along: Any = estimate_groups(tally(salaries, SALARIES, column="salary", by="month"), along="month")
    assert along.plot(ax=axes()).lines[0].get_ydata().tolist() == along.mean().value.tolist()
    together.save_page(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Means by group" in page
    assert page.count("<td>HR</td>") == 1


def test_a_page_by_group_begins_with_mean_median_and_standard_deviation(salaries: Any, tmp_path: Path) -> None:
    result = estimate(tally(salaries, SALARIES, column="salary", by="department"))
    result.save_page(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    begin = page[: page.index("<figure")]
    for number in (result.mean(), result.median(), result.standard_deviation()):
        assert all(value in begin and ends in begin for value, ends in number.value_texts())


def test_the_shell_leads_with_the_same_numbers(salaries: Any, prompt: Prompt) -> None:
    salaries.to_csv(prompt.folder / "salaries.csv", index=False)
    SALARIES.save(prompt.folder / "wave.json")
    base = ("-c", "salary", "-d", "wave.json", "--by", "department")
    said = prompt.prints("estimate", "salaries.csv", *base, "--plot", "means.png", "--report", "page.html")
    result = estimate(tally(salaries, SALARIES, column="salary", by="department"))
    assert result.text() == said.partition("\n`warner groups`")[0].rstrip("\n")
    assert (prompt.folder / "means.png").stat().st_size > 5_000
    smooth = prompt.prints("estimate", "salaries.csv", *base, "--median", "--quantile-method", "smooth")
    assert result.median(method="smooth").text() in smooth
    found = json.loads(prompt.prints("estimate", "salaries.csv", *base, "--json"))
    assert found["mean"] == result.mean().to_dict()
    grouped = prompt.prints("groups", "salaries.csv", *base, "--plot", "groups.svg", "-o", "means.md")
    assert "Partially pooled means" in grouped
    assert "| HR |" in (prompt.folder / "means.md").read_text()
    assert "Estimated mean by group" in (prompt.folder / "groups.svg").read_text(encoding="utf-8")
