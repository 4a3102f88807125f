"""One entrance for data: `tally`, `regress`, `associate` and `explain` give the same from every engine and file.

It tests reports/loading.py as well.
"""

from __future__ import annotations

import math
import subprocess
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from engines import ENGINES, in_engine
from warner import RandomizedResponse, associate, explain, regress, tally
from warner.reports.files import FORMATS, PIPED, Head, format_by_name, function

if TYPE_CHECKING:
    from pathlib import Path

    from warner import Explanation, Regression

pytest.importorskip("duckdb", reason="reading files is an extra, and not installed")

every_engine = pytest.mark.parametrize("engine", ENGINES)
DICE = RandomizedResponse(["yes", "no"], truth="3/4")
COIN = RandomizedResponse(["never", "once", "often"], truth="1/2")


def people(n: int = 240) -> dict[str, list[Any]]:
    """Make up people: two randomized answers, of which some are missing, and what else is known of them."""
    rng = np.random.default_rng(5)
    age = rng.integers(18, 30, n)
    cheated = np.array(DICE.domain, dtype=object)[DICE.draw((rng.random(n) > age / 60).astype(np.int64), rng.bytes)]
    copied = np.array(COIN.domain, dtype=object)[COIN.draw(rng.integers(0, 3, n), rng.bytes)]
    cheated[::37], copied[::41] = None, None
    region = rng.choice(["nörd", "south, west", "east"], n).astype(object)
    region[::53] = None
    return {
        "cheated": cheated.tolist(),
        "copied": copied.tolist(),
        "age": age.tolist(),
        "region": region.tolist(),
        "score": np.round(rng.normal(size=n) + age / 10, 3).tolist(),
        "weight": rng.choice([0.5, 1.0, 2.25], n).tolist(),
        "times": rng.integers(0, 4, n).tolist(),
        "school": rng.integers(1, 13, n).tolist(),
    }


PEOPLE = people()
QUESTIONS = {"cheated": DICE, "copied": COIN}

# What plain Python gives, once for all engines.


@cache
def regressed(options: tuple[tuple[str, Any], ...]) -> Regression:
    return regress("cheated ~ age + region", PEOPLE, DICE, **dict(options))


@cache
def associated(options: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    return associate(PEOPLE, QUESTIONS, **dict(options)).to_dict()


@cache
def explained(options: tuple[tuple[str, Any], ...]) -> Explanation:
    return explain("score ~ age + region + cheated", PEOPLE, {"cheated": DICE}, **dict(options))


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Compare results as JSON: numbers up to the order in which rows were added up."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert_alike(found[name], value, name)


def assert_alike(found: Any, expected: Any, where: str) -> None:
    if isinstance(expected, dict):
        assert_same(found, expected)
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for mine, theirs in zip(found, expected, strict=True):
            assert_alike(mine, theirs, where)
    elif isinstance(expected, float):
        # Sums in another order end in other digits, and so does the maximum that is searched with them.
        assert math.isclose(found, expected, rel_tol=1e-7, abs_tol=1e-9), (where, found, expected)
    else:
        assert found == expected, where


@every_engine
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weights": "weight"},
        {"counts": "times"},
        {"clusters": "school"},
        {"weights": "weight", "clusters": "school"},
    ],
    ids=lambda options: " ".join(options) or "plain",
)
def test_every_engine_regresses_alike(engine: str, options: dict[str, Any], tmp_path: Path) -> None:
    expected = regressed(tuple(options.items()))
    found = regress("cheated ~ age + region", in_engine(engine, PEOPLE, tmp_path), DICE, **options)
    assert found.model_data.missing == expected.model_data.missing > 0
    # Clusters of a text file are in the order of their names, 1, 10, 11, 2, ...
    mine, theirs = (np.sort(fit.model_data.observations.people) for fit in (found, expected))
    assert_array_equal(mine, theirs)
    assert_same(found.to_dict(), expected.to_dict())


@every_engine
@pytest.mark.parametrize(
    "options",
    [{}, {"weights": "weight"}, {"counts": "times"}, {"numeric": "score"}],
    ids=lambda options: " ".join(options) or "plain",
)
def test_every_engine_associates_alike(engine: str, options: dict[str, Any], tmp_path: Path) -> None:
    found = associate(in_engine(engine, PEOPLE, tmp_path), QUESTIONS, **options)
    assert_same(found.to_dict(), associated(tuple(options.items())))


@every_engine
@pytest.mark.parametrize(
    "options", [{}, {"weights": "weight", "clusters": "school"}], ids=lambda options: " ".join(options) or "plain"
)
def test_every_engine_explains_alike(engine: str, options: dict[str, Any], tmp_path: Path) -> None:
    expected = explained(tuple(options.items()))
    found = explain("score ~ age + region + cheated", in_engine(engine, PEOPLE, tmp_path), {"cheated": DICE}, **options)
    assert found.dropped == expected.dropped > 0
    assert_same(found.to_dict(), expected.to_dict())


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"unknown": "ignore"}, ValueError, 'unknown must be "error" or "drop", but got \'ignore\''),
    ({"weights": "weight", "counts": "times"}, TypeError, r"give weights .* or counts .*, not both"),
    ({"weights": "nothing"}, ValueError, "there is no column 'nothing'"),
    ({"weights": "region"}, TypeError, "weights must be a column of numbers"),
    ({"weights": "negative"}, ValueError, "weights must be finite numbers of at least 0, but 1 is negative, missing"),
    ({"counts": "half"}, ValueError, r"counts must be whole numbers from 0 to 2\^53, but 1 is not: 0.5"),
    ({"weights": "short"}, ValueError, "column 'short' must have one value for each of the 240 rows, but has 2"),
]


