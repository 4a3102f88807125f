"""Browsers, and new databases of both kinds."""

from __future__ import annotations

import tempfile
from itertools import count
from typing import TYPE_CHECKING

import pytest

from service.browsers import BROWSERS, chromium, firefox
from service.databases import MEMORY, Place, postgres

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from service.browsers import ChromiumPage, FirefoxPage, Page

NUMBERS = count()


@pytest.fixture(scope="session")
def database() -> Callable[[], str]:
    urls: list[str] = []

    def url() -> str:
        if not urls:
            urls.append(postgres().database())
        return urls[0]

    return url


@pytest.fixture(params=["sqlite", "postgres"])
def places(request: pytest.FixtureRequest, database: Callable[[], str]) -> Iterator[Callable[[], Place]]:
    """Return new paths of one kind."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:

        def fresh() -> Place:
            name = f"survey-{next(NUMBERS)}"
            if request.param == "sqlite":
                return Place("sqlite", f"{folder}/{name}.db", name)
            return Place("postgres", f"{database()}#{name}", name)

        fresh()  # skipped here if there is no such database
        yield fresh


@pytest.fixture
def place(places: Callable[[], Place]) -> Place:
    return places()


@pytest.fixture(scope="session")
def firefox_page() -> Iterator[FirefoxPage]:
    """Start Firefox once, which takes seconds; Chromium's driver would be in the way of other tests."""
    with firefox() as started:
        yield started


@pytest.fixture(scope="module")
def tab() -> Iterator[ChromiumPage]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module", params=BROWSERS)
def page(request: pytest.FixtureRequest) -> Iterator[Page]:
    """Return a page of each browser."""
    if request.param == "firefox":
        yield request.getfixturevalue("firefox_page")
    else:
        with chromium() as started:
            yield started
