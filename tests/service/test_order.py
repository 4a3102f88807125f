"""A stolen database does not tell who reported what: the reader of the file pairs no better than chance."""

from __future__ import annotations

import json
import os
import sqlite3
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cases import COIN
from collecting_cases import open_survey
from service.forensics import cells, changes
from warner import RandomizedResponse
from warner.service.responses import Bundle
from warner.service.stores import backup
from warner.service.stores.contract import UNSPENT_RECEIPT, hashed
from warner.service.stores.sqlite import SqliteStore
from warner.service.survey import survey_from_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from warner.service.survey import Survey

PEOPLE = 80
# Everybody sends another report. A pairing that knows nothing is a random permutation of them, and at least m are
# right with probability at most E[C(X, m)] = 1/m!, X the number of fixed points: for m = 10 below 3e-7.
SURPRISING = 10
COUNTERS = [RandomizedResponse(PEOPLE, odds=(3, 1))]


def a_survey(designs: Any = COUNTERS, **fields: Any) -> Survey:
    return survey_from_json(json.dumps(open_survey(designs, access="invited", **fields)))


def opened(path: Path, survey: Survey) -> SqliteStore:
    """Open a store that does not wait for the disk: what is written where is the same."""
    store = SqliteStore.opened(str(path), survey)
    store._connection.execute("pragma synchronous = off")
    return store


def guessed(image: bytes) -> dict[bytes, int]:
    """Pair spent invitations with reports, both in the order in which the file shows them to be written."""
    found = [cell.row for cell in cells(image)]
    spent = [
        row[0] for row in found if len(row) == 2 and isinstance(row[1], bytes) and row[1] not in {b"", UNSPENT_RECEIPT}
    ]
    reports = [row[1] for row in found if len(row) == 4 and isinstance(row[2], float) and row[2] + row[3]]
    return dict(zip(spent, reports, strict=True))


