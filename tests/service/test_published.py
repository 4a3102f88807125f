"""From the database of a survey to results: the published tally, read by the library and by the commands."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import warner
from cases import THREE
from cli.shell import Prompt, run, succeeds
from service.databases import postgres
from warner import RandomizedResponse, Tally, UnaryEncoding, estimate, tally
from warner.service.responses import Bodies
from warner.service.stores import opened
from warner.service.survey import SKIPPED, survey_from_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from warner.service.responses import Bundle
    from warner.service.stores.contract import Store
    from warner.service.survey import Survey

CROSS = warner.surveys.crosswise("1/4")
SITES = UnaryEncoding(["a", "b", "c", "d"], odds=(3, 1))
QUESTIONS = [
    {"id": "often", "text": "How often?", "mode": "device", "design": THREE.to_dict()},
    {"id": "cross", "text": "The same?", "mode": "person", "optional": True, "design": CROSS.to_dict()},
    {"id": "sites", "text": "Which?", "mode": "device", "design": SITES.to_dict()},
]
GROUPS = [
    {"id": "region", "text": "Where?", "values": ["north", "south"]},
    {"id": "age", "text": "How old?", "values": ["young", "middle", "old"]},
]


def survey_of(**fields: Any) -> Survey:
    whole = {
        "format": "warner survey",
        "version": 1,
        "id": "drinking",
        "title": "Drinking",
        "language": "en",
        "intro": "",
        "consent": "",
        "thanks": "",
        "keep": "counts",
        "batch": 10,
        "access": "open",
        "groups": GROUPS,
        "questions": QUESTIONS,
    }
    return survey_from_json(json.dumps(whole | fields))


class Responses:
    """People at random, and the responses that they send."""

    def __init__(self, number: int) -> None:
        rng = np.random.default_rng(14)
        self.region, self.age = rng.integers(0, 2, number), rng.integers(0, 3, number)
        self.often = rng.integers(0, 3, number)
        self.cross = rng.integers(-1, 2, number)  # some skip it
        self.sites = rng.integers(0, 2, (number, 4))

    def bundles(self, survey: Survey) -> list[Bundle]:
        bodies = Bodies(survey)
        sets = np.packbits(self.sites, axis=1)
        assert SKIPPED == -1
        return [
            bodies.read(
                bodies.write(
                    [int(self.often[i]), int(self.cross[i]), sets[i]],
                    nonce=i.to_bytes(16),
                    groups=[int(self.region[i]), int(self.age[i])],
                )
            )
            for i in range(len(self.often))
        ]


PEOPLE = Responses(65)
FIRST = slice(60)  # the published respondents, in steps of 10, if they respond in fives


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Return a running survey: 60 responses are published, and 5 are waiting."""
    survey = survey_of()
    running = opened(str(tmp_path / "collected.db"), survey)
    bundles = PEOPLE.bundles(survey)
    for start in range(0, len(bundles), 5):
        running.keep(bundles[start : start + 5])
    yield running
    running.release()


@pytest.fixture
def file(store: Store, tmp_path: Path) -> str:
    """Return the database of a survey that is running."""
    assert store.published == 60
    return str(tmp_path / "collected.db")


def assert_same(told: Tally, expected: Tally) -> None:
    assert told.design == expected.design
    assert_array_equal(told.counts, expected.counts)
    for name in ("n", "missing", "unknown"):
        assert_array_equal(getattr(told, name), getattr(expected, name))
    assert (told.by, told.groups) == (expected.by, expected.groups)


# What is read


def test_the_published_tally_is_read_with_its_design(file: str, tmp_path: Path) -> None:
    assert_same(tally(file, question="often"), Tally(THREE, np.bincount(PEOPLE.often[FIRST], minlength=3)))
    assert_same(tally(tmp_path / "collected.db", question="often"), tally(file, THREE, question="often"))


