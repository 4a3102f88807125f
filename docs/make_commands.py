"""Write the folder `reference/commands`: a page for each command, with its options in tables.

`make docs` runs it; a test fails when the pages and the commands disagree.
"""

from __future__ import annotations

import re
import textwrap
from inspect import cleandoc
from pathlib import Path

import click

from warner.cli import COMMANDS, command_named
from warner.cli.options import Command
from warner.cli.texts import ARGUMENTS, GENERAL, HEADINGS

FOLDER = Path(__file__).parent / "reference" / "commands"
OPENING = """# Commands

Every step of a survey is a command. It reads a file, or `-` for standard input, and prints a table for people, or JSON
or CSV for programs. Files are written completely or not at all. The pages of the commands are generated from their
help.

```console
$ warner design never once often --epsilon 1 -o design.json
$ warner randomize answers.csv --column answer --design design.json -o reports.csv
$ warner estimate reports.csv --column answer --design design.json --report page.html
```

"""
CLOSING = """
`warner --version` shows the version, and `warner COMMAND --help` the help of a command.

## Exit codes

| code | meaning |
| ---: | --- |
| 0 | success; for `warner check` and `warner audit`, the verdict that nothing was found |
| 1 | from `warner check` and `warner audit`: a misfit was found; from `warner compare --exit-code`: a share differs |
| 2 | invalid input, reported in one line on standard error |
| 70 | a bug in warner |
| 130 | interrupted by Ctrl-C (0 for `warner collect`, which is stopped that way) |
| 143 | stopped by SIGTERM |

## Complete commands with the Tab key

The shell can complete the names of commands, options, choices and files. Add a line to the file that your shell reads
when it starts:

| shell | file | line |
| --- | --- | --- |
| Bash 4.4 or newer | `~/.bashrc` | `eval "$(_WARNER_COMPLETE=bash_source warner)"` |
| Zsh | `~/.zshrc` | `eval "$(_WARNER_COMPLETE=zsh_source warner)"` |
| Fish | `~/.config/fish/completions/warner.fish` | `_WARNER_COMPLETE=fish_source warner \\| source` |
"""


def linked(text: str) -> str:
    """Return a text with its options as code, which else lose a hyphen."""
    return re.sub(r"(?<![`\w-])--[a-z][a-z-]*", r"`\g<0>`", text)


def prose(text: str) -> str:
    """Return the help of a command in Markdown; a paragraph after a backspace is a block of code."""
    parts = []
    for paragraph in cleandoc(text).split("\n\n"):
        code = paragraph.removeprefix("\b\n")
        parts.append(linked(code) if code == paragraph else f"```text\n{textwrap.dedent(code)}\n```")
    return "\n\n".join(parts)


def row(term: str, text: str) -> str:
    """Return a row of a table of options."""
    purpose, _, facts = text.partition("  [")
    facts = re.sub(r"default: ([^;]+)", r"Default: `\1`", facts.removesuffix("]"))
    facts = re.sub(r"(\d+)<=x<=(\d+)", r"From \1 to \2", facts)
    facts = facts.replace("; ", ". ").replace("x>=", "At least ").replace("required", "Required")
    escaped = [part.replace("|", r"\|") for part in (term, linked(purpose), facts and f" {facts}.")]
    return f"| `{escaped[0]}` | {escaped[1]}{escaped[2]} |"


def page(key: str) -> str:
    """Return the page of a command: its help, an example, and a table for each heading of its options."""
    command = command_named(key)
    assert isinstance(command, Command)
    context = click.Context(command, info_name=f"warner {key}", help_option_names=["-h", "--help"])
    parts = [f"# `warner {key}`", prose(str(command.help))]
    parts.append(f"```console\n$ {COMMANDS[key].example}\n```")
    parts.append(f"```text\nwarner {key} {' '.join(command.collect_usage_pieces(context))}\n```")
    tables: dict[str, list[str]] = {heading: [] for heading in (ARGUMENTS, *HEADINGS)}
    for one in command.get_params(context):
        record = one.get_help_record(context)
        if record is not None:
            heading = ARGUMENTS if isinstance(one, click.Argument) else command.headings.get(str(one.name), GENERAL)
            tables[heading].append(row(*record))
    for heading, rows in tables.items():
        if rows:
            title = "argument" if heading == ARGUMENTS else "option"
            parts.append("\n".join([f"## {heading}\n", f"| {title} | meaning |", "| --- | --- |", *rows]))
    return "\n\n".join(parts) + "\n"


def index() -> str:
    """Return the list of commands, with the tables of exit codes and completion."""
    rows = [f"| [`warner {key}`]({file_of(key)}) | {command.summary} |" for key, command in COMMANDS.items()]
    tree = ["```{toctree}", ":hidden:", "", *(file_of(key).removesuffix(".md") for key in COMMANDS), "```"]
    return OPENING + "\n".join(["| command | purpose |", "| --- | --- |", *rows, "", *tree, ""]) + CLOSING


def file_of(key: str) -> str:
    """Return the name of the page of a command."""
    return f"{key.replace(' ', '-')}.md"


def pages() -> dict[str, str]:
    """Return all pages by their names."""
    return {"index.md": index(), **{file_of(key): page(key) for key in COMMANDS}}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.md"):
        old.unlink()
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
