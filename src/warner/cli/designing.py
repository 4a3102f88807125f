"""`warner design` writes down what every answer will go through."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warner.cli.delivering import deliver_document, refuse_overwriting
from warner.cli.mechanisms import catalogue, designed, known, name_of, pairs, put, refuse_misspelled
from warner.cli.messages import tell, warnings_in_one_line
from warner.cli.numbers import From, Step, To, number_grid
from warner.cli.open_domains import Bits, Bytes, Length, Letters, closed_list, named_open, open_domain
from warner.cli.options import DomainFile, Epsilon, Odds, Output, Redraw, Size, Truth, labels_in
from warner.designs import OpenDomain, RandomizedResponse, load_design
from warner.documents import format_of

if TYPE_CHECKING:
    from warner.designs.contract import Design, Device
    from warner.designs.labels import Domain

CARDS = "cards"  # the name of decks of cards for quantities
BEST_FOR = ("shares", "mean", "distribution")  # what --best compares mechanisms for
HELP = f"""Write a design file, which says how every answer is randomized.

The file is for those who collect answers and for those who analyse reports. For randomized response, give the possible
answers and one of --epsilon, --truth, --redraw and --odds:

\b
  warner design never once often --epsilon 1 -o design.json

Or give the name of a mechanism or of a survey design, with its parameters:

\b
  warner design crosswise p=1/4 -o design.json
  warner design kuk r1=0.6 r2=0.2 draws=5 --answers user other
  warner design subset-selection --size 1024 --epsilon 1
  warner design square-wave --from 0 --to 200000 --step 1000 --epsilon 1

A deck of cards for a number, with what each card says ("truth", "say 3", "+5", "-5" or "*2") and its probability:

\b
  warner design cards truth=1/2 "say 0=1/4" "say 1=1/4" --from 0 --to 1

For answers that no list holds, such as words, give what they are made of:

\b
  warner design open-domain --letters a-z --length 12 --epsilon 1 -o words.json
  warner design open-domain --bits 48 --epsilon 1

and to look up answers that are known in reports of such a design, name them:

\b
  warner design the of and --open words.json -o list.json

Or give --best, for the mechanism that `warner plan` recommends for this number of answers and this epsilon:

\b
  warner design --best --size 1024 --epsilon 1 -o design.json
  warner design --best --size 100 --epsilon 4 --share 0.1
  warner design --best --from 18 --to 99 --epsilon 1 --quantity mean

These are the names and their parameters (those in brackets may be left out):

\b
{catalogue()}

Numbers are taken exactly as written: 1/6 is one sixth. Survey designs ask for yes or no; two other answers can be named
after --answers, the one of people with the trait first, and the two reports after --reports:

\b
  warner design crosswise p=1/4 --answers "1 = yes" "2 = no" --reports A B