def test_who_skipped_a_question_is_missing(file: str) -> None:
    answered = PEOPLE.cross[FIRST]
    expected = Tally(CROSS, np.bincount(answered[answered >= 0], minlength=2), missing=int((answered < 0).sum()))
    assert expected.missing > 0
    assert_same(tally(file, question="cross"), expected)


def test_sets_of_answers_are_supported_as_often_as_they_were_sent(file: str) -> None:
    assert_same(tally(file, question="sites"), Tally(SITES, PEOPLE.sites[FIRST].sum(axis=0), n=60))
    told = tally(file, question="sites").histogram
    assert_array_equal(told, np.bincount(PEOPLE.sites[FIRST].sum(axis=1), minlength=5))


def test_groups_of_an_open_survey_are_not_told(file: str) -> None:
    # One new member of a small group in a step: the difference of two steps would be that person's report.
    with pytest.raises(ValueError, match="by must be left out while the survey is open"):
        tally(file, question="often", by="region")


def test_groups_are_counted_apart_in_the_order_that_is_asked_for(store: Store, file: str) -> None:
    store.close()
    region, age, often = PEOPLE.region, PEOPLE.age, PEOPLE.often
    apart = [np.bincount(often[region == i], minlength=3) for i in range(2)]
    north_and_south = (("north",), ("south",))
    for by in ("region", ["region"], ("region",)):
        assert_same(tally(file, question="often", by=by), Tally(THREE, apart, by=("region",), groups=north_and_south))
    both = tally(file, question="often", by=["age", "region"])
    assert both.groups[:3] == (("young", "north"), ("young", "south"), ("middle", "north"))
    assert_array_equal(both.counts[2], np.bincount(often[(age == 1) & (region == 0)], minlength=3))


def test_the_only_question_need_not_be_named(tmp_path: Path) -> None:
    survey = survey_of(questions=QUESTIONS[:1], groups=[], batch=1)
    running = opened(str(tmp_path / "one.db"), survey)
    bodies = Bodies(survey)
    running.keep([bodies.read(bodies.write([2], nonce=bytes(16)))])
    assert_same(tally(tmp_path / "one.db"), Tally(THREE, [0, 0, 1]))
    running.release()


def test_a_closed_survey_has_all_of_its_responses(store: Store, file: str) -> None:
    store.close()
    assert tally(file, question="often").n == 65


# Beside a running survey, and elsewhere


def contents(folder: Path) -> dict[str, str]:
    # The -shm file is shared memory, in which a reader leaves a mark.
    files = (path for path in sorted(folder.iterdir()) if not path.name.endswith("-shm"))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_reading_neither_waits_for_a_running_survey_nor_stands_in_its_way(tmp_path: Path) -> None:
    survey = survey_of()
    running = opened(str(tmp_path / "collected.db"), survey)
    bundles = PEOPLE.bundles(survey)
    for start in (0, 30):
        running.keep(bundles[start : start + 30])
        before = contents(tmp_path)
        done = run(tmp_path, "estimate", "collected.db", "--question", "often", "--json")
        assert json.loads(done.stdout)["reports"] == start + 30
        assert contents(tmp_path) == before
        assert running.tidy()  # the log can be emptied: no reader is left
    running.release()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["collected.db"]
    assert tally(tmp_path / "collected.db", question="often").n == 60
    assert sorted(path.name for path in tmp_path.iterdir()) == ["collected.db"]


def test_a_transaction_that_is_under_way_is_not_seen(store: Store, file: str) -> None:
    writer = sqlite3.connect(file, isolation_level=None)
    writer.execute("begin immediate")
    writer.execute("update counts set published = published + 1.0 where question = 0 and cell = 0")
    assert tally(file, question="often").n == store.published == 60
    writer.execute("rollback")
    writer.close()


