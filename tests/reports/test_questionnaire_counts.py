"""Counts of reports to split questionnaires and to questions with several answers, in every engine."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import warner
from engines import ENGINES, in_engine

if TYPE_CHECKING:
    from pathlib import Path

Y, N = "yes", "no"
OPTIONS: dict[str, list[Any]] = {
    "beer": [Y, None, N, None, Y, None, N, None],
    "wine": [None, Y, None, None, None, N, None, None],
    "tea": [None, None, None, N, None, None, None, None],
    "region": ["n", "s", "s", "n", "n", "s", "n", "s"],
}
DRINKS = warner.SelectAll(["beer", "wine", "tea"], 1)
COIN = warner.RandomizedResponse(["yes", "no"], odds=(3, 1))
SPLIT = warner.SplitQuestionnaire({"beer": COIN, "wine": COIN, "tea": COIN}, asked=1)


@pytest.mark.parametrize("engine", ENGINES)
def test_options_are_counted_together(engine: str, tmp_path: Path) -> None:
    source = in_engine(engine, OPTIONS, tmp_path)
    counted = warner.tally(source, DRINKS)
    assert counted.by == ("option",)
    assert dict(zip(counted.groups, counted.counts.tolist(), strict=True)) == {
        ("beer",): [2, 2],
        ("tea",): [0, 1],
        ("wine",): [1, 1],
    }
    assert counted.missing.sum() == 0
    assert counted.design == DRINKS.designs["beer"]
    grouped = warner.tally(source, DRINKS, by="region", where={"region": "n"})
    assert dict(zip(grouped.groups, grouped.counts.tolist(), strict=True)) == {
        ("beer", "n"): [2, 1],
        ("tea", "n"): [0, 1],
    }
    one = warner.tally(source, SPLIT, column="wine")
    assert (one.counts.tolist(), one.missing, one.by) == ([1, 1], 6, ())
    assert warner.tally(source, DRINKS, column="wine").counts.tolist() == [1, 1]


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_with_too_many_reports_are_rejected(engine: str, tmp_path: Path) -> None:
    fuller = {**OPTIONS, "tea": [None, Y, None, N, None, None, None, N]}
    source = in_engine(engine, fuller, tmp_path)
    for column in (None, "wine"):
        with pytest.raises(
            ValueError, match=r"reports must be to at most 1 of 3 questions in a row, .* but 1 row has more"
        ):
            warner.tally(source, DRINKS, column=column)
    two = warner.SplitQuestionnaire(SPLIT.designs, asked=2)
    assert warner.tally(source, two, column="tea").counts.tolist() == [1, 2]


def test_missing_numbers_are_blanks() -> None:
    pl = pytest.importorskip("polars")
    device = warner.SplitQuestionnaire({"a": 3, "b": 3}, 2, asked=1)
    table = pl.DataFrame({"a": [0.0, math.nan, 2.0, math.nan], "b": [math.nan, 1.0, None, 2.0]})
    assert warner.tally(table, device, column="b").counts.tolist() == [0, 1, 1]
    with pytest.raises(ValueError, match="1 row has more"):
        warner.tally(table.with_columns(b=pl.Series([1.0, 1.0, None, 2.0])), device, column="b")


def test_skipped_files_are_listed(tmp_path: Path) -> None:
    labels = warner.SelectAll(["beer", "wine", "tea"], 1, 2)
    (tmp_path / "1.csv").write_text("beer,wine,tea,report\nyes,,,beer\n,no,,wine\n")
    (tmp_path / "2.csv").write_text("beer,wine,tea,report\n,,yes,none 1\n")
    (tmp_path / "3.csv").write_text("beer,wine\nyes,\n")
    options: list[tuple[Any, dict[str, Any], int]] = [(DRINKS, {}, 3), (SPLIT, {"column": "tea"}, 1), (labels, {}, 9)]
    for device, more, n in options:
        counted = warner.tally(tmp_path, device, skip_bad_files=True, **more)
        assert np.sum(counted.n) == n
        assert list(counted.skipped_files) == [str(tmp_path / "3.csv")]


def test_labels_of_at_most_so_many_options_are_counted_for_every_option() -> None:
    device = warner.SelectAll(["beer", "wine", "tea"], 1, 2)
    labels = ["beer"] * 5 + ["wine"] * 3 + ["none 1"] * 2 + ["none 2"]
    table = {"report": [*labels, None], "region": ["n", "s"] * 6}
    counted = warner.tally(table, device)
    assert counted.groups == (("beer",), ("wine",), ("tea",))
    assert counted.counts.tolist() == [[5, 6], [3, 8], [0, 11]]
    assert counted.missing.tolist() == [1, 1, 1]
    assert warner.tally(labels, device).counts.tolist() == [[5, 6], [3, 8], [0, 11]]
    by_region = warner.tally(table, device, by="region")
    assert by_region.by == ("option", "region")
    assert dict(zip(by_region.groups, by_region.counts.tolist(), strict=True))["wine", "s"] == [2, 3]
    (a, b), total = device.odds, 2 * device.odds[0] + 3 * device.odds[1]
    shares = dict(zip(counted.groups, warner.estimate(counted, method="inv").shares[:, 0].tolist(), strict=True))
    assert shares["beer",] == pytest.approx((5 / 11 - b / total) / ((a - b) / total))
    with pytest.raises(TypeError, match="weights, strata and clusters must be left out"):
        warner.tally({**table, "w": [1.5] * 12}, device, weights="w")
    with pytest.raises(ValueError, match="'none 3'"):
        warner.tally(["none 3"], device)


# An option that no respondent chooses is rarer than expected at a level of 1 % in about one of 40 runs of the test.
@pytest.mark.filterwarnings("ignore:the reports do not seem to fit the design")
@pytest.mark.parametrize("limit", [None, 2])
def test_shares_of_options_are_those_of_separate_exact_binomials_and_need_not_sum_to_one(limit: int | None) -> None:
    names, rng = [f"o{i}" for i in range(6)], np.random.default_rng(5)
    device, n = warner.SelectAll(names, 2, limit), 3000
    likely = np.array([0.6, 0.5, 0.4, 0.05, 0.0, 0.0])
    chosen = [[name for name, yes in zip(names, rng.random(6) < likely, strict=True) if yes][:2] for _ in range(n)]
    truth = np.array([sum(name in row for row in chosen) / n for name in names])
    tally = warner.tally(device.randomize(chosen), device)
    estimate = warner.estimate(tally)
    table = estimate.table(level=1 - 1e-9, target="population")
    of_yes = table["value"] == "yes"
    assert table["option"][of_yes].tolist() == names
    # False alarm: below 1e-8, six exact intervals; truth is that of these respondents, whose intervals are shorter.
    assert ((table["low"][of_yes] <= truth) & (truth <= table["high"][of_yes])).all()
    assert truth.sum() > 1.2
    assert "exact" not in estimate.text()  # said of approximate ones alone: see the JSON
    assert not estimate.to_dict()["approximate"]
    each = warner.RandomizedResponse(["yes", "no"], odds=device.odds) if limit is None else device.designs["o0"]
    for place, name in enumerate(names):
        alone = warner.estimate(warner.Tally(each, tally.counts[place])).table()
        together = estimate.table()
        assert together["low"][of_yes][place] == pytest.approx(alone["low"][0], abs=1e-12), name
        assert together["high"][of_yes][place] == pytest.approx(alone["high"][0], abs=1e-12)


def test_weights_and_clusters_go_with_their_reports() -> None:
    table: dict[str, list[Any]] = {**OPTIONS, "w": [1.0, 2, 3, 4, 5, 6, 7, 8], "school": list("aabbccdd")}
    weighted = warner.tally(table, DRINKS, weights="w")
    assert dict(zip(weighted.groups, weighted.counts.tolist(), strict=True))["beer",] == [6.0, 10.0]
    clustered = warner.tally(table, DRINKS, clusters="school")
    assert clustered.by == ("option",)
    assert clustered.sample is not None
    assert warner.tally(table, SPLIT, column="beer", clusters="school").n == 4


@pytest.mark.parametrize(
    ("reports", "device", "options", "message"),
    [
        (OPTIONS, SPLIT, {}, "column must be given, one of 'beer', 'wine', 'tea', but got None"),
        (OPTIONS, SPLIT, {"column": "region"}, "column must be given, one of"),
        ({"beer": [Y]}, SPLIT, {"column": "beer"}, "there is no column 'wine'"),
        ([Y, N], SPLIT, {"column": "beer"}, "reports must be a table"),
        ({**OPTIONS, "beer": ["maybe", *OPTIONS["beer"][1:]]}, DRINKS, {}, "maybe"),
        ({**OPTIONS, "report": list("aabbccdd")}, DRINKS, {"by": "report"}, "by must not name an option, 'option' or"),
        ({**OPTIONS, "option": list("aabbccdd")}, DRINKS, {"clusters": "option"}, "clusters must not name an option"),
        ({**OPTIONS, "report": [1.5] * 8}, DRINKS, {"weights": "report"}, "weights must not name .* got 'report'"),
        (OPTIONS, DRINKS, {"by": ["region", "tea"]}, "by must not name an option, .* but got 'tea'; rename"),
        ({**OPTIONS, "tea": [None]}, SPLIT, {"column": "beer"}, "tea must have one value for each of the 8 rows"),
        (
            {name: [value or "NA" for value in values] for name, values in OPTIONS.items()},
            SPLIT,
            {"column": "beer"},
            'blanks have a code, which missing= takes, as in missing="NA"',
        ),
    ],
)
def test_bad_input(reports: Any, device: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        warner.tally(reports, device, **options)
