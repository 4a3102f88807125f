"""Options of open domains: what texts or numbers are made of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warner.designs import OpenDomain, load_design

if TYPE_CHECKING:
    from warner.designs import Design

Letters = Annotated[
    str | None, typer.Option(help="Answers are texts of at most --length of these letters, such as a-z0-9.-.")
]
Length = Annotated[int | None, typer.Option(help="With --letters: the largest number of letters in an answer.")]
Bytes = Annotated[int | None, typer.Option("--bytes", help="Answers are texts of at most this many bytes in UTF-8.")]
Bits = Annotated[int | None, typer.Option(help="Answers are whole numbers of this many bits.")]


def open_domain(
    letters: str | None,
    length: int | None,
    text_bytes: int | None,
    bits: int | None,
    step: int | str | None,
    epsilon: str | None,
) -> OpenDomain | None:
    """Make the open domain that these options name; None where none of them is given."""
    if letters is None and text_bytes is None and bits is None:
        if length is not None or step is not None:
            option = "--length" if step is None else "--step"
            raise ValueError(f"{option} is for an open domain; give --letters, --bytes or --bits")
        return None
    if epsilon is None:
        raise ValueError("an open domain needs --epsilon, the privacy of one report")
    return OpenDomain(epsilon=epsilon, letters=letters, bytes=text_bytes, bits=bits, length=length, step=step)


def named_open(words: list[str]) -> bool:
    """Tell whether the words begin with the name of open domains."""
    return bool(words) and words[0].lower().replace("-", " ") == OpenDomain.mechanism


def closed_list(file: Path, answers: Any) -> Design:
    """Make the design of a list of answers, for reports of the open domain in this file."""
    made = load_design(file)
    if not isinstance(made, OpenDomain):
        raise ValueError(f"--open must be the file of an open domain, but {file} is a {made.mechanism}")
    if answers is None:
        raise ValueError("--open needs the answers of the list: name them, or give --domain-file")
    listed = range(answers) if isinstance(answers, int) else answers
    if made.answer_form.holds == "integers" and isinstance(listed, list):
        try:
            listed = [int(answer) for answer in listed]
        except ValueError:
            raise ValueError(f"the answers must be {made.values.described()}, as {file} has them") from None
    return made.closed(listed)