def test_a_copy_is_read_as_well(store: Store, file: str, tmp_path: Path) -> None:
    expected = tally(file, question="often")
    running = tmp_path / "running"
    running.mkdir()
    for path in tmp_path.glob("collected.db*"):  # with its log
        shutil.copy(path, running)
    assert_same(tally(running / "collected.db", question="often"), expected)
    # Alone, when the log is empty; nothing is made beside it, as on a disk that can only be read.
    store.tidy()
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(file, alone)
    assert_same(tally(alone / "collected.db", question="often"), expected)
    assert [path.name for path in alone.iterdir()] == ["collected.db"]


# What is refused


def test_a_question_must_be_one_of_the_survey(file: str) -> None:
    with pytest.raises(ValueError, match="question must be given, one of 'often', 'cross', 'sites': the survey asks"):
        tally(file)
    with pytest.raises(ValueError, match="question must be one of 'often', 'cross', 'sites', but got 'seldom'"):
        tally(file, question="seldom")


def test_another_design_is_refused(file: str) -> None:
    other = RandomizedResponse(THREE.domain, odds=(2, 1))
    with pytest.raises(ValueError, match="design must be left out, or be that of question 'often'"):
        tally(file, other, question="often")


def test_groups_must_be_those_of_the_survey(file: str) -> None:
    with pytest.raises(ValueError, match=r"by must name groups of the survey \(region, age\), not 'sex'"):
        tally(file, question="often", by="sex")
    with pytest.raises(ValueError, match="by must name each group once, but got age, age"):
        tally(file, question="often", by=["age", "age"])


@pytest.mark.parametrize("options", [{"column": "a"}, {"weights": "w"}, {"counts": "c"}, {"codes": True}])
def test_what_belongs_to_rows_is_refused(file: str, options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=f"{next(iter(options))} must be left out for the database of a survey"):
        tally(file, question="often", **options)


def test_reports_cannot_be_kept_where_there_are_none(file: str) -> None:
    assert tally(file, question="often", keep=True).n == 60  # whose counts say it all
    with pytest.raises(TypeError, match="keep must be left out for the database of a survey, which has counts"):
        tally(file, question="sites", keep=True)


def test_nothing_is_read_before_it_is_published(tmp_path: Path) -> None:
    survey = survey_of()
    running = opened(str(tmp_path / "young.db"), survey)
    running.keep(PEOPLE.bundles(survey)[:9])
    with pytest.raises(
        ValueError, match=r"young\.db has 0 published responses: they are published in steps of 10, and"
    ):
        tally(tmp_path / "young.db", question="often")
    running.release()


def test_other_files_are_no_database_of_a_survey(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("create table reports(answer text)")
    other.commit()
    other.close()
    (tmp_path / "reports.csv").write_text("answer\nnever\n")
    for name in ("other.db", "reports.csv"):
        with pytest.raises(ValueError, match=rf"{name} is not a database of a survey, which `warner collect` keeps"):
            tally(tmp_path / name, THREE, question="often")
    with pytest.raises(ValueError, match=r"other\.db is not a database of a survey"):
        tally(tmp_path / "other.db", THREE)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        tally(tmp_path / "none.db", question="often")
    with pytest.raises(ValueError, match="is not a database of a survey"):
        tally(tmp_path, question="often")


def test_a_question_is_for_databases_and_a_design_for_all_else() -> None:
    with pytest.raises(TypeError, match="question is for the database of a survey, but reports is a list"):
        tally(["never"], THREE, question="often")
    with pytest.raises(TypeError, match="design must be a design"):
        tally(["never"])


# PostgreSQL


def test_a_survey_in_postgresql_is_read_by_its_url(tmp_path: Path) -> None:
    url = postgres().database()
    survey = survey_of()
    running = opened(url, survey)
    running.keep(PEOPLE.bundles(survey)[:60])
    running.keep(PEOPLE.bundles(survey)[60:])
    expected = Tally(THREE, np.bincount(PEOPLE.often[FIRST], minlength=3))
    assert_same(tally(url, question="often"), expected)
    assert_same(tally(f"{url}#drinking", THREE, question="often"), expected)
    running.close()
    told = succeeds(tmp_path, "estimate", url, "--question", "often", "--by", "region", "--json", "--anytime")
    assert json.loads(told) == json.loads(estimate(tally(url, question="often", by="region")).to_json(anytime=True))
    running.release()
    with pytest.raises(ValueError, match="there is no survey of warner collect in this database"):
        tally(postgres().database(), question="often")


def test_what_postgresql_needs_is_said_without_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg")
    url = "postgresql://reader:secret@127.0.0.1:1/none?connect_timeout=1"
    with pytest.raises(OSError, match="PostgreSQL") as failed:
        tally(url, question="often")
    assert "secret" not in str(failed.value)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ImportError, match=r"a PostgreSQL database needs psycopg, .* extra \[postgres\]$"):
        tally(url, question="often")


