"""Numbers and names in sentences."""

from __future__ import annotations

import math
import re
import shutil
import textwrap
from itertools import islice, zip_longest
from numbers import Integral
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from warner.arrays import Counts, PerGroup

TIGHT = "\N{NO-BREAK SPACE}"
NARROWEST, WIDEST = 60, 120  # characters of a line of text, on terminals; 80 elsewhere
LABEL_CHARACTERS = 40  # of an answer, a group or a term in a text
POSITIONS_LISTED = 5  # in an error
NAMES_LISTED = 8  # in a sentence
SIMILAR_AMONG = 10_000  # texts among which a similar one is looked for
LONGEST_VALUE = 100  # characters of a value in a message
LONGEST_MESSAGE = 1_500  # characters
IN_QUOTES = re.compile(r"""(?<!\w)'(?:[^'\\]|\\.)*'|(?<!\w)"(?:[^"\\]|\\.)*\"""", re.DOTALL)
SMALLEST_P_SHOWN = 0.001  # a smaller p-value is only bounded
SMALL_SHARE = 1e-3  # a share below this, 0.1 %, is written with two significant digits on web pages


def amount(number: PerGroup) -> str:
    """Write a number of reports in full, a sum of weights with one decimal, or with three digits below 1.

    >>> amount(1234), amount(1234.56), amount(0.00123)
    ('1,234', '1,234.6', '0.00123')
    """
    if isinstance(number, Integral):
        return f"{number:,}"
    return f"{number:.3g}" if 0 < number < 1 else f"{number:,.1f}"


def large_number(number: int) -> str:
    """Write a whole number in full, or a large one as a power of ten.

    >>> large_number(65536), large_number(2**1024)
    ('65,536', 'about 1.8e308')
    """
    if number < 10**6:
        return f"{number:,}"
    power = len(str(number)) - 1
    return f"about {number / 10**power:.2g}e{power}"


def amount_of(number: PerGroup, totals: Counts | None, row: int) -> str:
    """Write a number of reports, as part of the total of its row if there are totals.

    >>> amount_of(40, None, 0), amount_of(40.5, [1000], 0)
    ('40', '40.5 of 1,000')
    """
    return amount(number) if totals is None else f"{amount(number)} of {amount(totals[row])}"


def percent(share: float, decimals: int = 2) -> str:
    return f"{100 * share:.{decimals}f} %"


def percent_tight(share: float) -> str:
    """Write a share in percent for a web page, with two decimals, or two digits if it is small, without line breaks.

    >>> percent_tight(0.1234).split(TIGHT), percent_tight(0.000456).split(TIGHT)
    (['12.34', '%'], ['0.046', '%'])
    """
    number = 100 * float(share)
    text = f"{number:.2f}" if share == 0 or abs(share) >= SMALL_SHARE else f"{number:.2g}"
    return f"{text}{TIGHT}%"


def level_text(level: float) -> str:
    """Write a probability in percent with six digits, or with the digits that distinguish it from 1.

    >>> level_text(0.95), level_text(1 - 0.05 / 3), level_text(0.999999999)
    ('95 %', '98.3333 %', '99.9999999 %')
    """
    text = f"{100 * level:.6g}"
    if text == "100" and level < 1:
        text = f"{100 * level:.{-math.floor(math.log10(1 - level)) - 1}f}".rstrip("0")
    return f"{text} %"


def points(difference: float | None, *, up: bool = False) -> str:
    """Write a difference of shares in percentage points, with three digits; with `up`, rounded up."""
    number = 100 * (math.nan if difference is None else difference)
    text = rounded_up(number, 3) if up else f"{number:.3g}"
    return f"{text} percentage point{'' if text == '1' else 's'}"


def p_value(value: float) -> str:
    """Write a p-value in a sentence, as `warner.typesetting.p_value_cells` does in a table.

    >>> p_value(0.0431), p_value(1e-9)
    ('p = 0.043', 'p < 0.001')
    """
    return f"p < {SMALLEST_P_SHOWN:g}" if value < SMALLEST_P_SHOWN else f"p = {value:.3f}"


def rounded_up(value: float, digits: int) -> str:
    from decimal import ROUND_CEILING, Context

    up = Context(prec=digits, rounding=ROUND_CEILING).create_decimal_from_float(value).normalize()
    return f"{up:f}" if up.adjusted() >= -digits else f"{up:e}"


def rounded_down(value: float, decimals: int = 3) -> str:
    if not math.isfinite(value):
        return "inf" if value > 0 else ""
    return f"{math.floor(10**decimals * value) / 10**decimals:g}"


def not_installed(need: str, extra: str) -> str:
    """Message about a missing library, with the extra that installs it.

    >>> not_installed("drawing needs Matplotlib", "plot")
    'drawing needs Matplotlib, which is not installed; install it, or warner with its extra [plot]'
    """
    return f"{need}, which is not installed; install it, or warner with its extra [{extra}]"


