"""Behavior of the PostgreSQL store: several processes, xmin, the server's log, several surveys."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cases import COIN
from collecting_cases import open_survey
from service.databases import postgres
from warner import RandomizedResponse
from warner.service.responses import Bundle
from warner.service.stores import backup, collected, opened
from warner.service.stores.contract import Ledger, Outcome, Sent, hashed
from warner.service.stores.postgres import schema
from warner.service.survey import Survey, survey_from_json
from warner.service.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import psycopg

    from warner.service.stores.contract import Store

PEOPLE = 60
NUMBERS = count()


@pytest.fixture(scope="module")
def url() -> str:
    return postgres().database()


def a_survey(designs: Any = (COIN,), **fields: Any) -> Survey:
    return survey_from_json(json.dumps(open_survey(designs, **{"id": f"survey-{next(NUMBERS)}", **fields})))


@pytest.fixture
def connection(url: str) -> Iterator[psycopg.Connection]:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


def response(cell: int, token: bytes | None = None) -> Bundle:
    return Bundle(os.urandom(16), token, ((cell,),))


PAIRS = "select i.token, c.cell from {0}.invitations i join {0}.counts c on i.xmin = c.xmin where c.pending > 0"


def test_a_join_on_xmin_pairs_everybody_in_plain_rows(connection: psycopg.Connection) -> None:
    connection.execute("create schema plain")
    connection.execute("create table plain.invitations(token int primary key, spent boolean)")
    connection.execute("create table plain.counts(cell int primary key, pending int)")
    connection.execute("insert into plain.invitations select i, false from generate_series(1, 60) i")
    connection.execute("insert into plain.counts select i, 0 from generate_series(1, 60) i")
    for person in range(1, PEOPLE + 1):
        with connection.transaction():
            connection.execute("update plain.invitations set spent = true where token = %s", (person,))
            connection.execute("update plain.counts set pending = pending + 1 where cell = %s", (person,))
    pairs = connection.execute(PAIRS.format("plain")).fetchall()
    assert sorted(pairs) == [(person, person) for person in range(1, PEOPLE + 1)]


def test_a_join_on_xmin_gives_nothing_in_ours(url: str, connection: psycopg.Connection) -> None:
    survey = a_survey([RandomizedResponse(PEOPLE, odds=(3, 1))], access="invited", batch=1000)
    name = schema(survey.id)
    tokens = [os.urandom(16) for _ in range(PEOPLE)]
    store = opened(url, survey)
    store.invite(tokens)
    for cell, token in enumerate(tokens):
        store.keep([response(cell, token)])
    pairs = connection.execute(PAIRS.format(name)).fetchall()
    # The last to come meets all counters: their rows were all written by the same transaction.
    assert sorted(pairs) == [(hashed("token", tokens[-1]), cell) for cell in range(PEOPLE)]
    assert store.tidy()
    assert connection.execute(PAIRS.format(name)).fetchall() == []
    rows = connection.execute(f"select token, xmin::text from {name}.invitations order by ctid").fetchall()
    assert [token for token, _ in rows] == sorted(hashed("token", token) for token in tokens)  # not as they came
    assert len({xmin for _, xmin in rows}) == 1
    store.keep([response(0, os.urandom(16))])
    assert store.tidy()
    assert connection.execute(f"select count(distinct xmin::text) from {name}.invitations").fetchone() == (1,)
    store.release()


def test_spent_invitations_are_rewritten_at_the_end_and_at_the_closing(
    url: str, connection: psycopg.Connection
) -> None:
    survey = a_survey(access="invited", batch=1000)
    tokens = [os.urandom(16) for _ in range(6)]
    query = f"select count(distinct xmin::text) from {schema(survey.id)}.invitations"
    store = opened(url, survey)
    store.invite(tokens)
    for token in tokens[:3]:
        store.keep([response(0, token)])
    assert connection.execute(query).fetchone() == (4,)
    store.release()
    assert connection.execute(query).fetchone() == (1,)
    store = opened(url, survey)
    for token in tokens[3:]:
        store.keep([response(0, token)])
    store.close()
    assert connection.execute(query).fetchone() == (1,)
    store.release()


@pytest.mark.parametrize("invited", [True, False])
@pytest.mark.parametrize("limit", [None, 150])
def test_processes_that_share_a_survey_count_everybody_once(url: str, invited: bool, limit: int | None) -> None:
    survey = a_survey([RandomizedResponse(4, odds=(3, 1))], access="invited" if invited else "open", batch=7)
    people, together = 200, 20
    tokens = [os.urandom(16) for _ in range(people)]
    sent = [response(i % 4, tokens[i] if invited else None) for i in range(people)]
    stores = [opened(url, survey) for _ in range(3)]
    if invited:
        stores[0].invite(tokens)
    outcomes: list[dict[int, Outcome]] = [{} for _ in stores]
    errors: list[Exception] = []

    def work(number: int, store: Store) -> None:
        rng = np.random.default_rng()
        try:
            for start in range(0, people, together):
                numbers = (start + rng.permutation(together)).tolist()
                found = store.keep([sent[i] for i in numbers], limit=limit)
                outcomes[number] |= dict(zip(numbers, found, strict=True))
                store.tidy()
        except Exception as error:  # noqa: BLE001 - told in the test
            errors.append(error)

    threads = [threading.Thread(target=work, args=item) for item in enumerate(stores)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    kept = {i for found in outcomes for i, outcome in found.items() if outcome is Outcome.KEPT}
    assert len(kept) == (people if limit is None else limit)
    stores[1].close()
    assert stores[0].keep([sent[0]]) == [Outcome.KEPT if 0 in kept else Outcome.CLOSED]
    expected = np.bincount([i % 4 for i in kept], minlength=4).tolist()
    assert stores[2].collected().tally().counts.tolist() == expected
    for store in stores:
        store.release()
    opened(url, survey).release()  # which checks the laws of the counters


@pytest.mark.parametrize("invited", [True, False])
def test_rows_are_locked_in_the_order_of_their_keys(url: str, connection: psycopg.Connection, invited: bool) -> None:
    survey = a_survey(access="invited" if invited else "open")
    sent = [response(0, os.urandom(16) if invited else None) for _ in range(30)]
    keys = dict(zip((Ledger(survey, [bundle], Sent()).keys[0] for bundle in sent), sent, strict=True))
    descending = sorted(keys, reverse=True)
    store = opened(url, survey)
    if invited:
        store.invite([bundle.token for bundle in sent if bundle.token is not None])
        take = "select 1 from invitations where token = %s for update"
    else:
        take = "insert into seen values(%s)"
    connection.execute(f"set search_path = {schema(survey.id)}")
    outcomes: list[Outcome] = []
    thread = threading.Thread(target=lambda: outcomes.extend(store.keep([keys[key] for key in descending])))
    with connection.transaction():
        connection.execute(take, (descending[-1],))
        thread.start()
        waits = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
        while connection.execute(waits).fetchone() != (1,):
            time.sleep(0.01)
        connection.execute(take, (descending[0],))  # not taken yet by the one who waits: no circle
    thread.join()
    # Where the first and the last nonce were written by another process, they are not counted again.
    assert outcomes == [Outcome.KEPT] * 30
    store.close()
    assert store.collected().responses == (30 if invited else 28)
    store.release()


def test_a_step_that_waits_in_several_stripes_is_published_by_tidying(url: str) -> None:
    survey = a_survey(batch=10)
    stores = [opened(url, survey) for _ in range(2)]
    for store in stores:
        store.keep([response(0) for _ in range(6)])
    assert collected(f"{url}#{survey.id}").responses == 0
    assert stores[0].tidy()
    assert stores[1].collected().responses == stores[0].published == 12
    for store in stores:
        store.release()


def test_every_process_hears_of_what_another_has_published(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warner.service.writer.LOOK_SECONDS", 0.05)
    survey = a_survey(batch=1)
    stores = [opened(url, survey) for _ in range(2)]

    async def work() -> list[tuple[int, bool]]:
        here, there = (Writer(store) for store in stores)
        heard = []
        news = asyncio.create_task(here.news(after=here.latest))
        await there.keep(response(0))
        heard.append(((await news).responses, here.closed))
        news = asyncio.create_task(here.news(after=here.latest))
        await there.close()
        heard.append(((await news).responses, here.closed))
        await asyncio.gather(here.stop(), there.stop())
        return heard

    assert asyncio.run(work()) == [(1, False), (1, True)]
    for store in stores:
        store.release()


def test_a_stripe_is_taken_over_from_a_process_that_ended(url: str, connection: psycopg.Connection) -> None:
    survey = a_survey(batch=10)
    late = []
    for _ in range(3):
        store = opened(url, survey)
        store.keep([response(0) for _ in range(4)])
        held: Any = store._connection  # type: ignore[attr-defined]
        late.append(held.close)
        held.close = lambda: None  # a busy server sees the end of a connection only later
        store.release()
    for close in late:
        close()
    writers = connection.execute(f"select distinct writer from {schema(survey.id)}.counts").fetchall()
    assert writers == [(0,)]
    assert collected(f"{url}#{survey.id}").responses == 12


def test_somebody_who_reads_for_long_delays_tidying_but_nobody_else(url: str, connection: psycopg.Connection) -> None:
    survey = a_survey(access="invited", batch=1)
    store = opened(url, survey)
    tokens = [os.urandom(16) for _ in range(3)]
    store.invite(tokens)
    store.keep([response(0, tokens[0])])
    with connection.transaction():
        connection.execute(f"select * from {schema(survey.id)}.survey")
        assert not store.tidy()
        assert store.keep([response(0, tokens[1])]) == [Outcome.KEPT]
    store._rewrite_after = 0  # type: ignore[attr-defined]
    assert store.tidy()
    store.release()


def test_one_database_has_room_for_several_surveys(tmp_path: Path) -> None:
    place = postgres().database()
    with pytest.raises(ValueError, match="no survey"):
        collected(place)
    surveys = [a_survey(batch=1, id=name) for name in ("a-b", "c" * 64)]
    for number, survey in enumerate(surveys):
        store = opened(place, survey)
        store.keep([response(number)])
        store.release()
        assert collected(f"{place}#{survey.id}").survey.id == survey.id
    with pytest.raises(ValueError, match=r"several surveys \(a-b, c{64}\)"):
        collected(place)
    with pytest.raises(ValueError, match="no survey 'd'"):
        backup(f"{place}#d", str(tmp_path / "copy.db"))
    with pytest.raises(ValueError, match="names the survey 'a-b'"):
        opened(f"{place}#a-b", surveys[1])


def test_names_of_schemas_are_distinct_and_short_enough() -> None:
    names = ["a" * 64, "a" * 63, "a" * 56, "a" * 57, "a" * 63 + "b", "a-b", "ab"]
    assert len({schema(name) for name in names}) == len(names)
    assert max(len(schema(name)) for name in names) <= 63


def test_a_schema_of_somebody_else_is_left_as_it_is(url: str, connection: psycopg.Connection) -> None:
    survey = a_survey()
    connection.execute(f"create schema {schema(survey.id)}")
    with pytest.raises(ValueError, match="left as it is"):
        opened(url, survey)


def test_a_server_that_logs_statements_is_silenced_or_refused(url: str, connection: psycopg.Connection) -> None:
    database = url.partition("?")[0].rpartition("/")[2]
    server = postgres()
    connection.execute("create role clerk login")
    connection.execute(f"grant create on database {database} to clerk")
    for setting, value in (("log_statement", "all"), ("log_min_duration_statement", "0")):
        connection.execute(f"alter role clerk set {setting} = '{value}'")
        connection.execute(f"alter role warner in database {database} set {setting} = '{value}'")
    with pytest.raises(ValueError, match="alter role clerk set log_statement = 'none'"):
        opened(server.url(database, "clerk"), a_survey())
    connection.execute("alter role clerk set log_statement = 'none'")
    with pytest.raises(ValueError, match="log_min_duration_statement is '0'"):
        opened(server.url(database, "clerk"), a_survey())
    bundle = response(0)
    store = opened(url, a_survey())  # by a superuser, who may turn it off
    store.keep([bundle])
    store.release()
    assert hashed("seen", bundle.nonce).hex() not in server.log()
    assert "insert into seen" not in server.log()
    connection.execute(f"alter role warner in database {database} reset all")


def test_a_server_that_does_not_wait_for_the_disk_is_refused_or_told_to(
    url: str, connection: psycopg.Connection
) -> None:
    database = url.partition("?")[0].rpartition("/")[2]
    connection.execute(f"alter role warner in database {database} set synchronous_commit = off")
    store = opened(url, a_survey())
    assert store._connection.execute("show synchronous_commit").fetchone() == ("on",)  # type: ignore[attr-defined]
    store.release()
    connection.execute(f"alter role warner in database {database} reset all")


def test_whoever_may_not_read_is_told_so_in_one_line() -> None:
    import psycopg

    place = postgres().database()
    for name in ("one", "two"):
        opened(place, a_survey(id=name)).release()
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute("drop role if exists nobody_here")
        connection.execute("create role nobody_here login")
    with pytest.raises(OSError, match=r"^PostgreSQL: permission denied for schema warner_one$"):
        collected(place.replace("warner@", "nobody_here@", 1))


def test_a_server_that_is_not_there_is_one_clear_line() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(OSError, match=r"^PostgreSQL: .*nowhere") as told:
        opened("postgresql://me:secret@/warner?host=/nowhere", a_survey())
    assert "secret" not in str(told.value)


@pytest.mark.parametrize("url", ["postgresql://me:secret@[::/warner", "postgresql://me:secret word@/warner"])
def test_a_url_that_cannot_be_read_is_not_repeated(url: str) -> None:
    with pytest.raises(ValueError, match="cannot read this URL") as told:
        opened(url, a_survey())
    assert "secret" not in str(told.value)
