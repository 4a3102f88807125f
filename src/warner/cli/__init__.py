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
from warner.cli.designing import HELP, AnswersCommand, design, show
from warner.cli.estimating import estimate
from warner.cli.planning import plan
from warner.cli.randomizing import randomize
from warner.cli.regressing import regress
from warner.cli.reproducing import reproduce
from warner.cli.tallying import tally

app = typer.Typer(
    name="warner",
    help="What people would have answered, from answers that were randomized before they left their hands.",
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
) -> None:
    pass


# In the order of a survey
app.command(epilog="Example: warner plan --size 10 --epsilon 1 --half-width 0.02")(plan)
app.command(cls=AnswersCommand, help=HELP, epilog="Example: warner design never once often --epsilon 1 -o survey.json")(
    design
)
app.command(epilog="Example: warner show survey.json")(show)
app.command(epilog="Example: warner randomize answers.csv --column answer --design survey.json -o reports.parquet")(
    randomize
)
app.command(epilog="Example: warner collect drinking.json --port 8000 --limit 5000")(collect)
app.command(epilog="Example: warner invite drinking.json 500 --url https://survey.example.org -o links.csv")(invite)
app.command(epilog="Example: warner close drinking.db")(close)
app.command(epilog="Example: warner backup drinking.db -o copy.db")(backup)
app.command(epilog="Example: warner tally reports.csv --column answer --design survey.json -o day1.json")(tally)
app.command(epilog="Example: warner estimate reports.csv --column answer --design survey.json --by region")(estimate)
app.command(epilog='Example: warner regress reports.csv "answer ~ age + C(region)" --design survey.json')(regress)
app.command(epilog="Example: warner associate reports.csv cheated=dice.json copied=dice.json --numeric age")(associate)
app.command(epilog="Example: warner check reports.csv --column answer --design survey.json --fakes 100")(check)
app.command(
    cls=AnswersCommand, epilog='Example: warner audit "python client.py" --design survey.json --answers never often'
)(audit)
app.command(epilog="Example: warner reproduce all --jobs 2 -o results/ --data data/")(reproduce)
