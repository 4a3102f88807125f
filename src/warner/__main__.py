"""Entry point of the command `warner`: one line for each error, and a traceback only for internal errors."""

from __future__ import annotations

import atexit
import codecs
import gc
import os
import signal
import sys

TYPE_CHECKING = False  # as in `typing`, whose import would take as long as all the others
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any, TypeAlias

    Handler: TypeAlias = Callable[[int, FrameType | None], object] | signal.Handlers

INTERRUPTED = 130
TERMINATED = 143
NEW_OBJECTS = 100_000  # before the garbage collector runs; the default costs an eighth of the time of loading modules
INTERNAL_ERROR = 70  # EX_SOFTWARE of sysexits.h; Python's 1 is the verdict of `warner check`
INTERRUPTED_MESSAGE = "interrupted; no file is half-written"
COMPLETE = "_WARNER_COMPLETE"  # set by the shell: the kind of completion, or the script to print
TERMINATED_MESSAGE = "terminated; no file is half-written"
BUG_MESSAGE = "this is a bug in warner, not a problem with your data; please report it with the lines above"
ASCII_SUBSTITUTES = {
    "█": "#",
    "ε": "epsilon",
    "±": "+-",
    "−": "-",
    "–": "-",
    "≤": "<=",
    "≥": ">=",
    "→": "->",
    "…": "...",
}
INTERRUPTED_QUERY = "Query interrupted"  # DuckDB turns Ctrl-C into a RuntimeError with this text


class TerminatedError(BaseException):
    """SIGTERM from a scheduler, a container or a time limit."""


def main() -> None:
    """Run the command line."""
    _prepare_process()
    try:
        try:
            from warner.cli import app
        except ImportError as error:
            from warner.text import not_installed

            _fail(not_installed(f"the command line needs {error.name}", "cli"))
        _complete(app)
        color = False if os.environ.get("NO_COLOR") else None  # None: on a terminal
        with app.make_context("warner", sys.argv[1:], obj=_handle_signals, color=color) as context:
            app.invoke(context)
        sys.exit(0)
    except KeyboardInterrupt:
        _fail(INTERRUPTED_MESSAGE, INTERRUPTED)
    except TerminatedError:
        _fail(TERMINATED_MESSAGE, TERMINATED)
    except MemoryError:
        _fail("there is not enough memory for this; use fewer answers or groups, or a larger machine")
    except BrokenPipeError:
        # The reader of the output has closed it (| head); the interpreter's last flush must not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        reason = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        _fail(str(reason if error.strerror else error))
    except (ValueError, TypeError, ImportError) as error:
        _fail(str(error))
    except Exception as error:  # noqa: BLE001 - an internal error, reported as one
        if str(error) == INTERRUPTED_QUERY:
            _fail(INTERRUPTED_MESSAGE, INTERRUPTED)
        if type(error).__module__.startswith("click"):
            _end_by_click(error)
        import traceback

        traceback.print_exc()
        _fail(BUG_MESSAGE, INTERNAL_ERROR)


def run() -> None:
    """Run the command line, and end the process without the interpreter's finalization.

    That takes as long as reading a small file, and DuckDB prints errors about objects that are alive then.
    """
    try:
        main()
    except SystemExit as stopped:
        threading = sys.modules.get("threading")
        if threading is not None and threading.active_count() > 1:  # Python waits for other threads
            raise
        try:
            atexit._run_exitfuncs()
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        except OSError:
            raise stopped from None
        os._exit(stopped.code if isinstance(stopped.code, int) else 0)


def _prepare_process() -> None:
    """Set the garbage collector, encoding errors and early signal handlers."""
    if sys.stdout is None:  # a file that is opened later could get its descriptor
        _fail("standard output is closed; send it to a file or to /dev/null")
    gc.set_threshold(NEW_OBJECTS)
    codecs.register_error("ascii-substitutes", _substitute)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="ascii-substitutes")
    _set_handlers(_exit_at_once, _exit_at_once)


def _handle_signals() -> None:
    """Turn signals into exceptions while the command runs, and ignore them at the exit of the process."""
    _set_handlers(signal.default_int_handler, _raise_terminated)
    atexit.register(_set_handlers, signal.SIG_IGN, signal.SIG_IGN)


def _set_handlers(interrupted: Handler, terminated: Handler) -> None:
    """Set the handlers of Ctrl-C and SIGTERM, except for signals that the parent process ignores."""
    for number, handler in ((signal.SIGINT, interrupted), (signal.SIGTERM, terminated)):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)


def _exit_at_once(number: int, frame: FrameType | None) -> None:
    """Exit while libraries load: nothing is open yet, and a library could print or lose an exception."""
    if sys.stderr is not None:
        os.write(2, f"warner: {INTERRUPTED_MESSAGE if number == signal.SIGINT else TERMINATED_MESSAGE}\n".encode())
    os._exit(128 + number)


def _substitute(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that the terminal's encoding lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(
        ASCII_SUBSTITUTES.get(c) or c.encode("ascii", "backslashreplace").decode() for c in missing
    ), error.end


def _raise_terminated(number: int, frame: FrameType | None) -> None:
    raise TerminatedError


def _complete(app: Any) -> None:
    """Complete a command line, or print the completion script, if the shell asks for it."""
    if instruction := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(app, {}, "warner", COMPLETE, instruction))


def _end_by_click(error: Any) -> None:
    """Exit as an exception of Click demands: with an exit code, help, or a line about an option or value."""
    kind = type(error).__name__
    if kind == "Exit":
        sys.exit(error.exit_code)
    if kind == "Abort":
        _fail(INTERRUPTED_MESSAGE, INTERRUPTED)
    if kind == "NoArgsIsHelpError":
        import click

        click.echo(error.format_message(), color=error.ctx.color)
        sys.exit(0)
    _fail(error.format_message())


def _fail(message: str, code: int = 2) -> None:
    if sys.stderr is not None:
        from warner.text import bounded, printable

        colored = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
        name = "\x1b[31mwarner:\x1b[0m" if colored else "warner:"
        sys.stderr.write(f"{name} {bounded(printable(message, keep=chr(10)))}\n")
    sys.exit(code)


if __name__ == "__main__":
    run()
