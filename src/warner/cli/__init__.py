"""The command line: one file for each family of commands. They parse, call one function and print.

No arithmetic lives here. What only one command needs, and takes long to import, is imported when that command runs.
"""

from __future__ import annotations

from typing import Annotated

import typer

from warner import __version__
from warner.cli.associating import associate
from warner.cli.auditing import audit
from warner.cli.checking import check
from warner.cli.collecting import backup, close, collect, invite
from warner.cli.comparing import compare
from warner.cli.designing import HELP, AnswersCommand, design, show
from warner.cli.estimating import estimate
from warner.cli.planning import plan
from warner.cli.randomizing import randomize
from warner.cli.regressing import regress
from warner.cli.reproducing import reproduce
from warner.cli.tallying import tally
from warner.cli.telling import QUIET_HELP, set_quiet, taking_quiet

app = typer.Typer(
    name="warner",
    help="Estimate what people would have answered, from answers that were randomized on their side.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
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


# In the order of a survey
app.command(epilog="Example: warner plan --size 10 --epsilon 1 --half-width 0.02")(taking_quiet(plan))
app.command(cls=AnswersCommand, help=HELP, epilog="Example: warner design never once often --epsilon 1 -o design.json")(
    taking_quiet(design)
)
app.command(epilog="Example: warner show design.json")(taking_quiet(show))
app.command(epilog="Example: warner randomize answers.csv --column answer --design design.json -o reports.parquet")(
    taking_quiet(randomize)
)
app.command(epilog="Example: warner collect drinking.json --port 8000 --limit 5000")(taking_quiet(collect))
app.command(epilog="Example: warner invite drinking.json 500 --url https://survey.example.org -o links.csv")(
    taking_quiet(invite)
)
app.command(epilog="Example: warner close drinking.db")(taking_quiet(close))
app.command(epilog="Example: warner backup drinking.db -o copy.db")(taking_quiet(backup))
app.command(epilog="Example: warner tally reports.csv --column answer --design design.json -o day1.json")(
    taking_quiet(tally)
)
app.command(epilog="Example: warner estimate reports.csv --column answer --design design.json --by region")(
    taking_quiet(estimate)
)
app.command(epilog="Example: warner compare direct.json dice.json --answer yes")(taking_quiet(compare))
app.command(epilog='Example: warner regress reports.csv "answer ~ age + C(region)" --design design.json')(
    taking_quiet(regress)
)
app.command(epilog="Example: warner associate reports.csv cheated=dice.json copied=dice.json --numeric age")(
    taking_quiet(associate)
)
app.command(epilog="Example: warner check reports.csv --column answer --design design.json --fakes 100")(
    taking_quiet(check)
)
app.command(
    cls=AnswersCommand, epilog='Example: warner audit "python client.py" --design design.json --answers never often'
)(taking_quiet(audit))
app.command(epilog="Example: warner reproduce all --jobs 2 -o results/ --data data/")(taking_quiet(reproduce))
