"""The command `warner`: one clear line for every failure, and never a traceback for a mistake of the user's."""

from __future__ import annotations

import os
import sys

INTERRUPTED = 130
STOPPED = "interrupted; nothing was written"


def main() -> None:
    """Run the command line."""
    try:
        from warner.cli import app
    except ImportError as error:
        _fail(f"the command line needs {error.name}: pip install 'warner[cli]'")
    try:
        code = app(prog_name="warner", standalone_mode=False)
        if code == INTERRUPTED:  # Typer makes this of Ctrl-C
            _fail(STOPPED, INTERRUPTED)
        sys.exit(code if isinstance(code, int) else 0)
    except KeyboardInterrupt:
        _fail(STOPPED, INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has seen enough (| head). Let the interpreter's last flush go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except (ValueError, TypeError, OSError, ImportError) as error:
        _fail(str(error))
    except Exception as error:
        if type(error).__module__.startswith(("click", "typer")):
            _say(error)
        raise


def _say(error: Exception) -> None:
    """Show a wrong option as Click words it; an abort is Ctrl-C at a prompt."""
    if type(error).__name__ == "Abort":
        _fail(STOPPED, INTERRUPTED)
    _fail(getattr(error, "format_message", lambda: str(error))())


def _fail(message: str, code: int = 2) -> None:
    sys.stderr.write(f"warner: {message}\n")
    sys.exit(code)


if __name__ == "__main__":
    main()
