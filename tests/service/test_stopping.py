"""Surveys that close by themselves, open later, or have invitations that are revoked: the same for every store."""

from __future__ import annotations

import asyncio
import os
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cases import COIN
from service.databases import Place, postgres, response
from warner import RandomizedResponse
from warner.service.dashboard_data import confidence
from warner.service.stores import backup, collected, opened
from warner.service.stores.contract import Outcome, step_due
from warner.service.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEPT, USED, REVOKED, UNINVITED = Outcome.KEPT, Outcome.USED, Outcome.REVOKED, Outcome.UNINVITED
EARLY, CLOSED = Outcome.EARLY, Outcome.CLOSED


def people(place: Place) -> list[int]:
    """Return the number of responses that each question counts, in all groups together."""
    found = collected(place.place)
    layouts = found.survey.layouts
    return [int(layout.responses(cells).sum()) for layout, cells in zip(layouts, found.cells, strict=True)]


# A number that is fixed beforehand


def test_a_survey_closes_at_its_number_and_counts_exactly_that_many(place: Place) -> None:
    groups = [{"id": "region", "text": "Where?", "values": ["north", "south"]}]
    survey = place.survey([COIN, RandomizedResponse(3, odds=(3, 1))], groups=groups, batch=3, stop=10)
    with place.opened(survey) as store:
        first, rest = [response(0, 2) for _ in range(9)], [response(3, 5) for _ in range(5)]
        assert store.keep(first) == [KEPT] * 9
        assert store.collected().state == "open"
        assert store.keep([first[0], rest[0], rest[0], *rest[1:]]) == [KEPT, KEPT, KEPT, *[CLOSED] * 4]
        found = store.collected()
        assert (found.state, found.responses, found.fixed) == ("closed", 10, True)
        assert found.cells[0].tolist() == [[9, 0], [0, 1]]
        # A retry of what was counted is thanked for; what comes late is not, and changes nothing.
        assert store.keep([first[3], rest[0], rest[1]]) == [KEPT, KEPT, CLOSED]
        assert store.published == 10
        store.close()
        assert store.collected().fixed
    assert people(place) == [10, 10]
    assert not confidence(collected(place.place)).anytime


def test_a_survey_that_is_closed_before_its_number_is_not_fixed(place: Place, tmp_path: Path) -> None:
    with place.opened(place.survey(batch=3, stop=10)) as store:
        store.keep([response(0) for _ in range(9)])
        store.close()
        assert (store.collected().responses, store.collected().fixed) == (9, False)
        assert store.keep([response(0)]) == [CLOSED]
    assert confidence(collected(place.place)).anytime
    backup(place.place, str(tmp_path / "copy.db"))
    assert not collected(str(tmp_path / "copy.db")).fixed


def test_a_limit_is_not_a_number_that_was_fixed(place: Place) -> None:
    with place.opened(place.survey(batch=3)) as store:
        assert store.keep([response(0) for _ in range(7)], limit=6) == [KEPT] * 6 + [CLOSED]
        store.close()
        assert not store.collected().fixed
    with place.opened(place.survey(batch=3)) as store:
        assert store.keep([response(0)]) == [CLOSED]


def test_the_last_step_is_no_smaller_than_the_others(place: Place) -> None:
    # 4 and 4 would leave a last step of 2: the second step waits for the end.
    steps = []
    with place.opened(place.survey(batch=4, stop=10)) as store:
        for _ in range(10):
            store.keep([response(0)])
            store.tidy()
            steps.append(store.collected().responses)
    assert steps == [0, 0, 0, 4, 4, 4, 4, 4, 4, 10]
    assert collected(place.place).fixed


@pytest.mark.parametrize("batch", [2, 3, 7, 10])
@pytest.mark.parametrize("stop", [10, 11, 13, 20, 29])
def test_no_step_is_smaller_than_batch_up_to_the_number_that_is_fixed(batch: int, stop: int, tmp_path: Path) -> None:
    survey = Place("sqlite", str(tmp_path / "x.db"), "x").survey(batch=batch, stop=stop)
    published, waiting, sizes = 0, 0, []
    for _ in range(stop):
        waiting += 1
        if step_due(survey, waiting, published + waiting) or published + waiting == stop:
            sizes.append(waiting)
            published, waiting = published + waiting, 0
    assert sum(sizes) == stop
    assert min(sizes) >= batch


def test_invitations_are_spent_on_what_is_counted_only(place: Place) -> None:
    tokens = [os.urandom(16) for _ in range(6)]
    with place.opened(place.survey(access="invited", batch=2, stop=4)) as store:
        store.invite(tokens)
        sent = [response(0, token=token) for token in tokens]
        assert store.keep(sent) == [KEPT] * 4 + [CLOSED] * 2
        assert store.keep([sent[0], response(0, token=tokens[0]), sent[5]]) == [KEPT, USED, CLOSED]
    assert (people(place), collected(place.place).fixed) == ([4], True)


