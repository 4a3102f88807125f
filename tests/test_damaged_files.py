"""Files damaged at random: each is read correctly, or rejected in one plain line, and nothing else happens.

Designs, tallies and surveys are damaged as JSON (a value replaced by another, a field gone or doubled) and as bytes;
data files as bytes. What is read must be sound: printed, written, read back as the same, and estimated or rejected.
"""

from __future__ import annotations

import copy
import gzip
import json
import sys
import time
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cases import COIN
from collecting_cases import open_survey
from warner import RandomizedResponse, Tally, UnaryEncoding, estimate, pool, surveys, tally
from warner.designs import MECHANISMS, design_from_json
from warner.reports.randomizing_files import randomize_file
from warner.service.survey import survey_from_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DESIGNS = [design for mechanism in MECHANISMS.values() for design in mechanism.examples()[:2]]
TALLIES: list[Any] = [
    Tally(COIN, [40, 60], missing=3, unknown=1),
    Tally(COIN, [[40, 60], [5, 7]], by=("g", "h"), groups=((1, "a"), (None, "b"))),
    Tally(COIN, [1.5, 2.5], squares=5.0),
    Tally(UnaryEncoding(["a", "b", "c"], epsilon=1), [7, 2, 3], n=10, histogram=[2, 5, 2, 1]),
    Tally(surveys.kuk("3/4", "1/4", 2), [5, 6, 7]),
    pool([Tally(COIN, [40, 60]), Tally(RandomizedResponse(["yes", "no"], odds=(9, 1)), [34, 66])]),
]
VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 2, 3, 1.5, -0.0, 1e308, 1e-320, 2**53, 2**63, 10**30, 10**400),
    *(
        float("nan"),
        float("inf"),
        "",
        "0",
        "-1",
        "1",
        "yes",
        "1e3",
        "1/0",
        "１",
        "\0",
        "\ud800",
        "9" * 5000,
        "x" * 10_000,
    ),
    *([], [[]], [0], ["yes"], ["yes", "yes"], {}, {"a": 1}, {"first": 0, "size": 10**18}, [None], [[1, 2], [3]]),
]
BYTES = [b"", b"\0", b"\xff", b'"', b",", b"\n", b"\r", b"[", b"}", b"9" * 30, b"\xef\xbb\xbf", b"\\u0000", b"e999"]


def damaged_json(document: Any, rng: np.random.Generator) -> str:
    """Replace, remove or repeat something somewhere in a document."""
    changed = copy.deepcopy(document)
    place, key = _somewhere(changed, rng)
    kind = rng.integers(4)
    if kind == 0 and isinstance(place, dict):
        del place[key]
    elif kind == 1:
        place[key] = [place[key], place[key]] if rng.integers(2) else copy.deepcopy(document)
    elif kind == 2 and isinstance(place, dict):
        place[str(VALUES[rng.integers(len(VALUES))])[:20]] = place[key]
    else:
        place[key] = VALUES[rng.integers(len(VALUES))]
    return json.dumps(changed)