def printable(text: str, keep: Container[str] = "") -> str:
    r"""Escape characters that cannot be printed and could manipulate a terminal, except those to keep.

    >>> printable("one\ntwo\x1b[0m"), printable("one\ntwo\x1b[0m", keep="\n")
    ('one\\ntwo\\x1b[0m', 'one\ntwo\\x1b[0m')
    """
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


def shortened(text: str, width: int = LABEL_CHARACTERS) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def told_apart(texts: Sequence[str], width: int) -> list[str]:
    """Cut texts to a width so that different texts stay different: at the end, in the middle, or at the start.

    >>> told_apart(["Mecklenburg (town)", "Mecklenburg (country)", "Mecklenburg (town)"], 14)
    ['Meckle...town)', 'Meckle...ntry)', 'Meckle...town)']
    >>> told_apart(["Mecklenburg (rural area, 2026)", "Mecklenburg (urban area, 2026)"], 12)
    ['...rural ...', '...urban ...']

    A term of a regression ends with its level, and is cut in the middle:

    >>> told_apart(["education[T.school]"], 16)
    ['educati...chool]']
    """
    if max(map(len, texts), default=0) <= width:
        return list(texts)
    half = (width - 3) // 2

    def middle(text: str) -> str:
        return text if len(text) <= width else f"{text[: width - 3 - half]}...{text[-half:]}"

    def start(text: str) -> str:
        return text if len(text) <= width else f"...{text[3 - width :]}"

    different = set(texts)
    long = [text for text in different if len(text) > width]
    # The common prefix of the first and the last in the alphabet is common to all.
    common = next((i for i, pair in enumerate(zip(min(long), max(long), strict=False)) if len(set(pair)) > 1), 0)

    def after(text: str) -> str:
        return text if len(text) <= width else shortened(f"...{text[common:]}", width)

    ends = () if all(text.endswith("]") for text in long) else (lambda text: shortened(text, width),)
    ways = (*ends, middle, start, after)
    cut = next((way for way in ways if len(set(map(way, different))) == len(different)), middle)
    return [cut(text) for text in texts]


def sentence(text: str) -> str:
    """Add a capital and a full stop.

    >>> sentence("weights count as 10 reports"), sentence("N = 3.")
    ('Weights count as 10 reports.', 'N = 3.')
    """
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def bounded(message: str) -> str:
    """Shorten the values in a message, and the message itself if it is still too long.

    >>> len(bounded("answers must differ, but got 'yes' and " + repr("a" * 10_000) + " in one person's file"))
    162
    """
    cut = IN_QUOTES.sub(lambda found: found[0][0] + shortened(found[0][1:-1], LONGEST_VALUE) + found[0][0], message)
    if len(cut) <= LONGEST_MESSAGE:
        return cut
    return f"{cut[: LONGEST_MESSAGE // 2]} ... {cut[-LONGEST_MESSAGE // 2 :]}"  # the remedy is at the end


def quoted(label: object) -> str:
    """Quote a label in a message; its repr escapes control characters."""
    return shortened(repr(label))


def conjoined(names: Sequence[str], last: str = "and") -> str:
    """Join names with commas and a conjunction.

    >>> conjoined(["inv", "inv_n", "mle"]), conjoined([".json", ".txt"], "or")
    ('inv, inv_n and mle', '.json or .txt')
    """
    return f" {last} ".join([", ".join(names[:-1])] * (len(names) > 1) + [*names[-1:]])


