"""Messages besides the result: files that were written, warnings, progress of long work; with --quiet none of them."""

from __future__ import annotations

import sys
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Timer
from typing import TYPE_CHECKING, Any

import click

from warner.runtime import LOGGER
from warner.text import bounded, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE_SECONDS = 2.0  # before long work says that it goes on

_quiet: ContextVar[bool] = ContextVar("quiet", default=False)


def set_quiet(wanted: bool) -> None:
    """Tell nothing from now on but results and errors; or everything."""
    _quiet.set(wanted)


def is_quiet() -> bool:
    """Tell whether nothing but results and errors is wanted."""
    return _quiet.get()


def tell(line: str, *, err: bool = False) -> None:
    """Say what was done; names of files may hold control characters, which a terminal would obey."""
    if not is_quiet():
        click.echo("\n".join(bounded(printable(part)) for part in line.split("\n")), err=err)


def warn(warning: str) -> None:
    """Say what speaks against the result."""
    tell(f"warner: warning: {warning}", err=True)


@contextmanager
def warnings_in_one_line(python: str = "", shell: str = "") -> Iterator[None]:
    """Print each warning once, in one line, with words of the shell in the place of words of Python."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        warn(message.replace(python, shell) if python else message)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on standard error that long work goes on and how far it is, if that is a terminal and work is long."""
    if is_quiet() or sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    shown: list[Any] = []

    def show() -> None:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        bar = Progress(*columns, console=Console(stderr=True), transient=True)
        task = bar.add_task(what, total=None)
        bar.start()
        shown.extend([bar.stop, _following(lambda message: bar.update(task, description=f"{what}; {message}"))])

    timer = Timer(PATIENCE_SECONDS, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        for end in shown:
            end()


def _following(show: Callable[[str], None]) -> Callable[[], None]:
    """Show the messages of long computations from now on; return what ends it."""
    import logging

    class Follower(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            show(record.getMessage())

    logger, follower = logging.getLogger(LOGGER), Follower()
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(follower)

    def end() -> None:
        logger.removeHandler(follower)
        logger.setLevel(level)

    return end
