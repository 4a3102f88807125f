"""Contract of every store: the same tests for an SQLite file and for a PostgreSQL database.

It tests service/stores/contract.py as well.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from cases import COIN
from collecting_cases import open_survey
from service.databases import Place, response
from warner import (
    HadamardResponse,
    LocalHashing,
    OpenDomain,
    ProjectiveGeometry,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
    tally,
)
from warner.service.responses import Bodies, Bundle, KeptReport
from warner.service.stores import backup, collected, opened
from warner.service.stores.contract import Outcome, Store
from warner.service.survey import SKIPPED, survey_from_json

if TYPE_CHECKING:
    from collections.abc import Callable

KEPT, USED, UNINVITED, CLOSED = Outcome.KEPT, Outcome.USED, Outcome.UNINVITED, Outcome.CLOSED
REFUSED = Outcome.REFUSED
WORDS = OpenDomain(epsilon=4, letters="a-z", length=6)


def published(store: Store) -> list[list[int]]:
    return [cells.ravel().tolist() for cells in store.collected().cells]


def test_a_step_is_published_once_a_batch_waits(place: Place) -> None:
    with place.opened(place.survey([COIN, COIN], batch=3)) as store:
        assert store.keep([response(0, 1), response(0, 1)]) == [KEPT, KEPT]
        assert published(store) == [[0, 0], [0, 0]]
        assert store.collected().responses == store.published == 0
        assert store.keep([response(1, 1), response(1, 1)]) == [KEPT, KEPT]
        assert published(store) == [[2, 2], [0, 4]]  # all that waits, and not only three
        assert store.collected().responses == store.published == 4
        store.keep([response(0, 0)])
        assert published(store) == [[2, 2], [0, 4]]


def test_an_analyst_who_also_sends_responses_learns_the_report_between_them(place: Place) -> None:
    # As the threat model says: 9 of the 10 responses of each step are the analyst's own.
    reports = [0, 1, 1, 0]
    with place.opened(place.survey(batch=10)) as store:
        learned, before = [], 0
        for report in reports:
            store.keep([*(response(0) for _ in range(4)), response(report), *(response(0) for _ in range(5))])
            after = published(store)[0][1]
            learned.append(after - before)
            before = after
    assert learned == reports


def test_closing_publishes_the_rest_in_one_step_and_takes_nothing_more(place: Place) -> None:
    survey = place.survey()
    with place.opened(survey) as store:
        late = response(1)
        first = response(0)
        store.keep([first])
        store.close()
        assert published(store) == [[1, 0]]
        assert store.collected().state == "closed"
        assert store.keep([late, first]) == [CLOSED, KEPT]  # a retry that crosses the closing is thanked for
        store.close()  # again, which changes nothing
        assert store.collected().responses == 1
    with place.opened(survey) as store:
        assert store.keep([late, first]) == [CLOSED, KEPT]


@pytest.mark.parametrize("invited", [False, True])
def test_another_response_under_the_same_nonce_is_not_acknowledged(place: Place, invited: bool) -> None:
    survey = place.survey([COIN, WORDS], batch=1, access="invited" if invited else "open")
    nonce, token = os.urandom(16), os.urandom(16) if invited else None
    reports = [KeptReport(1, 0, text) for text in ("0:00:0", "0:00:1")]
    first = Bundle(nonce, token, ((0,), (0,)), (reports[0],))
    others = [Bundle(nonce, token, ((1,), (0,)), (reports[0],)), Bundle(nonce, token, ((0,), (0,)), (reports[1],))]
    wrong = USED if invited else REFUSED
    with place.opened(survey) as store:
        if token is not None:
            store.invite([token])
        assert store.keep([first, *others]) == [KEPT, wrong, wrong]  # at once
        assert store.keep([*others, first]) == [wrong, wrong, KEPT]  # later, and a retry is thanked for
        assert published(store) == [[1, 0], [1]]
    with place.opened(survey) as store:  # which knows of the nonce alone: its database holds nothing that was sent
        assert store.keep([first, *others]) == [KEPT, KEPT, KEPT]
        assert published(store) == [[1, 0], [1]]


def test_one_nonce_under_two_invitations_is_two_responses_and_their_retries_are_kept(place: Place) -> None:
    nonce, tokens = os.urandom(16), [os.urandom(16), os.urandom(16)]
    first, second = (Bundle(nonce, token, ((cell,),)) for cell, token in enumerate(tokens))
    with place.opened(place.survey(batch=1, access="invited")) as store:
        store.invite(tokens)
        assert [store.keep([bundle]) for bundle in (first, second, first, second)] == [[KEPT]] * 4
        assert published(store) == [[1, 1]]


def test_nonces_are_forgotten_a_day_after_the_closing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    survey, first = place.survey(), response(0)
    module = "warner.service.stores.contract.today"
    monkeypatch.setattr(module, lambda: date(2026, 3, 1))
    with place.opened(survey) as store:
        store.keep([first])
        store.close()
        monkeypatch.setattr(module, lambda: date(2026, 3, 2))
        store.tidy()
        assert store.keep([first]) == [KEPT]
        monkeypatch.setattr(module, lambda: date(2026, 3, 3))
        store.tidy()
        assert store.keep([first]) == [CLOSED]
        assert store.collected().days == {"2026-03-01": 1}
    with place.opened(survey) as store:  # whose receipts are gone, as they should be
        assert store.collected().responses == 1


def test_days_show_published_responses_only(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    module = "warner.service.stores.contract.today"
    with place.opened(place.survey(batch=3)) as store:
        monkeypatch.setattr(module, lambda: date(2026, 3, 1))
        store.keep([response(0)])
        assert store.collected().days == {}
        monkeypatch.setattr(module, lambda: date(2026, 3, 2))
        store.keep([response(0), response(0)])
        assert store.collected().days == {"2026-03-01": 1, "2026-03-02": 2}


def test_a_limit_holds_within_a_batch_and_retries_pass_it(place: Place) -> None:
    with place.opened(place.survey(batch=1)) as store:
        sent = [response(0) for _ in range(4)]
        assert store.keep(sent[:1], limit=2) == [KEPT]
        assert store.keep([sent[1], sent[1], sent[0], sent[2]], limit=2) == [KEPT, KEPT, KEPT, CLOSED]
        assert store.keep(sent, limit=2) == [KEPT, KEPT, CLOSED, CLOSED]
        assert store.collected().responses == 2
        assert store.keep(sent) == [KEPT] * 4  # a limit that was lifted


def test_an_invitation_is_spent_once(place: Place) -> None:
    survey = place.survey(access="invited", batch=1)
    tokens = [os.urandom(16) for _ in range(3)]
    with place.opened(survey) as store:
        store.invite(tokens[:2])
        one, other = response(0, token=tokens[0]), response(1, token=tokens[0])
        assert store.keep([one, other, response(1, token=tokens[2])]) == [KEPT, USED, UNINVITED]
        assert store.keep([other, one, one]) == [USED, KEPT, KEPT]
        assert published(store) == [[1, 0]]
        assert store.collected().invited == 2
        store.invite(tokens[2:])
        assert store.keep([response(1, token=tokens[2])]) == [KEPT]
        store.close()
        assert store.keep([response(1, token=tokens[1]), one, other]) == [CLOSED, KEPT, USED]
        with pytest.raises(ValueError, match="closed"):
            store.invite([os.urandom(16)])
    with place.opened(survey) as store:
        assert published(store) == [[1, 1]]


def test_invitations_that_nobody_could_use_are_refused(place: Place) -> None:
    with place.opened(place.survey()) as store, pytest.raises(ValueError, match="open to everybody"):
        store.invite([os.urandom(16)])


@pytest.mark.parametrize("tokens", [[b"short"], [bytes(16), bytes(16)]])
def test_invitations_are_distinct_and_long(place: Place, tokens: list[bytes]) -> None:
    with place.opened(place.survey(access="invited")) as store, pytest.raises(ValueError, match="distinct"):
        store.invite(tokens)


def test_another_survey_is_refused_with_both_fingerprints(place: Place) -> None:
    survey, other = place.survey(), place.survey([RandomizedResponse(["yes", "no"], odds=(2, 1))])
    with place.opened(survey) as store:
        store.keep([response(0)])
        store.close()
    with pytest.raises(ValueError, match=f"{survey.fingerprint[:12]}.*{other.fingerprint[:12]}"):
        opened(place.place, other)
    assert collected(place.place).responses == 1


def test_counts_are_those_of_the_tally_under_every_kind_of_design(place: Place) -> None:
    sets = [SubsetSelection(6, size=2, epsilon=1), UnaryEncoding(5, odds=(3, 1)), HadamardResponse(6, epsilon=1)]
    designs = [COIN, *sets, LocalHashing(7, epsilon=1), ProjectiveGeometry(7, epsilon=1)]
    groups = [{"id": "where", "text": "", "values": ["n", "s"]}, {"id": "age", "text": "", "values": ["a", "b", "c"]}]
    asked = open_survey(designs, groups=groups, batch=1, id=place.id)
    asked["questions"][0]["optional"] = True
    survey = survey_from_json(json.dumps(asked))
    bodies, rng, people = Bodies(survey), np.random.default_rng(7), 60
    drawn = [[design.draw(rng.integers(design.k, size=1), os.urandom)[0] for design in designs] for _ in range(people)]
    skips = rng.random(people) < 0.3
    joint = [(int(rng.integers(2)), int(rng.integers(3))) for _ in range(people)]
    with place.opened(survey) as store:
        for reports, skip, group in zip(drawn, skips, joint, strict=True):
            said = [SKIPPED if skip else reports[0], *reports[1:]]
            assert store.keep([bodies.read(bodies.write(said, nonce=os.urandom(16), groups=group))]) == [KEPT]
        found = store.collected()
    for number, design in enumerate(designs):
        answered = ~skips if number == 0 else np.ones(people, dtype=bool)
        for age in range(3):
            rows = [drawn[i][number] for i in range(people) if joint[i][1] == age and answered[i]]
            expected = tally(np.array(rows), design, codes=True)
            shown = found.tally(f"q{number + 1}", by=["age"])
            assert_array_equal(shown.counts[age], expected.counts)
            assert shown.n[age] == expected.n
    assert found.tally("q1").missing == skips.sum()
    assert json.loads(collected(place.place).tally("q2").to_json()) == json.loads(found.tally("q2").to_json())


@dataclass
class Model:
    """A survey as a person with a pencil would keep it."""

    batch: int
    limit: int | None
    invited: set[bytes] | None
    spent: dict[bytes, tuple[Any, ...]]  # what was sent; forgotten when the store is opened anew
    counts: np.ndarray
    published: np.ndarray
    people: int = 0
    shown: int = 0
    closed: bool = False

    def keep(self, bundles: list[Bundle]) -> list[Outcome]:
        outcomes = []
        for bundle in bundles:
            person = bundle.token or bundle.nonce
            if self.invited is not None and person not in self.invited:
                outcomes.append(UNINVITED)
            elif person in self.spent:
                nonce, cells = self.spent[person]
                again = nonce == bundle.nonce and cells in {None, bundle.cells}
                outcomes.append(KEPT if again else REFUSED if self.invited is None else USED)
            elif self.closed or (self.limit is not None and self.people >= self.limit):
                outcomes.append(CLOSED)
            else:
                self.spent[person] = (bundle.nonce, bundle.cells)
                self.people += 1
                for question, cells in enumerate(bundle.cells):
                    self.counts[question, cells[0]] += 1
                outcomes.append(KEPT)
        if self.people - self.shown >= self.batch:
            self.show()
        return outcomes

    def show(self) -> None:
        self.published, self.shown = self.counts.copy(), self.people


STEPS = st.one_of(
    st.lists(st.integers(0, 17), min_size=1, max_size=6),  # who sends together, some again, or otherwise under a nonce
    st.sampled_from(["tidy", "reopen", "close", "look"]),
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(STEPS, max_size=25),
    invited=st.booleans(),
    batch=st.integers(1, 5),
    limit=st.none() | st.integers(1, 8),
)
def test_a_store_counts_as_a_pencil_does(
    places: Callable[[], Place], steps: list[Any], invited: bool, batch: int, limit: int | None
) -> None:
    place = places()
    survey = place.survey(
        [COIN, RandomizedResponse(3, odds=(3, 1))], batch=batch, access="invited" if invited else "open"
    )
    tokens = [os.urandom(16) for _ in range(6)]
    sent = [response(i % 2, i % 3, token=tokens[i % 6] if invited else None) for i in range(12)]
    sent += [Bundle(one.nonce, one.token, (one.cells[0], ((one.cells[1][0] + 1) % 3,))) for one in sent[:6]]
    welcome = set(tokens[:4]) if invited else None
    model = Model(batch, limit, welcome, {}, np.zeros((2, 3), int), np.zeros((2, 3), int))
    store = opened(place.place, survey)
    try:
        if invited:
            store.invite(tokens[:4])
        for step in steps:
            if isinstance(step, list):
                together = [sent[i] for i in step]
                assert store.keep(together, limit=limit) == model.keep(together)
            elif step == "tidy":
                assert store.tidy() in {True, False}
            elif step == "close":
                store.close()
                model.closed = True
                model.show()
            elif step == "reopen":
                store.release()
                store = opened(place.place, survey)
                model.spent = {person: (nonce, None) for person, (nonce, _) in model.spent.items()}
            found = store.collected() if step != "look" else collected(place.place)
            assert published(store) == [model.published[0, :2].tolist(), model.published[1].tolist()]
            assert found.responses == store.published == model.shown == sum(found.days.values())
            assert found.state == ("closed" if model.closed else "open")
    finally:
        store.release()


DAMAGES = [
    "update counts set published = published + 1 where question = 1 and cell = 0",
    "update counts set pending = pending - 1, published = published + 1 where question = 0 and cell = 0",
    "update days set pending = pending + 1",
    "delete from seen",
    "delete from counts where question = 1 and cell = 2",
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_database_is_refused_at_the_start(place: Place, damage: str) -> None:
    survey = place.survey([COIN, RandomizedResponse(3, odds=(3, 1))])
    with place.opened(survey) as store:
        store.keep([response(0, 0)])
    place.execute(damage)
    with pytest.raises(ValueError, match="damaged"):
        opened(place.place, survey)


CHANGED = {
    "odds": ("""file = replace(file, '"3"', '"9"')""", "is damaged: the survey in it does not have the fingerprint"),
    "title": ("file = replace(file, 'A survey', 'Another')", "does not have the fingerprint"),
    "text": ("file = '{'", "the survey in .* cannot be read: a survey must be JSON"),
    "file of a design": ("""file = replace(file, '"mode"', '"made"')""", "the survey in .* cannot be read: question 1"),
}


@pytest.mark.parametrize("what", CHANGED)
def test_a_survey_that_was_changed_within_its_database_is_not_read(place: Place, what: str, tmp_path: Path) -> None:
    change, words = CHANGED[what]
    survey = place.survey([RandomizedResponse(["yes", "no"], odds=(3, 1))], batch=2)
    with place.opened(survey) as store:
        store.keep([response(0), response(1)])
    place.execute(f"update survey set {change}")
    for read in (
        lambda: collected(place.place),  # which estimate, check, tally and discover read
        lambda: backup(place.place, str(tmp_path / "copy.db")),
        lambda: opened(place.place, survey),
    ):
        with pytest.raises(ValueError, match=words) as told:
            read()
        assert "postgresql://" not in str(told.value)
    assert list(tmp_path.glob("*.db")) == []
    whole = survey.to_json().replace("'", "''")
    place.execute(f"update survey set file = '{whole}'")
    assert collected(place.place).tally().counts.tolist() == [1, 1]


def test_a_question_with_more_people_than_another_in_one_group_is_refused(place: Place) -> None:
    groups = [{"id": "where", "text": "", "values": ["n", "s"]}]
    survey = place.survey([COIN, COIN], groups=groups)
    with place.opened(survey) as store:
        store.keep([response(0, 2)])  # north to one question, and south to the other
    with pytest.raises(ValueError, match="damaged"):
        opened(place.place, survey)


def test_a_response_that_cannot_be_counted_leaves_nothing_behind(place: Place) -> None:
    survey = place.survey([COIN, COIN], batch=1)
    with place.opened(survey) as store:
        broken = response(0, 99)
        with pytest.raises(IndexError):
            store.keep([response(0, 0), broken])
        assert published(store) == [[0, 0], [0, 0]]
        assert store.keep([response(0, 0)]) == [KEPT]
        assert store.healthy()


def test_a_backup_holds_all_and_is_never_written_over(place: Place, tmp_path: Path) -> None:
    survey = place.survey(batch=2, access="invited")
    tokens = [os.urandom(16) for _ in range(5)]
    copy = tmp_path / "copy.db"
    with place.opened(survey) as store:
        store.invite(tokens)
        sent = [response(0, token=token) for token in tokens[:3]]
        store.keep(sent[:2])
        store.keep(sent[2:])
        backup(place.place, str(copy))  # beside the running survey
        store.keep([response(1, token=tokens[3])])
    assert copy.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError, match="already"):
        backup(place.place, str(copy))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db"]
    assert collected(str(copy)).responses == 2
    restored = opened(str(copy), survey)
    assert restored.keep([*sent, response(1, token=tokens[0]), response(1, token=tokens[4])]) == [KEPT] * 3 + [
        USED,
        KEPT,
    ]
    assert published(restored) == [[3, 1]]
    restored.release()


def test_a_backup_that_fails_leaves_nothing(place: Place, tmp_path: Path) -> None:
    with pytest.raises((OSError, ValueError)):
        backup(place.place, str(tmp_path / "none.db"))  # of a database that is not there
    with place.opened(place.survey()), suppress(OSError):
        backup(place.place, str(tmp_path / "absent" / "copy.db"))
    assert list(tmp_path.iterdir()) == []


def test_reading_changes_nothing_and_needs_no_survey_file(place: Place) -> None:
    survey = place.survey(batch=1)
    with place.opened(survey) as store:
        store.keep([response(0), response(1)])
        beside = collected(place.place)
        assert beside.survey.fingerprint == survey.fingerprint
        assert beside.tally().counts.tolist() == [1, 1]
    assert collected(place.place).tally().counts.tolist() == [1, 1]
    if place.kind == "sqlite":
        assert [path.name for path in Path(place.place).parent.iterdir() if place.id in path.name] == [f"{place.id}.db"]