@pytest.mark.parametrize("verb", ["tally", "regress", "associate", "explain"])
@pytest.mark.parametrize(("options", "error", "complaint"), BAD)
def test_a_rule_is_the_same_at_every_door(
    verb: str, options: dict[str, Any], error: type[Exception], complaint: str
) -> None:
    if verb == "explain" and "counts" in options:
        pytest.skip("explain has no counts")
    n = len(PEOPLE["age"])
    data = PEOPLE | {"negative": [-1, *[1] * (n - 1)], "half": [0.5, *[1] * (n - 1)], "short": [1, 2]}
    doors: dict[str, Any] = {
        "tally": lambda: tally(data, DICE, column="cheated", **options),
        "regress": lambda: regress("cheated ~ age", data, DICE, **options),
        "associate": lambda: associate(data, {"cheated": DICE, "copied": COIN}, **options),
        "explain": lambda: explain("score ~ cheated", data, {"cheated": DICE}, **options),
    }
    with pytest.raises(error, match=complaint):
        doors[verb]()


# Formats and heads


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.kind)
def test_every_format_names_functions_that_are_there(form: Any) -> None:
    assert callable(function(form.reader))
    assert not form.writer or callable(function(form.writer))
    assert all(format_by_name(f"x{ending}") is form for ending in form.endings)
    assert all(format_by_name(f"x.{name}") is form for name in form.piped)
    assert set(form.piped) <= set(PIPED)


@pytest.mark.parametrize(
    ("name", "content", "kind", "document"),
    [
        ("x.csv", b"a,b\n1,2\n", "csv", None),
        ("x.tsv", b"a\tb\n1\t2\n", "tsv", None),
        ("x", b"a,b\n1,2\n", "csv", None),
        ("x.json", b'\xef\xbb\xbf {"format": "warner tally"}', "json", "warner tally"),
        ("x.csv", b'{"format": "warner tally"}', "csv", "warner tally"),
        ("x.jsonl", b'{"a": "b"}\n', "json", None),
        ("x.csv", b"SQLite format 3\0...", "SQLite", None),
        ("x.parquet", b"12345678DUCK", "DuckDB", None),
    ],
)
def test_a_head_tells_what_a_file_is(
    name: str, content: bytes, kind: str, document: str | None, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    head = Head.of(str(tmp_path / name))
    assert (head.kind, head.document) == (kind, document)


OPENS = """
import atexit, runpy, sys
opened = []
atexit.register(lambda: print(sum(name.endswith("reports.csv") for name in opened), file=sys.stderr))
sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == "open" else None)
sys.argv = ["warner", "estimate", "reports.csv", "--design", "design.json"]
runpy.run_module("warner", run_name="__main__")
"""


def test_a_command_opens_a_text_file_once_before_its_engine_does(tmp_path: Path) -> None:
    # DuckDB opens it by itself, where Python sees nothing of it.
    DICE.save(tmp_path / "design.json")
    (tmp_path / "reports.csv").write_text("answer\nyes\nno\n")
    run = subprocess.run([sys.executable, "-c", OPENS], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.stderr.split() == ["1"], run.stderr


LOADED = """
import atexit, runpy, sys
heavy = {"narwhals", "pyarrow", "pandas", "polars", "formulaic", "matplotlib"}
heavy |= {"scipy.optimize", "scipy.sparse", "scipy.fft", "scipy.stats"}
atexit.register(lambda: print(*sorted(heavy & sys.modules.keys()), file=sys.stderr))
sys.argv = ["warner", *sys.argv[1:]]
runpy.run_module("warner", run_name="__main__")
"""


@pytest.mark.parametrize(
    "words",
    [
        ("estimate", "people.csv", "--column", "cheated"),
        ("estimate", "people.csv", "--column", "cheated", "--by", "region"),
        ("check", "people.csv", "--column", "cheated"),
        ("regress", "people.csv", "cheated ~ age + region"),
    ],
)
def test_a_command_on_a_text_file_loads_what_it_uses(words: tuple[str, ...], tmp_path: Path) -> None:
    DICE.save(tmp_path / "design.json")
    table = PEOPLE | {"region": ["" if name is None else name for name in PEOPLE["region"]]}
    in_engine("csv", table, tmp_path)
    (tmp_path / "reports.csv").rename(tmp_path / "people.csv")
    command = [sys.executable, "-c", LOADED, *words, "--design", "design.json"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.stdout
    assert run.stderr.split() == [], run.stderr