def _somewhere(document: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    place: Any = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = keys[rng.integers(len(keys))]
        if not isinstance(place[key], dict | list) or not place[key] or rng.integers(4) == 0:
            return place, key
        place = place[key]


def damaged_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """Change, insert, remove or repeat some bytes."""
    for _ in range(int(rng.integers(1, 4))):
        start, stop = sorted(rng.integers(0, len(content) + 1, 2).tolist())
        middle = [
            BYTES[rng.integers(len(BYTES))],
            rng.bytes(int(rng.integers(1, 4))),
            content[start:stop],
            content[start:stop] * 2,
            b"",
        ][rng.integers(5)]
        end = stop if rng.integers(3) == 0 else min(start + int(rng.integers(0, 3)), len(content))
        content = content[:start] + middle + content[end:]
    return content


def sound(read: Callable[[str], Any], text: str, *, estimated: bool = False) -> str:
    """Read a text: the result is sound, or the text is rejected in one line."""
    try:
        value = read(text)
    except (ValueError, FileNotFoundError) as refused:
        picture = 2 * str(refused).startswith("a survey must be JSON, but line")
        assert len(str(refused).splitlines()) == 1 + picture, refused
        return "refused"
    assert repr(value)
    assert read(value.to_json()).to_json() == value.to_json()
    if estimated:
        try:
            json.loads(estimate(value).to_json(), parse_constant=pytest.fail)
        except (ValueError, TypeError) as refused:
            assert str(refused)
    return "read"


def _designs(rng: np.random.Generator, folder: Path) -> str:
    document = DESIGNS[rng.integers(len(DESIGNS))].to_dict()
    return sound(design_from_json, _text(document, rng))


def _tallies(rng: np.random.Generator, folder: Path) -> str:
    document = TALLIES[rng.integers(len(TALLIES))].to_dict()
    return sound(Tally.from_json, _text(document, rng), estimated=True)


def _surveys(rng: np.random.Generator, folder: Path) -> str:
    document = open_survey((COIN, RandomizedResponse(3, epsilon=1)))
    return sound(survey_from_json, _text(document, rng))


def _text(document: Any, rng: np.random.Generator) -> str:
    if rng.integers(3):
        return damaged_json(document, rng)
    return damaged_bytes(json.dumps(document).encode(), rng).decode("utf-8", "replace")


def _data_files(rng: np.random.Generator, folder: Path) -> str:
    """Damage a file of reports."""
    ending = ["csv", "tsv", "jsonl", "parquet", "csv.gz"][rng.integers(5)]
    path = folder / f"damaged.{ending}"
    path.write_bytes(damaged_bytes((folder / f"whole.{ending}").read_bytes(), rng))
    return _counted(path, rng)


def _labelled_files(rng: np.random.Generator, folder: Path) -> str:
    """Damage a file of SPSS, Stata or SAS: mostly single bytes, so that much of it is still read."""
    ending = ["sav", "zsav", "dta", "xpt"][rng.integers(4)]
    if not (whole := folder / f"whole.{ending}").exists():
        _write_labelled(whole)
    content = bytearray(whole.read_bytes())
    if rng.integers(4) == 0:
        content = bytearray(damaged_bytes(bytes(content), rng))
    else:
        for place in rng.integers(len(content), size=rng.integers(1, 8)):
            content[place] = rng.integers(256)
    (path := folder / f"damaged.{ending}").write_bytes(content)
    return _counted(path, rng)


def _write_labelled(path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat", reason="reading SPSS, Stata and SAS files is an extra")
    pandas = pytest.importorskip("pandas", reason="pandas, in which the files of this test are made, is not installed")
    frame = pandas.DataFrame({"a": [1.0, 2.0, 9.0] * 40, "s": ["a", "bb", "ccc"] * 40, "w": [1.5, 2.5] * 60})
    labels = {"a": {1: "yes", 2: "no", 9: "maybe"}}
    if path.suffix == ".dta":
        pyreadstat.write_dta(frame, path, variable_value_labels=labels)
    elif path.suffix == ".xpt":
        pyreadstat.write_xport(frame, path)
    else:
        compress = path.suffix == ".zsav"
        pyreadstat.write_sav(frame, path, variable_value_labels=labels, missing_ranges={"a": [9]}, compress=compress)


def _counted(path: Path, rng: np.random.Generator) -> str:
    """Tally a file of reports; randomize it as if these were answers."""
    weights = "w" if rng.integers(2) else None
    outcome = "read"
    try:
        counted = tally(path, COIN, column="a", weights=weights, unknown="drop" if rng.integers(2) else "error")
        assert repr(counted)
        assert Tally.from_json(counted.to_json()) == counted
    except (ValueError, TypeError, OSError) as refused:
        assert len(str(refused).splitlines()) == 1, refused
        outcome = "crashed" if "its reader crashed" in str(refused) else "refused"
    (path.parent / "out.csv").unlink(missing_ok=True)
    try:
        randomize_file(path, COIN, path.parent / "out.csv", column="a")
    except (ValueError, TypeError, OSError) as refused:
        assert "maybe" not in str(refused)  # an answer that is not in the domain stays secret
        assert not (path.parent / "out.csv").exists()
    return outcome


KINDS = {
    "designs": _designs,
    "tallies": _tallies,
    "surveys": _surveys,
    "data files": _data_files,
    "labelled files": _labelled_files,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the same reports in every format."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("duckdb", reason="reading files is an extra, and not installed")
    reports = ["yes", "no", None, "no", "maybe", "yes"] * 3
    table = {"id": [str(i) for i in range(len(reports))], "a": reports, "w": [1.5] * len(reports)}
    parquet.write_table(arrow.table(table), tmp_path / "whole.parquet")
    rows = ["".join(f"{i},{a or ''},{w}\n") for i, a, w in zip(*table.values(), strict=True)]
    text = "id,a,w\n" + "".join(rows)
    (tmp_path / "whole.csv").write_text(text)
    (tmp_path / "whole.tsv").write_text(text.replace(",", "\t"))
    (tmp_path / "whole.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    lines = [json.dumps(dict(zip(table, row, strict=True))) + "\n" for row in zip(*table.values(), strict=True)]
    (tmp_path / "whole.jsonl").write_text("".join(lines))
    return tmp_path


def damage(kind: str, folder: Path, seed: int, *, most: int, seconds: float) -> Counter[str]:
    """Damage files until `most` were tried, or the time is over."""
    found: Counter[str] = Counter()
    end = time.monotonic() + seconds
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the reports do not seem to fit", UserWarning)
        warnings.filterwarnings("ignore", "the collections do not seem to come from one population", UserWarning)
        for number in range(most):
            found[KINDS[kind](np.random.default_rng([seed, number]), folder)] += 1
            if time.monotonic() > end:
                break
    return found


@pytest.mark.usefixtures("quick_readers")
@pytest.mark.parametrize(
    ("kind", "most"),
    [("designs", 400), ("tallies", 200), ("surveys", 200), ("data files", 40), ("labelled files", 40)],
)
def test_damaged_files_are_read_soundly_or_refused(kind: str, most: int, folder: Path) -> None:
    found = damage(kind, folder, 1, most=most, seconds=10)
    assert found["refused"] > 0


@pytest.mark.long
@pytest.mark.usefixtures("quick_readers")
@pytest.mark.parametrize("kind", KINDS)
def test_many_damaged_files(kind: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = damage(kind, folder, 2, most=50_000, seconds=60)
    with capsys.disabled():
        sys.stdout.write(
            f"\n{kind}: {found.total():,} damaged, {found['refused']:,} refused, {found['read']:,} read and sound, "
            f"{found['crashed']:,} refused since their reader crashed\n"
        )
    assert min(found["refused"], found["read"]) > 0
