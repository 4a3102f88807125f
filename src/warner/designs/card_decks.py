r"""Decks of cards for quantities: the truth with some probability, and otherwise the instruction of a card.

Every published device for a number with a finite law is a deck. A card says "tell the truth", "say 3", "add 5" or
"double it"; with probability :math:`\pi_c` the respondent does what card c says, so that

.. math:: C_{ij} = \sum_c \pi_c\,[\text{card } c \text{ turns } x_i \text{ into } j].

With "say" cards for every possible number, :math:`C = p I + (1-p) 1 u'` and :math:`\varepsilon = \ln(1 + p / ((1-p)
\min u))`. Without one for some number, a report of it is true with certainty, and epsilon is infinite. Nor does
multiplication hide a zero, or addition the two ends.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from fractions import Fraction

from warner.designs.channel import Channel
from warner.designs.exact import Number, exact, probability
from warner.designs.labels import Domain, canonical
from warner.designs.ordered import decimal_texts, is_numeric, numbers_of
from warner.text import enumerated

CARD = re.compile(r"(say\s+|[+*-]\s*)(.+)")


def cards(device: Mapping[str, Number], values: Domain) -> Channel:
    r"""Make a design from a deck of cards for a quantity: the truth, or a number to say, to add or to multiply by.

    It covers Eriksson's forced numbers [1]_, the unrelated quantity of Greenberg and others with a known law [2]_, the
    additive constants of Himmelfarb and Edgell [3]_, and the multiplicative devices of Eichhorn and Hayre [4]_ and of
    Bar-Lev and others [5]_, as far as their laws are finite.

    Parameters
    ----------
    device : mapping of str to number
        What each card says, with its probability: ``"truth"``, ``"say 3"``, ``"+5"``, ``"-5"`` or ``"*2"``. The
        probabilities sum to one; fractions such as ``"1/6"`` are taken exactly.
    values : int or sequence of int or of str
        All possible numbers, which are the answers; or their number K, for 0..K-1.

    Returns
    -------
    Channel
        Its reports are all possible results, in ascending order.

    Warns
    -----
    UserWarning
        If a report reveals a number with certainty, or excludes one, so that epsilon is infinite; it names these
        reports.

    References
    ----------
    .. [1] S. A. Eriksson, "A new model for randomized response", Int. Stat. Rev. 41 (1973), 101-113.
    .. [2] B. G. Greenberg, R. R. Kuebler, J. R. Abernathy, D. G. Horvitz, "Application of the randomized response
       technique in obtaining quantitative data", J. Amer. Stat. Assoc. 66 (1971), 243-250.
    .. [3] S. Himmelfarb, S. E. Edgell, "Additive constants model", Psych. Bull. 87 (1980), 525-530.
    .. [4] B. H. Eichhorn, L. S. Hayre, "Scrambled randomized response methods for obtaining sensitive quantitative
       data", J. Stat. Plann. Inference 7 (1983), 307-316.
    .. [5] S. K. Bar-Lev, E. Bobovitch, B. Boukai, "A note on randomized response models for quantitative data",
       Metrika 60 (2004), 255-260.

    Examples
    --------
    Half of all cards ask for the truth, and each of three numbers is on a sixth of them: ln(1 + (1/2)/(1/6)) = ln 4.

    >>> deck = cards({"truth": "1/2", "say 0": "1/6", "say 1": "1/6", "say 2": "1/6"}, 3)
    >>> deck.weights
    array([[4, 1, 1],
           [1, 4, 1],
           [1, 1, 4]])
    >>> deck.shown_epsilon()
    '1.387'
    """
    labels = canonical(values, "values")
    if not is_numeric(labels):
        raise ValueError(f"values must be numbers, but got {labels[0]!r}")
    if not isinstance(device, Mapping) or not device:
        raise TypeError(
            f"device must map what cards say to probabilities, such as {{'truth': '1/2'}}, but got {device!r}"
        )
    deck = [(_card(str(text)), probability(f"device[{text!r}]", chance)) for text, chance in device.items()]
    if sum(chance for _, chance in deck) != 1:
        total = sum(chance for _, chance in deck)
        raise ValueError(f"the probabilities of all cards must sum to 1, but they sum to {total}")
    numbers = numbers_of(labels)
    table = [_row(number, deck) for number in numbers]
    reports = sorted(set().union(*table))
    outputs = _labels(reports)
    matrix = [[row.get(report, Fraction(0)) for report in reports] for row in table]
    design = Channel(matrix, labels, outputs, procedure=_procedure(device))
    leading = [sum(row[j] > 0 for row in matrix) for j in range(len(outputs))]  # numbers that lead to each report
    certain = [label for label, number in zip(outputs, leading, strict=True) if number == 1]
    excluding = [label for label, number in zip(outputs, leading, strict=True) if number < len(matrix)]
    if excluding:
        names = enumerated([str(label) for label in certain or excluding])
        what = (
            "reveal a respondent's number for certain, because only one number leads to them"
            if certain
            else "rule some numbers out for certain, because these never lead to them"
        )
        warnings.warn(
            f'these reports {what}: {names}; give a card "say ..." for every possible number, or a top category',
            stacklevel=2,
        )
    return design


def _card(text: str) -> Callable[[Fraction], Fraction]:
    """Parse the text of a card into a function of the number."""
    if text.strip() == "truth":
        return lambda number: number
    found = CARD.fullmatch(text.strip())
    if found is None:
        raise ValueError(f'a card must be "truth", "say 3", "+5", "-5" or "*2", but got {text!r}')
    verb, amount = found[1].strip(), exact(f"the card {text!r}", found[2])
    if verb == "say":
        return lambda number: amount
    if verb == "*":
        return lambda number: number * amount
    return lambda number: number + (amount if verb == "+" else -amount)


def _row(number: Fraction, deck: list[tuple[Callable[[Fraction], Fraction], Fraction]]) -> dict[Fraction, Fraction]:
    """Return the distribution of reports given the number."""
    row: dict[Fraction, Fraction] = {}
    for says, chance in deck:
        if chance:
            row[says(number)] = row.get(says(number), Fraction(0)) + chance
    return row


def _labels(reports: list[Fraction]) -> list[int] | list[str]:
    if all(report.denominator == 1 for report in reports):
        return [int(report) for report in reports]
    return decimal_texts(reports) or [str(report) for report in reports]


def _procedure(device: Mapping[str, Number]) -> str:
    said = "; ".join(f'"{text}" with probability {exact("device", chance)}' for text, chance in device.items())
    return (
        f"draw a card, unseen by others, and report the number that comes of what it says: {said}. "
        '"truth" is your own number; "say" asks for the number on the card; "+", "-" and "*" add to your number, take '
        "from it, or multiply it."
    )
