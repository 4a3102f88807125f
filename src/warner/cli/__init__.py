"""The command line: one file for each family of commands. They parse, call one function and print.

No arithmetic lives here. The module of a command is imported when that command is called: `warner --help`, completion
in the shell and a misspelled command need the table below, and nothing of the library.

Its files::

    designing    design
    showing      show
    mechanisms   a design from the words of a shell
    randomizing  randomize
    collecting   collect, invite, close, backup
    tallying     tally
    estimating   estimate
    follow_ups   what estimate may be asked besides the shares
    grouping     groups
    discovering  discover
    comparing    compare
    regressing   regress
    checking     check
    associating  associate
    planning     plan
    open_domains  the options of open domains
    numbers      the options of answers that are numbers
    auditing     audit
    sources      where reports come from: files, pipes, tables of databases, surveys, saved tallies; and their design
    options      options that several commands share
    parsing      the words of a shell: groups of options, --quiet, lists of answers
    delivering   results printed as text, JSON or CSV, or written to a file
    messages     what is told besides the result: progress, warnings, files
"""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from warner.cli.messages import QUIET_HELP, set_quiet
from warner.cli.parsing import AnswersCommand, convert_plain_words, with_options
from warner.lazy import postpone_parts_of_numpy


class Listed(NamedTuple):
    """A command in the list: the module that it stands in, its first sentence, and an example."""

    module: str
    summary: str
    example: str


# In the order of a survey
COMMANDS = {
    "plan": Listed(
        "planning",
        "Plan a survey: find the number of people, epsilon or the half-width.",
        "warner plan --size 10 --epsilon 1 --half-width 0.02",
    ),
    "design": Listed(
        "designing",
        "Write a design file, which says how every answer is randomized.",
        "warner design never once often --epsilon 1 -o design.json",
    ),
    "show": Listed("showing", "Explain a design in plain words.", "warner show design.json"),
    "randomize": Listed(
        "randomizing",
        "Randomize true answers into reports.",
        "warner randomize answers.csv --column answer --design design.json -o reports.parquet",
    ),
    "collect": Listed(
        "collecting",
        "Serve a survey whose answers are randomized in the respondents' browsers, and keep counts, not answers.",
        "warner collect drinking.json --port 8000 --limit 5000",
    ),
    "invite": Listed(
        "collecting",
        "Make links that are good for one response each, revoke them, or tell how many are left.",
        "warner invite drinking.json 500 --url https://survey.example.org -o links.csv",
    ),
    "close": Listed(
        "collecting",
        "Close a survey for good, and publish the responses that are still waiting.",
        "warner close drinking.db",
    ),
    "backup": Listed(
        "collecting",
        "Copy the database of a survey to an SQLite file, even while the survey is running.",
        "warner backup drinking.db -o copy.db",
    ),
    "tally": Listed(
        "tallying",
        "Count reports and save the tally, or add up tallies that were saved.",
        "warner tally reports.csv --column answer --design design.json -o day1.json",
    ),
    "estimate": Listed(
        "estimating",
        "Estimate what people would have answered.",
        "warner estimate reports.csv --column answer --design design.json --by region",
    ),
    "discover": Listed(
        "discovering",
        "Find the frequent values of an open domain.",
        "warner discover reports.csv --column word --design words.json --expected dictionary.txt",
    ),
    "groups": Listed(
        "grouping",
        "Estimate the shares of many groups together.",
        "warner groups reports.csv --column answer --design design.json --by region --plot regions.png",
    ),
    "compare": Listed(
        "comparing",
        "Compare the share of an answer between two samples of different people, each under its own design.",
        "warner compare direct.json dice.json --answer yes",
    ),
    "regress": Listed(
        "regressing",
        "Estimate how the answers depend on what else is known about people.",
        'warner regress reports.csv "answer ~ age + C(region)" --design design.json',
    ),
    "associate": Listed(
        "associating",
        "Test whether the answers to several questions are associated.",
        "warner associate reports.csv cheated=dice.json copied=dice.json --numeric age",
    ),
    "check": Listed(
        "checking",
        "Check whether reports fit the design.",
        "warner check reports.csv --column answer --design design.json --fakes 100",
    ),
    "audit": Listed(
        "auditing",
        "Audit a client: find a lower bound on the epsilon that it really spends.",
        'warner audit "python client.py" --design design.json --answers never often',
    ),
}


class CommandsWhenCalled(TyperGroup):
    """The list of commands; the module of a command is imported when it is called, or its options are completed."""

    def __init__(self, **options: Any) -> None:
        listed = {name: TyperCommand(name, help=command.summary) for name, command in COMMANDS.items()}
        super().__init__(**{**options, "commands": listed})

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options before the name of a command."""
        convert_plain_words(self.get_params(ctx))
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Give the command itself in the place of the one in the list; signals interrupt it from now on."""
        name, command, rest = super().resolve_command(ctx, args)
        imported = command and _imported(str(name))
        if ctx.obj is not None:  # not where options are completed
            ctx.obj()
        return name, imported, rest


def _imported(name: str) -> Any:
    """Give the command of this name, with what every command has."""
    postpone_parts_of_numpy()
    function = getattr(import_module(f"warner.cli.{COMMANDS[name].module}"), name)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name, cls=AnswersCommand, epilog=f"Example: {COMMANDS[name].example}")(with_options(function))
    return get_command(alone)


app = typer.Typer(
    name="warner",
    cls=CommandsWhenCalled,
    help="Estimate what people would have answered, from answers that were randomized on their side.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from warner import __version__

        typer.echo(f"warner {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help=QUIET_HELP)] = False,
) -> None:
    set_quiet(quiet)
