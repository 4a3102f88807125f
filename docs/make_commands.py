"""Write `commands.md`, the reference of the command line, from the commands' own help.

`make docs` runs it; a test fails when the page and the commands disagree.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from warner.cli import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Callable

OPENING = """# The commands

Every step of a survey is a command. It reads a file, or `-` for standard input, and prints a table for people, or JSON
or CSV for programs. An error is reported in one line on standard error, with exit code 2. After Ctrl-C the exit code is
130 (0 for `warner collect`, which is meant to be stopped that way), and after SIGTERM 143; 70 means a mistake in warner
itself. `warner check` and `warner audit` give their verdict as exit code 0 or 1, which no failure has. Files are
written completely or not at all. This page is generated from the commands' own help.

```console
$ warner design never once often --epsilon 1 -o design.json
$ warner randomize answers.csv --column answer --design design.json -o reports.csv
$ warner estimate reports.csv --column answer --design design.json --report page.html
```

## Complete commands with the Tab key

The shell can complete the names of commands, options, choices and files. Add a line to the file that your shell reads
when it starts:

| shell | file | line |
| --- | --- | --- |
| Bash 4.4 or newer | `~/.bashrc` | `eval "$(_WARNER_COMPLETE=bash_source warner)"` |
| Zsh | `~/.zshrc` | `eval "$(_WARNER_COMPLETE=zsh_source warner)"` |
| Fish | `~/.config/fish/completions/warner.fish` | `_WARNER_COMPLETE=fish_source warner \\| source` |
"""


def printed(*words: str) -> str:
    """Run `warner` with these words in a process of its own, and give what it prints."""
    surroundings = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "warner", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=surroundings).stdout


def page(run: Callable[..., str] = printed) -> str:
    """Return the whole page, from what the commands print when they are run."""
    parts = [OPENING]
    groups = [(command.split()[0], command) for command in COMMANDS]
    for command in ("", *dict.fromkeys(name for pair in groups for name in pair)):
        text = "\n".join(line.rstrip() for line in run(*command.split(), "--help").strip().splitlines())
        parts.append(f"## `{' '.join(['warner', *command.split()])}`\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    (Path(__file__).parent / "reference" / "commands.md").write_text(page(), encoding="utf-8")