"""


def design(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="The possible answers, in order; or a name and its parameters.",
            metavar="ANSWER | NAME KEY=VALUE",
        ),
    ] = None,
    *,
    answers: Annotated[
        list[str] | None,
        typer.Option(help="The possible answers, in order: all words up to the next option.", metavar="WORDS"),
    ] = None,
    reports: Annotated[
        list[str] | None,
        typer.Option(
            help="The two reports of a survey design, such as A B for crosswise: all words up to the next option.",
            metavar="WORDS",
        ),
    ] = None,
    size: Size = None,
    lower: From = None,
    upper: To = None,
    step: Step = None,
    quantity: Annotated[
        str | None,
        typer.Option(
            help="What a square wave should estimate best: distribution, which is the default, or mean. With --best, "
            "the quantity for which all mechanisms are compared: shares, which is the default, mean or distribution."
        ),
    ] = None,
    domain_file: DomainFile = None,
    best: Annotated[
        bool,
        typer.Option(
            "--best",
            help="Choose the mechanism with the smallest total squared error of all shares, or one at most 5 % above "
            "it that has shorter reports.",
        ),
    ] = False,
    share: Annotated[
        float | None,
        typer.Option(help="With --best: choose the mechanism that is best for an answer with this true share."),
    ] = None,
    integers: Annotated[
        bool, typer.Option("--integers", help="The answers and the reports that are named are integers, not text.")
    ] = False,
    letters: Letters = None,
    length: Length = None,
    text_bytes: Bytes = None,
    bits: Bits = None,
    opened_by: Annotated[
        Path | None,
        typer.Option(
            "--open",
            help="Make the design of a list of answers for reports of the open domain in this file.",
        ),
    ] = None,
    epsilon: Epsilon = None,
    truth: Truth = None,
    redraw: Redraw = None,
    odds: Odds = None,
    output: Output = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Replace another design; reports made with that can then no longer be analysed.",
        ),
    ] = False,
) -> None:
    """Write a design file, which says how every answer is randomized."""
    refuse_overwriting({"the list of answers": domain_file, "the open domain": opened_by}, {"--output": output})
    words = words or []
    if share is not None and not best:
        raise ValueError("--share is for --best")
    if opened_by is not None:
        listed = _domain(words, answers, domain_file, size, number_grid(lower, upper, step), integers=integers)
        others = (letters, length, text_bytes, bits, epsilon, truth, redraw, odds, quantity, reports)
        if best or any(option is not None for option in others):
            raise ValueError("--open takes the answers of the list, and nothing else: all the rest is in its file")
        _deliver(closed_list(opened_by, listed), output, force=force)
        return
    made_of = letters is not None or text_bytes is not None or bits is not None
    opened = open_domain(letters, length, text_bytes, bits, step if made_of else None, epsilon)
    if opened is not None or named_open(words):
        surplus = (answers, domain_file, size, lower, upper, truth, redraw, odds, quantity, reports)
        if best or integers or any(option is not None for option in surplus):
            raise ValueError(
                "an open domain takes --letters and --length, --bytes or --bits, --step, --epsilon, and nothing else"
            )
        _write_open(words, opened, output, force=force)
        return
    if words and words[0].lower() == CARDS:
        if best or any(option is not None for option in (epsilon, truth, redraw, odds, quantity, reports)):
            raise ValueError("cards take what each card says with its probability, and the numbers, and nothing else")
        listed = _domain([], answers, domain_file, size, number_grid(lower, upper, step), integers=integers)
        _deliver(_deck(words[1:], listed), output, force=force)
        return
    name = name_of(words[0]) if words and known(words[0]) else None
    given: dict[str, str] = {} if name is None else pairs(words[1:], name)
    for key, value in {
        "epsilon": epsilon,
        "truth": truth,
        "redraw": redraw,
        "odds": odds,
        "quantity": quantity,
    }.items():
        if value is not None:
            put(given, key, value)
    if name is None:
        refuse_misspelled(words)
    numbers = number_grid(lower, upper, step)
    domain = _domain([] if name else words, answers, domain_file, size, numbers, integers=integers)
    if best and reports is not None:
        raise ValueError("--best makes no survey design; leave --reports out")
    if integers and domain is None and reports is None:
        raise ValueError("--integers is for answers or reports that are named; the answers yes and no are texts")
    reported = _whole(reports, "reports") if integers and reports is not None else reports
    made = (
        _best(name, given, domain, share, output)
        if best
        else designed(name or RandomizedResponse.mechanism, given, domain, reported)
    )
    _deliver(made, output, force=force)


design.__doc__ = HELP


def _deck(words: list[str], numbers: Domain | None) -> Design:
    """Make the design of a deck of cards, and say its epsilon at once: it may be infinite."""
    from warner.surveys import cards

    device: dict[str, str] = {}
    for word in words:
        card, sign, chance = word.rpartition("=")
        if not sign or not card or not chance:
            raise ValueError(f'a card needs what it says and its probability, as "say 0=1/10", but got {word!r}')
        put(device, card, chance)
    if not device:
        raise ValueError('cards need what each card says with its probability, as truth=1/2 "say 0=1/4" "say 1=1/4"')
    if numbers is None:
        raise ValueError("cards need all numbers that somebody may have: give --from and --to, or --size")
    with warnings_in_one_line():
        made = cards(device, numbers)
    tell(f"A report of this deck reveals epsilon {made.shown_epsilon()}.", err=True)
    return made


def _write_open(words: list[str], made: OpenDomain | None, output: Path | None, *, force: bool) -> None:
    """Write the design of an open domain."""
    if made is None:
        raise ValueError("an open domain needs --letters with --length, --bytes or --bits, and --epsilon")
    if not named_open(words) or len(words) > 1:
        first = "an open domain has no list of answers; leave them out: " if named_open(words) else ""
        raise ValueError(
            f"{first}--letters, --bytes and --bits are for an open domain: warner design open-domain --letters a-z"
        )
    _deliver(made, output, force=force)


def _deliver(made: Device, output: Path | None, *, force: bool) -> None:
    """Print or save a design, which replaces no other one unless that is meant."""
    if output is not None and not force:
        _refuse_replacing(output, made)
    deliver_document(made, output)


def _refuse_replacing(output: Path, made: Device) -> None:
    """Refuse to replace another design: whatever was reported under it could not be analysed any more."""
    if not output.is_file():
        return
    try:
        earlier = load_design(output)
    except ValueError:
        kind = (format_of(output) or "").removeprefix("warner ")
        held = f"holds another document, a {kind}" if kind else "already exists, and is not a design"
        raise ValueError(f"{output} {held}; give another file, or --force") from None
    if earlier != made:
        raise ValueError(
            f"{output} holds another design, {earlier!r}, and reports under it could not be analysed without it; give "
            "another file, or --force"
        )


def _best(
    name: str | None, given: dict[str, str], domain: Domain | None, share: float | None, output: Path | None
) -> Design:
    """Return the recommended design, and print the reason: on standard error, if the design itself is printed."""
    if name is None and not given:
        raise ValueError("--best needs --epsilon, the most that one report may reveal")
    if name is not None or given.keys() - {"quantity"} != {"epsilon"}:
        got = " and ".join([*([] if name is None else [name]), *given]) or "nothing"
        raise ValueError(
            "--best needs --epsilon and the possible answers, takes --quantity and --share, and nothing else, but got "
            f"{got}"
        )
    if domain is None:
        raise ValueError(
            "--best needs the possible answers: name them, or give --domain-file, --size or --from and --to"
        )
    quantity = given.get("quantity", "shares")
    if quantity not in BEST_FOR:
        raise ValueError(f"--quantity must be one of {', '.join(BEST_FOR)}, but got {quantity!r}")
    from warner import mechanisms

    if share is not None and quantity != "shares":
        raise ValueError(f"--share must be left out with --quantity {quantity}: it is for shares")
    compared = mechanisms(domain, epsilon=given["epsilon"], share=share, quantity=quantity)
    tell(compared.reason, err=output is None)
    return compared.design()


def _domain(
    words: list[str],
    answers: list[str] | None,
    file: Path | None,
    size: int | None,
    numbers: Domain | None = None,
    *,
    integers: bool,
) -> Domain | None:
    """Give the possible answers, which must be given in one way at most."""
    ways = {
        "words": words or None,
        "--answers": answers,
        "--domain-file": file,
        "--size": size,
        "--from and --to": numbers,
    }
    named = [way for way, value in ways.items() if value is not None]
    if len(named) > 1:
        raise ValueError(f"give the possible answers in one way, but got {' and '.join(named)}")
    if numbers is not None:
        return numbers
    if size is not None:
        return size
    labels = words or answers or (None if file is None else labels_in(file))
    return labels if labels is None or not integers else _whole(labels, "answers")


def _whole(labels: list[str], what: str) -> list[int]:
    """Read labels as whole numbers."""
    try:
        return [int(label) for label in labels]
    except ValueError:
        raise ValueError(f"--integers needs {what} that are whole numbers, but got {', '.join(labels[:5])}") from None