def enumerated(names: Sequence[str], most: int = NAMES_LISTED) -> str:
    """Join names with commas, and count those beyond `most`.

    >>> enumerated(["north", "south", "east", "west"], 2), enumerated(["north", "south"])
    ('north, south and 2 more', 'north, south')
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def aligned(rows: Iterable[Sequence[str]], left: Container[int] = (0,), least: Sequence[int] = ()) -> list[str]:
    """Write rows of texts in columns, two spaces apart, left-aligned in the columns `left`.

    A row with fewer texts than the first ends with one that may run over the columns that follow. The first columns
    have the `least` widths.

    >>> aligned([("answer", "share"), ("yes", "9.5 %"), ("never ever",), ("no", "90.5 %")], least=(8,))
    ['answer     share', 'yes        9.5 %', 'never ever', 'no        90.5 %']
    """
    lines = list(rows)
    complete = [row[: len(row) if len(row) == len(lines[0]) else len(row) - 1] for row in lines]
    widths = [max(map(len, column)) for column in zip_longest(*complete, fillvalue="")]
    widths = [max(pair) for pair in zip_longest(widths, least, fillvalue=0)]

    def cell(text: str, index: int, whole: bool) -> str:
        return text if not whole else f"{text:{widths[index]}}" if index in left else f"{text:>{widths[index]}}"

    return [
        "  ".join(cell(text, index, index < len(whole)) for index, text in enumerate(row)).rstrip()
        for row, whole in zip(lines, complete, strict=True)
    ]


def group_name(group: Iterable[object]) -> str:
    """Name of a group by its values.

    >>> group_name(("north", 2024)), group_name((None,)), group_name(("None",))
    ('north / 2024', '(missing)', 'None')
    """
    return " / ".join("(missing)" if value is None else str(value) for value in group)


def skipped_words(files: Mapping[str, str]) -> str:
    """Return a sentence on the files that were skipped, from the reason of each; empty if there were none."""
    return f"{counted(len(files), 'file was', 'files were')} skipped: {'; '.join(files.values())}" if files else ""


def did_you_mean(word: object, known: Iterable[object]) -> str:
    """Return a hint at the most similar of known texts, to follow an error; empty if none is similar.

    >>> did_you_mean("Ofen", ["never", "often"]), did_you_mean("x", ["never", "often"])
    ("; did you mean 'often'?", '')
    """
    from difflib import get_close_matches

    names = {one.lower(): one for one in islice(known, SIMILAR_AMONG) if isinstance(one, str)}
    near = get_close_matches(str(word).lower(), names, 1)
    return f"; did you mean {names[near[0]]!r}?" if near else ""


def check_choice(argument: str, value: object, known: Iterable[str], context: str = "") -> None:
    """Raise an error for a value that is not among the choices, with the most similar one.

    >>> check_choice("method", "mel", ["inv", "mle"])
    Traceback (most recent call last):
    ValueError: method must be one of inv, mle, but got 'mel'; did you mean 'mle'?
    """
    names = tuple(known)
    if value not in names:
        raise ValueError(
            f"{argument} must be one of {', '.join(names)}{context}, but got {value!r}{did_you_mean(value, names)}"
        )


def counted(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def plural(noun: str) -> str:
    """Regular plural of an English noun.

    >>> [plural(noun) for noun in ("school", "county", "class", "village")]
    ['schools', 'counties', 'classes', 'villages']
    """
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "z", "ch", "sh")) else "s")


def line_width() -> int:
    """Return the width of the terminal within limits, or of the variable COLUMNS; 80 characters if there is neither."""
    return min(max(shutil.get_terminal_size().columns, NARROWEST), WIDEST)


def wrapped(paragraphs: Iterable[str]) -> str:
    """Break paragraphs into lines, without a break before a percent sign."""
    texts = (
        textwrap.fill(
            re.sub(r"\bp ([=<]) ", rf"p{TIGHT}\1{TIGHT}", text.replace(" %", f"{TIGHT}%")),
            line_width(),
            break_long_words=False,
            break_on_hyphens=False,
        )
        for text in paragraphs
    )
    return "\n".join(texts).replace(TIGHT, " ")


def reports_counted(number: PerGroup, *, weighted: bool, kind: str = "", people: PerGroup = None) -> str:
    """Write the number of reports in all groups together; of weighted reports also that of respondents.

    >>> reports_counted(463.8, weighted=True, people=1200)
    '463.8 weighted reports (1,200 respondents)'
    """
    total = number if isinstance(number, int | float) else number.sum()
    words = " ".join(word for word in ("weighted" if weighted else "", kind) if word)
    respondents = people.sum() if hasattr(people, "sum") else people
    unweighted = "" if respondents is None else f" ({counted(int(respondents), 'respondent', 'respondents')})"
    return f"{amount(total)} {words + ' ' if words else ''}{'report' if total == 1 else 'reports'}{unweighted}"


LARGE_CERTAINTY = 0.99  # above it, a certainty has two decimals
EXPONENTIAL_ROUNDING = 1e-9  # of exponentials, in floating point
PRIORS = (0.1, 0.5)  # probabilities of an answer before its report


def certainty(epsilon: float, prior: float) -> str:
    """Return the largest probability of an answer after a report, in percent, rounded up; page.js computes the same.

    With the odds e^epsilon of a report, a prior probability P becomes at most e^epsilon P / (1 - P + e^epsilon P).

    >>> certainty(2, 0.5), certainty(2, 0.1), certainty(8, 0.5), certainty(math.inf, 0.5)
    ('89 %', '46 %', '99.97 %', '100 %')
    """
    largest = prior / (prior + (1 - prior) * math.exp(-epsilon))
    digits = 0 if largest < LARGE_CERTAINTY or largest == 1 else 2
    return f"{math.ceil(largest * 100 * 10**digits - EXPONENTIAL_ROUNDING) / 10**digits:g} %"


def certainties(epsilon: float) -> str:
    """Return the probability of an answer after a report, for usual priors.

    >>> certainties(2)
    'a report raises the probability of an answer from 10 % to at most 46 %, or from 50 % to at most 89 %'
    """
    bounds = [f"from {percent(prior, 0)} to at most {certainty(epsilon, prior)}" for prior in PRIORS]
    return f"a report raises the probability of an answer {', or '.join(bounds)}"
