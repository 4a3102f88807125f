"""Designs about a trait that a person has or has not: two answers, and a report that says little about either."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from warner.designs.channel import Channel
from warner.designs.exact import probability

if TYPE_CHECKING:
    from warner.arrays import Label
    from warner.designs.exact import Number
    from warner.documents import Document

Pair: TypeAlias = Sequence[str] | Sequence[int]  # two labels


def channel_of_trait(
    with_trait: Fraction,
    without: Fraction,
    given: Document,
    answers: Pair,
    reports: Pair,
    does: str,
) -> Channel:
    """Make the channel of a design with two answers and two reports."""
    refuse_useless(with_trait, without, given, f"the report {reports[0]}")
    rows = [[with_trait, 1 - with_trait], [without, 1 - without]]
    return Channel(rows, answers, reports, procedure=sentence(does))


def refuse_useless(with_trait: Fraction, without: Fraction, given: Document, what: str) -> None:
    """Refuse designs whose reports say nothing, or everything; `given` are the parameters, `what` the report."""
    names = " and ".join(given)
    values = ", ".join(f"{name} = {value}" for name, value in given.items())
    if with_trait == without:
        raise ValueError(
            f"{names} must be such that reports carry information, but with {values} {what} has probability {without} "
            "with the trait and without it: nothing could be estimated"
        )
    if {with_trait, without} == {0, 1}:
        raise ValueError(
            f"{names} must leave something to chance, but with {values} every report gives the true answer away; the "
            "design of a question without protection is direct"
        )


def two_pairs(answers: Pair, reports: Pair) -> tuple[Pair, Pair]:
    """Check two labels of answers and two of reports."""
    return pair_of_labels("answers", answers), pair_of_labels("reports", reports)


def pair_of_labels(name: str, labels: Pair) -> Pair:
    """Check that there are two labels."""
    if isinstance(labels, str) or not isinstance(labels, Sequence) or len(labels) != 2:
        first = {"answers": "that of having the trait", "reports": "the design's first report"}[name]
        raise ValueError(f"{name} must be two labels, {first} first, but got {reprlib.repr(labels)}")
    return labels


def sentence(does: str) -> str:
    """Begin an instruction with a capital letter."""
    return does[0].upper() + does[1:]


def forced_answers(honest: Fraction, truth: Number, forced: Mapping[Label, Number]) -> Channel:
    """Make the channel of forced response among any answers: the truth, or an answer that chance dictates."""
    if not isinstance(forced, Mapping):
        raise TypeError(
            f"forced must map each answer to a probability, such as {{'a': '1/6', 'b': '1/6'}}, but got {forced!r}"
        )
    labels = list(forced)
    shares = [probability(f"forced[{label!r}]", share) for label, share in forced.items()]
    if sum(shares) != 1 - honest:
        rounded = any(isinstance(share, float) for share in (truth, *forced.values()))
        remedy = '; write fractions as strings, such as "1/3"' if rounded else ""
        raise ValueError(
            f"the forced probabilities must sum to 1 - truth = {1 - honest}, but they sum to {sum(shares)}{remedy}"
        )
    refuse_useless(honest, Fraction(0), {"truth": truth}, "an honest report")
    rows = [
        [share + (honest if row == column else 0) for column, share in enumerate(shares)] for row in range(len(shares))
    ]
    forcings = ", ".join(
        f"report {label} with probability {share}" for label, share in zip(labels, shares, strict=True)
    )
    does = (
        f"let chance decide, unseen, what to do: answer truthfully with probability {honest}, or, whatever the truth "
        f"is, {forcings}."
    )
    return Channel(rows, labels, labels, procedure=sentence(does))