# Through the commands


@pytest.fixture
def prompt(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Prompt:
    """Return a shell in the folder of the running survey."""
    assert file
    return Prompt(tmp_path, monkeypatch, capsys)


NOTE = (
    "warner: note: the number of responses to this survey was not fixed beforehand, so the intervals have "
    "coverage at all looks\n"
)


def test_the_commands_tell_what_the_library_does(file: str, prompt: Prompt, tmp_path: Path) -> None:
    found = estimate(tally(file, question="often"))
    asked = ("estimate", "collected.db", "--question", "often")
    assert prompt.notes(*asked) == (found.text(anytime=True) + "\n", NOTE)
    assert prompt.prints(*asked, "--anytime") == found.text(anytime=True) + "\n"
    one_look, note = prompt.notes(*asked, "--one-look")
    assert one_look == found.text() + "\n"
    assert "may not have their coverage; those of --anytime do" in note
    assert prompt.notes(*asked, "--target", "realised") == (found.text(target="realised") + "\n", note)
    assert prompt.notes(*asked, "--compare", "never,once")[1] == note  # comparisons are for one look
    assert json.loads(prompt.notes(*asked, "--json")[0]) == json.loads(found.to_json(anytime=True))
    rows = prompt.notes(*asked, "--csv")[0].splitlines()
    assert rows[0] == "value,reports,share,people,se,low,high,outside"
    assert len(rows) == 4
    checked = warner.check(tally(file, question="often"))
    text, note = prompt.notes("check", "collected.db", "-q", "often")
    assert (text, "p-values are for one that was" in note) == (checked.text() + "\n", True)
    assert "estimate this tally with --anytime" in prompt.notes("tally", "collected.db", "-q", "often")[1]
    (tmp_path / "design.json").write_text(THREE.to_json())
    with_design = prompt.notes("estimate", "collected.db", "-q", "often", "--design", "design.json")
    assert with_design == (estimate(tally(file, question="often")).text(anytime=True) + "\n", NOTE)


def test_the_commands_say_what_is_wrong(prompt: Prompt, tmp_path: Path) -> None:
    (tmp_path / "design.json").write_text(CROSS.to_json())
    (tmp_path / "link.csv").symlink_to("collected.db")
    asked = ("estimate", "collected.db")
    assert "--question must be given, one of 'often', 'cross', 'sites'" in prompt.complains(*asked)
    assert "but got 'seldom'" in prompt.complains("check", "collected.db", "--question", "seldom")
    assert "design must be left out" in prompt.complains(*asked, "-q", "often", "-d", "design.json")
    assert "must not be link.csv" in prompt.complains(*asked, "-q", "often", "-o", "link.csv")
    assert "give --question" in prompt.complains(*asked, "-q", "often", "--table", "counts")
    assert "method must not be 'mle' here" in prompt.complains(*asked, "-q", "sites", "--method", "mle")
    assert "is not a database of a survey" in prompt.complains("estimate", "design.json", "-q", "often")
    associate = ("associate", "collected.db", "a=design.json", "b=design.json")
    assert "is an SQLite database, which has no column of reports" in prompt.complains(*associate)
