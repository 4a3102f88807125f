"""Files whose columns differ, or that cannot be read: errors that name the difference, and `skip_bad_files`.

It tests reports/files.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from cli.shell import run
from warner import (
    Estimate,
    OpenDomain,
    OpenTally,
    Pool,
    RandomizedResponse,
    SubsetSelection,
    Tally,
    associate,
    check,
    discover,
    estimate,
    estimate_groups,
    explain,
    regress,
    tally,
)
from warner.results import typeset
from warner.text import enumerated
from workbooks import row, workbook

if TYPE_CHECKING:
    from collections.abc import Callable

COIN = RandomizedResponse(["yes", "no"], truth="3/4")
SETS = SubsetSelection(["a", "b", "c", "d", "e"], epsilon=1, size=2)
WORDS = OpenDomain(epsilon=2, letters="a-z", length=6, step=3)
N = 120
RNG = np.random.default_rng(3)


def rows() -> pl.DataFrame:
    words = WORDS.values.encoded(RNG.choice(["one", "two"], size=N).tolist()).blocks
    return pl.DataFrame(
        {
            "answer": RNG.choice(["yes", "no"], N),
            "second": RNG.choice(["yes", "no"], N),
            "country": RNG.choice(["FR", "IT"], N),
            "age": RNG.integers(20, 60, N),
            "outcome": RNG.normal(size=N),
            **{f"w{number}": RNG.integers(1, 9, N) / 4 for number in range(3)},
            "set": SETS.randomize(RNG.choice(["a", "b", "c"], N)),
            "word": WORDS.report_form.written(WORDS.draw(words, RNG.bytes)).tolist(),
        }
    )


GOOD = [rows() for _ in range(3)]
MOVED = ["country", *(name for name in GOOD[0].columns if name != "country")]
MOVED = ["country", *(name for name in GOOD[0].columns if name != "country")]
PATH = "reports/day={}/part.{}"
OTHER = {
    "type": (
        GOOD[0].with_columns(country=pl.Series([1] * N)),
        "{}: column 'country' must be String, as in {}, but is Int64",
    ),
    "missing": (GOOD[0].drop("country"), "{}: column 'country' must be there, as in {}, but is missing"),
    "more": (GOOD[0].with_columns(beta=1), "{}: column 'beta' must not be there, as in {}"),
    "order": (
        GOOD[0].select(MOVED),
        f"{{}}: columns must be in the order of {{}}, {enumerated(GOOD[0].columns)}, but are {enumerated(MOVED)}",
    ),
}


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


WRITERS: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    "parquet": lambda frame, path: frame.write_parquet(path),
    "csv": lambda frame, path: frame.write_csv(path),
    "jsonl": lambda frame, path: frame.write_ndjson(path),
    "xlsx": lambda frame, path: workbook(path, {"S": [row(*frame.columns), *(row(*one) for one in frame.rows())]}),
}


def written(day: int, frame: pl.DataFrame, kind: str = "parquet") -> str:
    path = Path(PATH.format(day, kind))
    path.parent.mkdir(parents=True)
    WRITERS[kind](frame, path)
    return str(path)


def partitions(*bad: pl.DataFrame | bytes, kind: str = "parquet") -> list[str]:
    """Write the bad files, the first day first, and three good ones after them; return the names of the bad ones."""
    names = []
    for day, one in enumerate([*bad, *GOOD], 1):
        names.append(written(day, GOOD[0] if isinstance(one, bytes) else one, kind))
        if isinstance(one, bytes):
            Path(names[-1]).write_bytes(one)
    return names[: len(bad)]


@pytest.mark.parametrize("difference", OTHER)
def test_a_file_with_other_columns_is_named_with_the_difference(difference: str) -> None:
    frame, message = OTHER[difference]
    (name,) = partitions(frame)
    with pytest.raises(ValueError, match="must") as refused:
        tally("reports", COIN, column="answer")
    assert str(refused.value) == message.format(name, PATH.format(2, "parquet"))


def test_of_two_files_the_first_is_the_example() -> None:
    one, two = written(1, GOOD[0]), written(2, OTHER["type"][0])
    with pytest.raises(ValueError, match="must be String") as refused:
        tally("reports", COIN, column="answer")
    assert str(refused.value) == OTHER["type"][1].format(two, one)


@pytest.mark.parametrize("difference", OTHER)
@pytest.mark.parametrize("design", ["counts", "sets", "sets kept", "open", "several designs", "replicates", "clusters"])
def test_bad_files_are_skipped_in_every_kind_of_tally(difference: str, design: str) -> None:
    frame, message = OTHER[difference]
    (name,) = partitions(frame, b"PAR1" + b"x" * 100)[:1]
    kinds: dict[str, dict[str, Any]] = {
        "counts": {"design": COIN, "column": "answer", "by": ["day", "country"]},
        "sets": {"design": SETS, "column": "set", "by": "country"},
        "sets kept": {"design": SETS, "column": "set", "keep": True},
        "open": {"design": WORDS, "column": "word"},
        "several designs": {"design": {"FR": COIN, "IT": COIN.with_epsilon(1)}, "column": "answer", "by": "country"},
        "replicates": {"design": COIN, "column": "answer", "weights": "age", "replicates": "w?", "scale": 1.0},
        "clusters": {"design": COIN, "column": "answer", "clusters": "country"},
    }
    options = kinds[design]
    counted = tally("reports", skip_bad_files=True, **options)
    alone = tally([Path(PATH.format(day, "parquet")) for day in (3, 4, 5)], **options)
    assert (counted.parts == alone.parts) if isinstance(counted, Pool) else (counted == alone)
    damaged = PATH.format(2, "parquet")
    assert counted.skipped_files == {
        name: message.format(name, PATH.format(3, "parquet")),
        damaged: f"{damaged} cannot be read: it is damaged, or no Parquet file",
    }
    if design == "sets kept":
        assert isinstance(counted, Tally)
        assert isinstance(alone, Tally)
        assert np.allclose(estimate(counted, method="mle").shares, estimate(alone, method="mle").shares)


def test_reports_that_are_read_again_are_those_of_the_good_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warner.reports.counting.HELD_BYTES", 0)
    partitions(OTHER["type"][0])
    counted = tally("reports", SETS, column="set", keep=True, skip_bad_files=True)
    alone = tally([Path(PATH.format(day, "parquet")) for day in (2, 3, 4)], SETS, column="set")
    assert counted == alone
    assert counted.kept is not None
    assert counted.kept.streamed
    assert estimate(counted, method="mle").certificate is not None


DAMAGED = {
    "csv": (b"answer,second,country,age,outcome,set,word\nyes,no,FR,1,1.0,1,1\nyes,no\n", "line 3 has another number"),
    "jsonl": (b'{"answer": "yes"}\n{"answer": \n', "cannot be read"),
    "xlsx": (b"no workbook", "cannot be read"),
    "parquet": (b"", "it is damaged, or no Parquet file"),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_files_of_every_format_that_cannot_be_read_are_skipped(kind: str) -> None:
    content, reason = DAMAGED[kind]
    (name,) = partitions(content, kind=kind)
    counted = tally("reports", COIN, column="answer", skip_bad_files=True)
    assert counted == tally([Path(PATH.format(day, kind)) for day in (2, 3, 4)], COIN, column="answer")
    assert list(counted.skipped_files) == [name]
    assert reason in counted.skipped_files[name]
    assert counted.skipped_files[name].startswith(name)


def test_damage_within_a_parquet_file_is_found_by_reading_it() -> None:
    frame = pl.DataFrame({"answer": ["yes", "no"] * 50_000, "noise": RNG.random(100_000)})
    for day in (1, 2, 3):
        path = Path(f"reports/day={day}/part.parquet")
        path.parent.mkdir(parents=True)
        frame.write_parquet(path)
    content = bytearray(path.read_bytes())
    content[40:120] = b"x" * 80
    path.write_bytes(content)
    counted = tally("reports", COIN, column="answer", skip_bad_files=True)
    assert (counted.n, list(counted.skipped_files)) == (200_000, [str(path)])


def test_a_file_in_another_encoding_is_skipped_under_its_own_name() -> None:
    for day, text in ((1, "oui\nnon\n"), (2, "ou\u00ef\nnon\n"), (3, "oui\nnon\n")):
        path = Path(f"reports/day={day}/part.csv")
        path.parent.mkdir(parents=True)
        path.write_text(f"answer\n{text}", encoding="ascii" if day != 2 else "latin-1")
    Path("reports/day=3/part.csv").write_text("answer,more\noui,1\n")
    Path("reports/day=4").mkdir()
    Path("reports/day=4/part.csv").write_text("answer\noui\n")
    counted = tally(
        "reports",
        RandomizedResponse(["oui", "non"], truth="3/4"),
        column="answer",
        encoding="ascii",
        skip_bad_files=True,
    )
    assert counted.n == 3
    assert list(counted.skipped_files) == ["reports/day=2/part.csv", "reports/day=3/part.csv"]
    assert "cannot be read in the encoding ascii" in counted.skipped_files["reports/day=2/part.csv"]
    assert counted.skipped_files["reports/day=3/part.csv"] == (
        "reports/day=3/part.csv: column 'more' must not be there, as in reports/day=1/part.csv"
    )


def test_roll_ups_sums_and_files_keep_the_list() -> None:
    (name,) = partitions(OTHER["missing"][0])
    fine = tally("reports", COIN, column="answer", by=["day", "country"], skip_bad_files=True)
    other = Tally(COIN, [[1, 2]], by=("day", "country"), groups=((9, "FR"),), skipped_files={"x": "x is bad"})
    for one in (fine.aggregate("day"), fine.filter(country="FR"), Tally.from_json(fine.to_json()), fine.aggregate()):
        assert list(one.skipped_files) == [name]
    assert list((fine + other).skipped_files) == [name, "x"]
    assert "; 1 file skipped>" in repr(fine)
    words = tally("reports", WORDS, column="word", by="country", skip_bad_files=True)
    others: list[Any] = [words.aggregate(), words + words, OpenTally.from_json(words.to_json())]
    for opened in (*others, words.closed(["one", "two"])):
        assert list(opened.skipped_files) == [name]
    document = json.loads(fine.to_json()) | {"skipped_files": {"a": 1}}
    with pytest.raises(ValueError, match="this tally is damaged: skipped_files must be names of files with texts"):
        Tally.from_dict(document)
    whole = tally(Path(PATH.format(2, "parquet")), COIN, column="answer", skip_bad_files=True)
    assert "skipped_files" not in whole.to_dict()


def results() -> dict[str, Any]:
    options: Any = {"skip_bad_files": True}
    counted = tally("reports", COIN, column="answer", by="country", **options)
    assert isinstance(counted, Tally)
    words = tally("reports", WORDS, column="word", **options)
    two = {"answer": COIN, "second": COIN}
    return {
        "estimate": estimate(counted),
        "groups": estimate_groups(counted),
        "check": check(counted),
        "check of words": check(words),
        "discover": discover(words),
        "regress": regress("answer ~ age", "reports", COIN, **options),
        "regress a tally": regress("answer ~ country", counted),
        "associate": associate("reports", two, simulations=99, **options),
        "explain": explain("outcome ~ answer", "reports", {"answer": COIN}, **options),
    }


def test_every_result_lists_the_files_that_were_skipped() -> None:
    (name,) = partitions(OTHER["type"][0])
    reason = OTHER["type"][1].format(name, PATH.format(2, "parquet"))
    for kind, result in results().items():
        assert json.loads(result.to_json())["skipped_files"] == {name: reason}, kind
        said = " ".join(result.text().split())
        assert said.count(f"1 file was skipped: {reason}.") == 1, kind
        assert any(reason in note for note in typeset(result).notes), kind
    Path(name).unlink()
    for kind, result in results().items():
        assert "skipped" not in result.to_json() + result.text(), kind
    assert isinstance(result, Estimate) or kind == "explain"


def test_the_commands_list_the_files_that_were_skipped(tmp_path: Path) -> None:
    (name,) = partitions(OTHER["type"][0])
    COIN.save(tmp_path / "coin.json")
    WORDS.save(tmp_path / "words.json")
    reason = OTHER["type"][1].format(name, PATH.format(2, "parquet"))

    def runs(*command: str, code: int = 0) -> tuple[str, str]:
        done = run(tmp_path, *command)
        assert done.returncode == code, done.stderr
        return done.stdout, " ".join(done.stderr.split())

    given = ("reports", "--design", "coin.json", "--column", "answer")
    assert runs("estimate", *given, code=2) == ("", f"warner: {reason}")
    commands: list[tuple[str, ...]] = [
        ("estimate", *given),
        ("groups", *given, "--by", "country"),
        ("check", *given),
        ("discover", "reports", "--design", "words.json", "--column", "word"),
        ("regress", "reports", "answer ~ age", "--design", "coin.json"),
        ("associate", "reports", "answer=coin.json", "second=coin.json"),
    ]
    for command in commands:
        said, _ = runs(*command, "--skip-bad-files")
        assert f"1 file was skipped: {reason}" in " ".join(said.split()), command
        said, _ = runs(*command, "--skip-bad-files", "--json")
        assert json.loads(said)["skipped_files"] == {name: reason}, command
    for more in (("tally", *given), ("estimate", *given, "--csv"), ("estimate", *given, "-o", "x.parquet")):
        _, warned = runs(*more, "--skip-bad-files")
        assert f"1 file was skipped: {reason}" in warned, more
    runs("tally", *given, "--skip-bad-files", "-o", "saved.json")
    assert reason in " ".join(runs("estimate", "saved.json")[0].split())
    assert (
        "--skip-bad-files must be left out for saved.json"
        in runs("estimate", "saved.json", "--skip-bad-files", code=2)[1]
    )


def test_the_option_is_for_files() -> None:
    data = {"answer": ["yes", "no"], "second": ["no", "no"], "age": [1, 2]}
    with pytest.raises(TypeError, match="sheet and skip_bad_files are for files, but reports is a dict"):
        tally(data, COIN, column="answer", skip_bad_files=True)
    with pytest.raises(TypeError, match="skip_bad_files are for files, but reports is a list"):
        tally(["yes"], COIN, skip_bad_files=True)
    with pytest.raises(TypeError, match="skip_bad_files are for files, but data is a dict"):
        regress("answer ~ age", data, COIN, skip_bad_files=True)
    with pytest.raises(TypeError, match="skip_bad_files must be left out for a table of counts"):
        associate([[1, 2], [3, 4]], {"a": COIN, "b": COIN}, skip_bad_files=True)


def test_no_good_file_is_an_error_with_all_reasons() -> None:
    Path("reports").mkdir()
    for name in "ab":
        Path(f"reports/{name}.parquet").write_bytes(b"")
    with pytest.raises(ValueError, match=r"reports holds no file that can be read; .*a\.parquet can.*b\.parquet can"):
        tally("reports", COIN, column="answer", skip_bad_files=True)
