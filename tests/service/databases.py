"""Places for the databases of tests; a private PostgreSQL server: no TCP port, one second to start.

Where there are no binaries of PostgreSQL, or no psycopg, tests that ask for it are skipped with a word.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cases import COIN
from collecting_cases import open_survey
from warner.service.responses import Bundle
from warner.service.stores import opened
from warner.service.survey import Survey, survey_from_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.service.stores.contract import Store

DEBIAN = "/usr/lib/postgresql/*/bin"
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # a folder that waits for no disk
NUMBERS = count()


class PostgresServer:
    """A PostgreSQL server that can be killed and started again."""

    def __init__(self, binaries: Path) -> None:
        self.binaries = binaries
        # A crash of the server is the same in memory, and its recovery needs no disk.
        self.folder = Path(tempfile.mkdtemp(prefix="warner-postgres-", dir=MEMORY))
        if os.geteuid() == 0:  # which PostgreSQL refuses to run as
            shutil.chown(self.folder, "postgres")
        self._run("initdb", "-D", self._data, "-U", "warner", "--auth=trust", "-E", "UTF8", "--no-locale")
        self.start()

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def start(self) -> None:
        options = f"-c listen_addresses='' -k {self.folder} -c unix_socket_permissions=0777 -c max_connections=40"
        self._run("pg_ctl", "-D", self._data, "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def kill(self) -> None:
        """Stop the server as a crash does: without a checkpoint, so that the next start recovers from its log."""
        self._run("pg_ctl", "-D", self._data, "-m", "immediate", "stop")

    def database(self) -> str:
        """Return the URL of a new, empty database."""
        name = f"test{next(NUMBERS)}"
        self._run("createdb", "-h", str(self.folder), "-U", "warner", name)
        return self.url(name)

    def url(self, name: str, user: str = "warner") -> str:
        return f"postgresql://{user}@/{name}?host={self.folder}"

    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def remove(self) -> None:
        try:
            self.kill()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        command = [*user, str(self.binaries / program), *arguments]
        # To a file, not a pipe: the server that pg_ctl starts keeps it open.
        with (self.folder.parent / f"{self.folder.name}.out").open("wb") as output:
            done = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, cwd="/", check=False, timeout=60)
        if done.returncode:
            raise RuntimeError(f"{program}: {Path(output.name).read_text(encoding='utf-8', errors='replace')}")
        Path(output.name).unlink()


def postgres() -> PostgresServer:
    """Return the server of this process of tests, or skip the test that asks for it."""
    if importlib.util.find_spec("psycopg") is None:
        pytest.skip("psycopg is not installed")
    found = sorted(
        Path("/").glob(DEBIAN.lstrip("/")), key=lambda path: [int(part) for part in path.parts[-2].split(".")]
    )
    named = shutil.which("initdb")
    if not found and named is None:
        pytest.skip("there is no PostgreSQL server on this machine (initdb was not found)")
    if not hasattr(os, "geteuid") or (os.geteuid() == 0 and shutil.which("runuser") is None):
        pytest.skip("PostgreSQL does not run as root here")
    return _server(found[-1] if found else Path(str(named)).parent)


@functools.cache
def _server(binaries: Path) -> PostgresServer:
    server = PostgresServer(binaries)
    atexit.register(server.remove)
    return server


@dataclass(frozen=True)
class Place:
    """Where a test keeps its survey: a new file, or a new schema of one database."""

    kind: str
    place: str
    id: str

    def survey(self, designs: Any = (COIN,), **fields: Any) -> Survey:
        return survey_from_json(json.dumps(open_survey(designs, id=self.id, **fields)))

    @contextmanager
    def opened(self, survey: Survey) -> Iterator[Store]:
        store = opened(self.place, survey)
        try:
            yield store
        finally:
            store.release()

    def execute(self, statement: str) -> None:
        """Change the tables behind the store's back."""
        if self.kind == "sqlite":
            with sqlite3.connect(self.place) as connection:
                connection.execute(statement)
            connection.close()
            return
        import psycopg

        url, _, name = self.place.partition("#")
        with psycopg.connect(url) as other:
            other.execute(f"set search_path = warner_{name.replace('-', '_')}")
            other.execute(statement)


def response(*cells: int, token: bytes | None = None) -> Bundle:
    """Return a response that adds one to a counter of each question."""
    return Bundle(os.urandom(16), token, tuple((cell,) for cell in cells))
