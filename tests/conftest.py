from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

# The machines that run this are shared: how long one example takes says nothing about it.
settings.register_profile("patient", deadline=None, max_examples=50)
settings.register_profile("long", deadline=None, max_examples=300)  # of `make test-all`
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "patient"))

# Workers fill the processors; several threads for one small matrix would only wait for each other, busily. NumPy is
# not imported yet, and processes that tests start inherit this.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Texts are as wide as the terminal, which tests do not have. Pages have 80 columns.
os.environ["COLUMNS"] = "120"

# A shell starts what runs in its background with Ctrl-C ignored, and so would all commands be that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

STARTED = pytest.StashKey[float]()


@pytest.fixture(scope="session", autouse=True)
def _one_database() -> Iterator[None]:
    """Use one DuckDB connection for all files in this process: starting one takes longer than reading a small file."""
    from warner.reports import files
    from warner.runtime import refuse_small_address_space

    own, started = files._database, cache(files._database)

    def cursor() -> Any:
        if sys.modules.get("duckdb", "to be loaded") is None:  # a test lets it be absent
            return own()
        refuse_small_address_space()
        database = started().cursor()
        database.execute("RESET disabled_optimizers")
        return database

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "_database", cursor)
        yield


@pytest.fixture(scope="session")
def _forked_readers() -> Iterator[Callable[..., Any]]:
    from readers import forked_readers

    with forked_readers() as child:
        yield child


@pytest.fixture
def quick_readers(_forked_readers: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Read files of SPSS, Stata and SAS in processes that start at once."""
    monkeypatch.setattr("warner.reports.readstat._child", _forked_readers)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--processor-time", action="store_true", help="sum the processor seconds of each directory")


def processor_seconds() -> float:
    """Return what this process used, and those that it started and that ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    item.stash[STARTED] = processor_seconds()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    report = yield  # of setting up, calling or tearing down
    report.processor_seconds = processor_seconds() - item.stash[STARTED]
    item.stash[STARTED] += report.processor_seconds
    return report


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if not config.getoption("--processor-time"):
        return
    seconds: Counter[str] = Counter()
    for report in (report for reports in terminalreporter.stats.values() for report in reports):
        if hasattr(report, "processor_seconds"):
            seconds["/".join(PurePath(report.nodeid.partition("::")[0]).parts[:2])] += report.processor_seconds
    terminalreporter.section("processor seconds")
    for place, used in seconds.most_common():
        terminalreporter.line(f"{used:8.1f}  {place}")