def guessed_from_log(image: bytes, log: bytes) -> dict[bytes, int]:
    """Pair invitations and reports that one transaction has written."""
    pages = {number + 1: image[4096 * number : 4096 * (number + 1)] for number in range(len(image) // 4096)}
    pairs = {}
    for rows in changes(pages, log):
        spent = [row[0] for row in rows if len(row) == 2 and isinstance(row[0], bytes)]
        reports = [row[1] for row in rows if len(row) == 4]
        if len(spent) == len(reports) == 1:
            pairs[spent[0]] = reports[0]
    return pairs


def right(guesses: dict[bytes, int], truth: dict[bytes, int]) -> int:
    return sum(truth.get(token) == report for token, report in guesses.items())


def people(rng: np.random.Generator) -> tuple[list[bytes], list[Bundle], dict[bytes, int]]:
    """Return invitations, responses in the order in which they come, each with another report, and who sent which."""
    tokens = [rng.bytes(16) for _ in range(PEOPLE)]
    reports = rng.permutation(PEOPLE).tolist()
    sent = [Bundle(rng.bytes(16), token, ((report,),)) for token, report in zip(tokens, reports, strict=True)]
    truth = {hashed("token", token): report for token, report in zip(tokens, reports, strict=True)}
    return tokens, [sent[i] for i in rng.permutation(PEOPLE)], truth


def test_the_reader_pairs_everybody_in_a_database_of_plain_rows(tmp_path: Path) -> None:
    tokens, sent, truth = people(np.random.default_rng(1))
    path = tmp_path / "plain.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("pragma synchronous = off")
    # Random keys, tokens apart from reports, no times: what one would do at first.
    connection.execute("create table spent(token blob primary key, receipt blob) without rowid")
    connection.execute("create table reports(key blob primary key, code int, seen real, more real) without rowid")
    for bundle in sent:
        assert bundle.token is not None
        connection.execute("begin")
        connection.execute("insert into spent values(?, ?)", (hashed("token", bundle.token), os.urandom(16)))
        connection.execute("insert into reports values(?, ?, 1.5, 0.5)", (os.urandom(16), bundle.cells[0][0]))
        connection.execute("commit")
    connection.close()
    assert len(tokens) == PEOPLE
    assert right(guessed(path.read_bytes()), truth) == PEOPLE


def test_the_reader_pairs_nobody_in_ours(tmp_path: Path) -> None:
    tokens, sent, truth = people(np.random.default_rng())
    path = tmp_path / "collected.db"
    store = opened(path, a_survey(batch=7))
    store.invite(tokens)
    for bundle in sent:
        store.keep([bundle])
    store.tidy()
    assert (tmp_path / "collected.db-wal").stat().st_size == 0
    images = [path.read_bytes()]
    backup(str(path), str(tmp_path / "copy.db"))
    images.append((tmp_path / "copy.db").read_bytes())
    store.close()
    store.release()
    images.append(path.read_bytes())
    for image in images:
        guesses = guessed(image)
        assert len(guesses) == PEOPLE  # it does read the rows
        assert right(guesses, truth) < SURPRISING


def test_the_log_tells_who_reported_what_until_it_is_emptied(tmp_path: Path) -> None:
    tokens, sent, truth = people(np.random.default_rng(2))
    path, log = tmp_path / "collected.db", tmp_path / "collected.db-wal"
    store = opened(path, a_survey(batch=1000))
    store.invite(tokens)
    store.tidy()
    before = path.read_bytes()
    for bundle in sent[:50]:
        store.keep([bundle])
    pairs = guessed_from_log(before, log.read_bytes())
    assert right(pairs, truth) == len(pairs) > 40  # but for those after which the log was begun anew
    assert store.tidy()
    assert guessed_from_log(before, log.read_bytes()) == {}
    store.release()
    assert [path.name for path in tmp_path.iterdir()] == ["collected.db"]


def masked(image: bytes) -> bytes:
    """Leave out how often the file was changed, and by which SQLite."""
    return image[:24] + bytes(4) + image[28:92] + bytes(8) + image[100:]


def file_of(path: Path, survey: Survey, tokens: list[bytes], together: Sequence[Sequence[Bundle]]) -> bytes:
    store = opened(path, survey)
    store.invite(tokens)
    for bundles in together:
        store.keep(bundles)
    store.release()
    image = path.read_bytes()
    path.unlink()
    return masked(image)


def test_the_file_is_the_same_whoever_sent_what_and_in_which_order(tmp_path: Path) -> None:
    # 300 people and three answers: the counters pass 128 and 256, where an integer would take more bytes than before.
    rng = np.random.default_rng(3)
    survey = a_survey([COIN, RandomizedResponse(3, odds=(3, 1))], batch=10)
    n = 300
    tokens, nonces = [rng.bytes(16) for _ in range(n)], [rng.bytes(16) for _ in range(n)]
    reports = [(int(rng.random() < 0.1), int(rng.integers(3))) for _ in range(n)]

    def sent(whose: Sequence[int], order: Sequence[int]) -> list[Bundle]:
        pairs = zip(tokens, nonces, (reports[i] for i in whose), strict=True)
        bundles = [Bundle(nonce, token, ((first,), (second,))) for token, nonce, (first, second) in pairs]
        return [bundles[i] for i in order]

    plain = sent(range(n), range(n))
    files = {
        file_of(tmp_path / "a.db", survey, tokens, [plain[i : i + 10] for i in range(0, n, 10)]),
        file_of(
            tmp_path / "b.db", survey, tokens, [[bundle] for bundle in sent(range(n), rng.permutation(n).tolist())]
        ),
        file_of(tmp_path / "c.db", survey, tokens, [sent(rng.permutation(n).tolist(), rng.permutation(n).tolist())]),
    }
    assert len(files) == 1


def contents(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


@pytest.mark.parametrize("invited", [True, False])
def test_neither_nonces_nor_invitations_stand_in_the_files(tmp_path: Path, invited: bool) -> None:
    token, nonce = os.urandom(16), os.urandom(16)
    document = open_survey([COIN], access="invited" if invited else "open")
    store = opened(tmp_path / "collected.db", survey_from_json(json.dumps(document)))
    if invited:
        store.invite([token])
    store.keep([Bundle(nonce, token if invited else None, ((0,),))])
    found = contents(tmp_path)
    secrets = (token, nonce, token.hex().encode(), nonce.hex().encode())
    assert not [secret for secret in secrets if secret in found]
    store.release()


def test_forgotten_nonces_leave_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    today = "warner.service.stores.contract.today"
    monkeypatch.setattr(today, lambda: date(2026, 3, 1))
    store = opened(tmp_path / "collected.db", survey_from_json(json.dumps(open_survey([COIN]))))
    nonces = [os.urandom(16) for _ in range(300)]
    store.keep([Bundle(nonce, None, ((0,),)) for nonce in nonces])
    store.close()
    store.tidy()
    hashes = [hashed("seen", nonce) for nonce in nonces]
    assert all(one in contents(tmp_path) for one in hashes)
    monkeypatch.setattr(today, lambda: date(2026, 3, 3))
    store.tidy()
    assert not any(one in contents(tmp_path) for one in hashes)
    store.release()
