"""`warner audit` runs somebody's client, and says how much epsilon it really spends at the least."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from warner import audit as audited
from warner.cli.delivering import Verdict, refuse_overwriting
from warner.designs import OpenDomain, load_design
from warner.designs.labels import from_text

Claim = Annotated[
    Path, typer.Option("--design", "-d", help="What the client claims to do: a file that `warner design` wrote.")
]


def audit(
    command: Annotated[
        str,
        typer.Argument(
            help="The client, in quotes: it reads one answer per line and prints one report per line, without a header."
        ),
    ],
    *,
    design: Claim,
    answers: Annotated[
        list[str] | None,
        typer.Option(
            help="The answers to try: all words up to the next option. If not given, up to four are chosen.",
            metavar="WORDS",
        ),
    ] = None,
    runs: Annotated[int | None, typer.Option(help="How often to give each answer; 20,000 times if not given.")] = None,
    level: Annotated[
        float, typer.Option(help="The probability with which everything that is found is true, at least.")
    ] = 0.95,
    raw: Annotated[
        bool, typer.Option("--raw", help="Read reports as text of any form, not in the form of the design.")
    ] = False,
    timeout: Annotated[
        float, typer.Option(help="The number of seconds that the command may take each time it is started.")
    ] = 300,
    verdict: Verdict,
) -> None:
    """Audit a client: find a lower bound on the epsilon that it really spends.

    The command is started three times for each answer, without a shell. The exit code is 0 if nothing was found
    against the client, 1 if it spends more than it claims, does not follow the design or repeats itself, and 2 for bad
    input.
    """
    verdict.refuse_other_ending()
    refuse_overwriting({"the design": design}, {"--output": verdict.output})
    claimed = load_design(design)
    words: Any = answers
    if isinstance(claimed, OpenDomain):
        if answers is not None and claimed.answer_form.holds == "integers":
            words = from_text(list(answers), range(2))
    elif answers is not None:
        words = from_text(list(answers), claimed.domain)
    result = audited(command, claimed, answers=words, runs=runs, level=level, raw=raw, timeout=timeout)
    verdict.delivered(result)
    if not result.passed:
        raise typer.Exit(1)