def test_many_threads_and_processes_count_exactly_the_number_that_is_fixed(places: Callable[[], Place]) -> None:
    place = places()
    survey = place.survey(batch=5, stop=40)
    stores = [opened(place.place, survey) for _ in range(1 if place.kind == "sqlite" else 3)]
    kept: list[Outcome] = []

    async def respond(writer: Writer) -> list[Outcome]:
        return list(await asyncio.gather(*(writer.keep(response(k % 2)) for k in range(30))))

    async def work(store: Any) -> None:
        writer = Writer(store, most_together=4)
        kept.extend(await respond(writer) + await respond(writer))
        await writer.stop()

    threads = [threading.Thread(target=lambda store=store: asyncio.run(work(store))) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for store in stores:
        store.release()
    assert kept.count(KEPT) == 40
    assert kept.count(CLOSED) == len(kept) - 40
    found = collected(place.place)
    assert (people(place), found.fixed, sum(found.days.values())) == ([40], True, 40)


# Before it opens, and after it closes


def at(monkeypatch: pytest.MonkeyPatch, hour: int) -> None:
    """Set the clock to this hour of a day."""
    monkeypatch.setattr("warner.service.stores.contract.now", lambda: datetime(2026, 12, 1, hour, tzinfo=UTC))


def test_responses_are_taken_from_the_opening_to_the_closing_only(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = place.survey(batch=2, opens="2026-12-01T09:00+01:00", closes="2026-12-01T10:30:00Z")
    one, two, three = (response(0) for _ in range(3))
    with place.opened(survey) as store:
        at(monkeypatch, 7)
        assert (store.keep([one]), store.standing(None)) == ([EARLY], EARLY)
        at(monkeypatch, 8)
        assert (store.keep([one, two]), store.standing(None)) == ([KEPT, KEPT], None)
        at(monkeypatch, 11)
        assert (store.keep([one, three]), store.standing(None)) == ([KEPT, CLOSED], CLOSED)  # a retry, and a newcomer
    assert people(place) == [2]


def test_a_running_survey_closes_by_itself_when_its_time_is_over(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warner.service.writer.CLOCK_SECONDS", 0.05)
    at(monkeypatch, 8)
    said: list[str] = []

    async def work(store: Any) -> Any:
        writer = Writer(store, log=said.append)
        await writer.keep(response(0))
        news = asyncio.create_task(writer.news(after=writer.latest))
        at(monkeypatch, 11)
        found = await asyncio.wait_for(news, 30)
        await writer.stop()
        return found

    with place.opened(place.survey(batch=2, stop=50, closes="2026-12-01T10:30:00Z")) as store:
        found = asyncio.run(work(store))
    assert (found.state, found.responses, found.fixed) == ("closed", 1, False)
    assert "".join(said) == (
        "warner: the survey is closed with 1 response, before the 50 that its file fixes: the intervals remain those "
        "that hold however often you look\n"
    )


# Invitations: revoked, and asked about before anything is filled in


def test_an_invitation_is_revoked_unless_it_was_used(place: Place) -> None:
    tokens = [os.urandom(16) for _ in range(4)]
    used, unused, other, foreign = tokens
    with place.opened(place.survey(access="invited", batch=2)) as store:
        store.invite([used, unused, other])
        first = response(0, token=used)
        assert store.keep([first]) == [KEPT]
        assert store.revoke([unused, used]) == 1
        assert store.keep([response(0, token=unused), response(0, token=used), first]) == [REVOKED, USED, KEPT]
        assert store.revoke([unused, used]) == 1  # again: nothing changes
        with pytest.raises(
            ValueError, match=r"1 of these 2 are none, the first of them at place 2; nothing was revoked"
        ):
            store.revoke([other, foreign])
        assert store.keep([response(1, token=other), response(1, token=foreign)]) == [KEPT, UNINVITED]
        found = store.collected()
        assert (found.invited, found.revoked, found.responses) == (2, 1, 2)
    with place.opened(place.survey(access="invited", batch=2)) as store:  # the receipts agree with the counts
        assert store.collected().revoked == 1


def test_what_is_told_beforehand_gives_no_invitation_away(place: Place) -> None:
    used, unused, revoked, guessed = (os.urandom(16) for _ in range(4))
    with place.opened(place.survey(access="invited", batch=2)) as store:
        store.invite([used, unused, revoked])
        store.keep([response(0, token=used)])
        store.revoke([revoked])
        assert [store.standing(token) for token in (used, revoked)] == [USED, REVOKED]
        assert [store.standing(token) for token in (unused, guessed)] == [
            None,
            None,
        ]  # alike: nothing to find by guessing
        store.close()
        assert {store.standing(token) for token in (used, unused, revoked, guessed)} == {CLOSED}


def test_several_processes_close_and_revoke_in_any_order() -> None:
    place = Place("postgres", f"{postgres().database()}#several", "several")
    survey = place.survey(access="invited", batch=2, stop=6)
    tokens = [os.urandom(16) for _ in range(9)]
    here, there = opened(place.place, survey), opened(place.place, survey)
    here.invite(tokens)
    here.keep([response(0, token=token) for token in tokens[:3]])
    there.revoke(tokens[8:])
    assert there.keep([response(1, token=token) for token in tokens[3:]]) == [KEPT] * 3 + [CLOSED] * 2 + [REVOKED]
    assert here.keep([response(0, token=tokens[7])]) == [CLOSED]
    assert (here.collected().fixed, here.collected().responses) == (True, 6)
    assert np.array_equal(here.collected().cells[0], [[3, 3]])
    assert here.tidy()
    here.release()
    there.release()
