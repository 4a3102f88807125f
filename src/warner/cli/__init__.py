"""Command line: each command is declared as a dataclass, calls one function of the library and prints the result.

Help and completion load nothing of the library; the module of a command is imported when the command runs.

Its files::

    commands     declarations of the commands: one class each, with its help
    texts        help text of each option
    options      options from the fields of dataclasses; errors about arguments as errors about options
    estimating   estimate, with further quantities, and groups
    tallying     tally, discover, compare and check
    relating     regress and associate
    designing    design
    planning     plan
    randomizing  show, randomize and audit
    collecting   collect, and the commands of warner survey
    sources      sources of reports: files, pipes, tables of databases, surveys, saved tallies; and their design
    values       values from words: labels of a file, grids of numbers, numbers of answers
    delivering   output of results: text, JSON, CSV, files; inputs are never overwritten
    messages     messages other than results: progress, warnings, files
"""

from __future__ import annotations

from typing import Any, NamedTuple

import click

from warner.cli.messages import set_quiet
from warner.cli.texts import TEXTS, Context


class Listed(NamedTuple):
    """Module, summary and example of a command."""

    module: str
    summary: str
    example: str


# The commands of each module, and the groups of commands
COMMAND_MODULES = {
    "planning": "plan",
    "designing": "design",
    "randomizing": "show randomize audit",
    "collecting": "collect survey",
    "tallying": "tally discover compare check",
    "estimating": "estimate groups",
    "relating": "regress associate",
}
# Summaries and examples, in the order of a survey
COMMAND_LINES = """
plan: Plan a survey: find the sample size, epsilon or the half-width.
  warner plan --size 10 --epsilon 1 --half-width 0.02
design: Write a design file, which specifies how every answer is randomized.
  warner design never once often --epsilon 1 -o design.json
show: Explain a design in plain words.
  warner show design.json
randomize: Randomize true answers into reports.
  warner randomize answers.csv --column answer --design design.json -o reports.parquet
collect: Serve a survey whose answers are randomized in the respondents' browsers, and keep counts, not answers.
  warner collect drinking.json --port 8000 --limit 5000
survey new: Write a survey file; asks for its questions in the terminal.
  warner survey new exams.json --title Exams --question "Have you ever cheated?" --epsilon 2
survey serve: Serve a survey whose answers are randomized in the respondents' browsers, and keep counts, not answers.
  warner survey serve exams.json --share
survey link: Print a new link to the dashboard of a running survey.
  warner survey link exams.json
survey invite: Make links that are valid for one response each, revoke them, or count them.
  warner survey invite exams.json 500 --url https://survey.example.org -o links.csv
survey close: Close a survey for good, and publish the responses that are still waiting.
  warner survey close exams.db
survey backup: Copy the database of a survey to an SQLite file, even while the survey is running.
  warner survey backup exams.db -o copy.db
survey report: Write one page with the results of all questions, for readers without statistics.
  warner survey report exams.db -o report.html
survey notice: Write the privacy notice of a survey, in the language of its page.
  warner survey notice exams.json -o notice.html
tally: Count reports and save the tally, or add up tallies that were saved.
  warner tally reports.csv --column answer --design design.json -o day1.json
estimate: Estimate the shares of the true answers.
  warner estimate reports.csv --column answer --design design.json --by region
discover: Find the frequent values of an open domain.
  warner discover reports.csv --column word --design words.json --expected dictionary.txt
groups: Estimate the shares of many groups together.
  warner groups reports.csv --column answer --design design.json --by region --plot regions.png
compare: Compare all answers, or one, between two independent samples, each under its own design.
  warner compare direct.json dice.json --answer yes
regress: Estimate how the answers depend on other variables.
  warner regress reports.csv "answer ~ age + C(region)" --design design.json
associate: Test whether the answers to several questions are associated.
  warner associate reports.csv cheated=dice.json copied=dice.json --numeric age
check: Check whether reports fit the design.
  warner check reports.csv --column answer --design design.json --fakes 100
audit: Audit a client: find a lower bound on its actual epsilon.
  warner audit "python client.py" --design design.json --answers never often
"""


def _commands() -> dict[str, Listed]:
    modules = {name: module for module, names in COMMAND_MODULES.items() for name in names.split()}
    lines = COMMAND_LINES.strip().splitlines()
    pairs = [(*line.split(": ", 1), example.strip()) for line, example in zip(lines[::2], lines[1::2], strict=True)]
    return {name: Listed(modules[name.split()[0]], summary, example) for name, summary, example in pairs}


COMMANDS = _commands()
GROUPS = {"survey": "Run a web survey: write its file, serve it, and report its results."}


class Commands(click.Group):
    """The list of commands; the options of a command are declared when it is called or completed."""

    context_class = Context

    def __init__(self, prefix: str = "", **options: Any) -> None:
        self.prefix = prefix
        entries: dict[str, click.Command] = {}
        for key, command in COMMANDS.items():
            if key.startswith(prefix):
                name, _, rest = key.removeprefix(prefix).partition(" ")
                if rest and name not in entries:
                    entries[name] = Commands(f"{name} ", name=name, help=GROUPS[name], no_args_is_help=True)
                elif not rest:
                    entries[name] = click.Command(name, help=command.summary)
        super().__init__(commands=entries, **options)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read `help COMMAND` as `COMMAND --help`."""
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return the command with its options, instead of the entry of the list."""
        name, command, rest = super().resolve_command(ctx, args)
        is_group = command is None or isinstance(command, click.Group)
        return name, command if is_group else command_named(f"{self.prefix}{name}"), rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with their complete summaries."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, str(command.help)) for name, command in self.commands.items()])


def command_named(key: str) -> click.Command:
    """Return the command of this name, such as "plan" or "survey new", with its options."""
    from warner.cli.commands import declared
    from warner.cli.options import Command

    return Command(key, declared(key), COMMANDS[key].module, COMMANDS[key].example)


def _print_version(ctx: click.Context, _: click.Parameter, show: bool) -> None:
    if show and not ctx.resilient_parsing:
        from warner import __version__

        click.echo(f"warner {__version__}")
        ctx.exit()


def _flag(name: str, *spellings: str, **options: Any) -> click.Option:
    return click.Option([name, f"--{name}", *spellings], is_flag=True, help=TEXTS["", name].help, **options)


app = Commands(
    name="warner",
    help="Recover accurate statistics from answers that respondents randomized to protect their privacy.",
    callback=lambda version, quiet: set_quiet(quiet),
    params=[_flag("version", callback=_print_version, is_eager=True), _flag("quiet")],
    no_args_is_help=True,
    epilog="warner help COMMAND shows the options of a command.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
