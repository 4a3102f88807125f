r"""Survey designs by name: Warner's, crosswise, triangular, forced response, unrelated question, Mangat's, Kuk's.

Each function returns a `Channel` from the procedure, by the total probability of each report. `warner.surveys` exports
them, with a table of their probabilities.

Decks of cards for quantities. Every published device for a number with a finite law is a deck. A card says "tell the
truth", "say 3", "add 5" or "double it"; with probability :math:`\pi_c` the respondent does what card c says, so that

.. math:: C_{ij} = \sum_c \pi_c\,[\text{card } c \text{ turns } x_i \text{ into } j].

With "say" cards for every possible number, :math:`C = p I + (1-p) 1 u'` and :math:`\varepsilon = \ln(1 + p / ((1-p)
\min u))`. Without one for some number, a report of it is true with certainty, and epsilon is infinite. Nor does
multiplication hide a zero, or addition the two ends.
"""

from __future__ import annotations

import math
import re
import reprlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from warner.designs.channel import Channel
from warner.designs.exact import Number, exact, probability, whole_number
from warner.designs.labels import Domain, canonical
from warner.designs.ordered import decimal_texts, is_numeric, numbers_of
from warner.text import enumerated

if TYPE_CHECKING:
    from warner.arrays import Label
    from warner.documents import Document


Pair: TypeAlias = Sequence[str] | Sequence[int]  # two labels

YES_NO = ("yes", "no")
MOST_DRAWS = 300  # exact probabilities of more would not fit in the whole numbers of a design


def warner(p: Number, *, answers: Pair = YES_NO, reports: Pair = YES_NO) -> Channel:
    """Warner's design: chance decides whether the respondent is asked for the trait, or for its absence.

    A device, unseen by others, points to one of two statements: "I have the trait" with probability p, "I do not
    have it" otherwise. The respondent says only whether the statement is true. So P(yes | trait) = p, and
    P(yes | not) = 1 - p [1]_.

    Parameters
    ----------
    p : number
        The probability of the statement "I have the trait": not 1/2, and neither 0 nor 1.
    answers : two labels
        Having the trait, and not having it.
    reports : two labels
        The statement is true, or it is not.

    References
    ----------
    .. [1] S. L. Warner, "Randomized response: a survey technique for eliminating evasive answer bias", J. Amer. Stat.
       Assoc. 60 (1965), 63-69.

    Examples
    --------
    A die decides, and 633 of 1000 say yes: (0.633 - 5/6) / (1/6 - 5/6) = 0.3005, as the vignette of the R package RRreg
    prints.

    >>> from warner import inv
    >>> inv([633, 367], warner("1/6")).round(4)
    array([0.3005, 0.6995])
    """
    procedure = (
        'Draw one of two statements, unseen by others: with probability {p} "I have the trait", with '
        "probability {q} \"I do not have the trait\". Report '{yes}' if the statement is true for you, '{no}' if not."
    )
    return _mirrored_channel("warner", p, answers, reports, procedure)


def mirrored(p: Number, *, answers: Pair = YES_NO, reports: Pair = YES_NO) -> Channel:
    """Mirrored question: the name of Warner's design in Blair, Imai and Zhou.

    Chance decides whether the respondent answers the sensitive question (probability p) or its mirror image: "is it so
    that you have *not* ...?". P(yes | trait) = p, P(yes | not) = 1 - p [1]_.

    Parameters
    ----------
    p, answers, reports
        As for `warner`.

    References
    ----------
    .. [1] G. Blair, K. Imai, Y.-Y. Zhou, "Design and analysis of the randomized response technique", J. Amer. Stat.
       Assoc. 110 (2015), 1304-1319.

    Examples
    --------
    With p = 0.7, 60 of 125 say yes: (0.48 - 0.3) / (0.7 - 0.3) = 0.45, as the R package RRTCS gives.

    >>> from warner import inv
    >>> inv([60, 65], mirrored(0.7)).round(4)
    array([0.45, 0.55])
    """
    procedure = (
        "Let chance decide, unseen, which question is yours: with probability {p} the sensitive one, with probability "
        "{q} its opposite. Answer it truthfully, with '{yes}' or '{no}'."
    )
    return _mirrored_channel("mirrored", p, answers, reports, procedure)


def disguised(p: Number, *, answers: Pair = YES_NO, reports: Pair = ("red", "black")) -> Channel:
    """Disguised response: the report is the color of a card, instead of yes or no.

    There are a yes-stack, in which a share p of the cards is red, and a no-stack, in which 1 - p is. The respondent
    draws from both, unseen, and names the color of the card from the stack of the true answer. P(red | trait) = p,
    P(red | not) = 1 - p, as in Warner's design [1]_. It is `kuk` with one draw and mirrored stacks.

    Parameters
    ----------
    p : number
        The share of red cards in the yes-stack: not 1/2, and neither 0 nor 1.
    answers, reports
        As for `warner`; the first report is the color that is the more common one in the yes-stack if p > 1/2.

    References
    ----------
    .. [1] G. Blair, K. Imai, Y.-Y. Zhou, "Design and analysis of the randomized response technique", J. Amer. Stat.
       Assoc. 110 (2015), 1304-1319.

    Examples
    --------
    Stacks of 80 % and 20 % red; 38 of 100 report red: (0.38 - 0.2) / (0.8 - 0.2) = 0.3.

    >>> from warner import inv
    >>> inv([38, 62], disguised(0.8)).round(4)
    array([0.3, 0.7])
    """
    procedure = (
        "Draw, unseen, a card from each of two stacks: in the {trait}-stack a share of {p} of the cards is '{yes}', in "
        "the {absence}-stack {q}; all others are '{no}'. Report only the color of the card from the stack of your "
        "true answer."
    )
    return _mirrored_channel("disguised", p, answers, reports, procedure)


def crosswise(p: Number, *, answers: Pair = YES_NO, reports: Pair = ("same", "differ")) -> Channel:
    """Crosswise model: two questions at once, and only whether their answers are the same.

    Besides the sensitive question there is an unrelated one, whose answer is yes for a known share p of people, whether
    or not they have the trait: a birthday in January or February. The respondent reports whether both answers are the
    same or differ. No device is needed, and no report is an admission. P(same | trait) = p, P(same | not) = 1 - p [1]_.

    Parameters
    ----------
    p : number
        The prevalence of the unrelated trait: not 1/2, and neither 0 nor 1.
    answers, reports
        As for `warner`.

    References
    ----------
    .. [1] J.-W. Yu, G.-L. Tian, M.-L. Tang, "Two new models for survey sampling with sensitive characteristic: design
       and analysis", Metrika 67 (2008), 251-263.

    Examples
    --------
    Jann, Jerke and Krumpal (2012) asked students about plagiarism: with p = 1/4, 198 of 310 reported *same*. That is
    (198/310 - 3/4) / (1/4 - 3/4) = 0.223.

    >>> from warner import inv
    >>> inv([198, 112], crosswise("1/4")).round(3)
    array([0.223, 0.777])
    """
    procedure = (
        "Think of two questions, the sensitive one and an unrelated one that a share of {p} of people would answer "
        "with yes. Report '{yes}' if your answers to both are the same (twice yes, or twice no), '{no}' if they "
        "differ. Tell neither answer."
    )
    return _mirrored_channel("crosswise", p, answers, reports, procedure)


def triangular(p: Number, *, answers: Pair = YES_NO, reports: Pair = ("at least one", "neither")) -> Channel:
    """Triangular model: two questions at once, and only whether the answer to at least one is yes.

    The unrelated question is as in `crosswise`. P(at least one | trait) = 1, P(at least one | not) = p [1]_. The
    report *neither* reveals with certainty that a respondent does not have the trait.

    Parameters
    ----------
    p : number
        The prevalence of the unrelated trait: neither 0 nor 1.
    answers, reports
        As for `warner`.

    References
    ----------
    .. [1] J.-W. Yu, G.-L. Tian, M.-L. Tang, "Two new models for survey sampling with sensitive characteristic: design
       and analysis", Metrika 67 (2008), 251-263.

    Examples
    --------
    With p = 1/4, 236 of 600 report *at least one*: (236/600 - 1/4) / (3/4) = 0.1911.

    >>> from warner import inv
    >>> inv([236, 364], triangular("1/4")).round(4)
    array([0.1911, 0.8089])
    """
    share = probability("p", p)
    procedure = (
        "Think of two questions, the sensitive one and an unrelated one that a share of {p} of people would answer "
        "with yes. Report '{yes}' if your answer to one of them or to both is yes, '{no}' if both answers are no. Do "
        "not tell which."
    )
    return _channel_of_trait("triangular", (Fraction(1), share), {"p": p}, (answers, reports), procedure, share)


def forced_response(
    *,
    truth: Number,
    yes: Number | None = None,
    forced: Mapping[Any, Number] | None = None,
    answers: Pair | None = None,
    reports: Pair | None = None,
) -> Channel:
    """Make a forced response: chance decides whether to answer truthfully, or which report to give.

    A device says: answer truthfully (with probability ``truth``), say yes (``yes``), or say no (the rest). So
    P(yes | trait) = truth + yes, and P(yes | not) = yes [1]_. With more than two answers, ``forced`` gives for each
    answer the probability of having to say it, and the true one is reported with probability ``truth`` more [2]_.

    Parameters
    ----------
    truth : number
        The probability of answering truthfully; neither 0 nor 1.
    yes : number, optional
        The probability of the forced yes. (Some packages mean by this the share of yes *among forced answers*: that
        times 1 - ``truth`` is meant here.)
    forced : mapping, optional
        Instead of ``yes``: the answers, in order, each with the probability of having to report it. They sum to
        1 - ``truth``.
    answers, reports : two labels
        With ``yes``, as for `warner`; reports are called like the answers if not given. With ``forced``, the answers
        are its own, and so are the reports.

    References
    ----------
    .. [1] R. F. Boruch, "Assuring confidentiality of responses in social research: a note on strategies", The American
       Sociologist 6 (1971), 308-311.
    .. [2] P. T. Liu, L. P. Chow, "A new discrete quantitative randomized response model", J. Amer. Stat. Assoc. 71
       (1976), 72-73.

    Examples
    --------
    Fox, Klotzke and Veen (2021) print 0.47479 for shoplifting: truth 3/4, forced yes 1/6, 402 yes of 769.

    >>> from warner import inv
    >>> inv([402, 367], forced_response(truth="3/4", yes="1/6")).round(5)
    array([0.47479, 0.52521])

    Four answers: (0.30 - 0.1) / 0.7 = 2/7, (0.25 - 0.05) / 0.7 = 2/7 twice, and (0.20 - 0.1) / 0.7 = 1/7.

    >>> four = forced_response(truth=0.7, forced={"never": 0.1, "once": 0.05, "twice": 0.05, "often": 0.1})
    >>> inv([300, 250, 250, 200], four).round(4)
    array([0.2857, 0.2857, 0.2857, 0.1429])
    """
    if (yes is None) == (forced is None):
        got = "got neither" if yes is None else "got both"
        raise TypeError(f"a forced response needs yes, or forced with a probability for each answer, but {got}")
    honest = probability("truth", truth)
    if forced is not None:
        if answers is not None or reports is not None:
            raise TypeError(
                "answers and reports must be left out if every answer has a forced probability, which names it already"
            )
        return _forced_answers(honest, truth, forced)
    says_yes = probability("yes", yes)  # type: ignore[arg-type]
    says_no = 1 - honest - says_yes
    if says_no < 0:
        raise ValueError(
            f"truth and yes must sum to at most 1, because the rest is the forced no, but got {truth!r} and {yes!r}"
        )
    procedure = (
        "Let chance decide, unseen, what to do: with probability {truth} answer truthfully, with probability {p} "
        "report '{yes}', with probability {q} report '{no}', whatever the truth is."
    )
    given, pairs = {"truth": truth, "yes": yes}, (answers or YES_NO, reports or answers or YES_NO)
    rates, chances = (honest + says_yes, says_yes), {"truth": honest, "q": says_no}
    return _channel_of_trait("forced response", rates, given, pairs, procedure, says_yes, **chances)


def unrelated_question(*, p: Number, prevalence: Number, answers: Pair = YES_NO, reports: Pair = YES_NO) -> Channel:
    """Unrelated question: chance decides whether the sensitive or a harmless question is answered.

    With probability p the respondent answers the sensitive question, otherwise one whose share of yes is known, the
    same with the trait and without: P(yes | trait) = p + (1 - p) prevalence, P(yes | not) = (1 - p) prevalence [1]_.
    If that share is unknown, two samples identify it: `warner.noncompliance.two_sample_unrelated_question`.

    Parameters
    ----------
    p : number
        The probability of the sensitive question; neither 0 nor 1.
    prevalence : number
        The share of people who would answer the unrelated question with yes.
    answers, reports
        As for `warner`.

    References
    ----------
    .. [1] B. G. Greenberg, A.-L. A. Abul-Ela, W. R. Simmons, D. G. Horvitz, "The unrelated question randomized response
       model: theoretical framework", J. Amer. Stat. Assoc. 64 (1969), 520-539.

    Examples
    --------
    A coin, and "were you born in July?": 328 of 710 students said yes to having copied in an exam or to that. The
    vignette of the R package RRTCS prints 0.8406103.

    >>> from warner import inv
    >>> inv([328, 382], unrelated_question(p="1/2", prevalence="1/12")).round(7)
    array([0.8406103, 0.1593897])
    """
    chance, common = probability("p", p), probability("prevalence", prevalence)
    procedure = (
        "Let chance decide, unseen, which question is yours: with probability {p} the sensitive one, with probability "
        "{q} an unrelated one that a share of {common} of people would answer with yes. Answer it truthfully, with "
        "'{yes}' or '{no}'."
    )
    rates, given = (chance + (1 - chance) * common, (1 - chance) * common), {"p": p, "prevalence": prevalence}
    return _channel_of_trait("unrelated question", rates, given, (answers, reports), procedure, chance, common=common)


def mangat_singh(truth: Number, p: Number, *, answers: Pair = YES_NO, reports: Pair = YES_NO) -> Channel:
    """Two stages of Mangat and Singh: the truth with some probability, otherwise Warner's design.

    P(yes | trait) = T + (1 - T) p, and P(yes | not) = (1 - T)(1 - p), with T for ``truth`` [1]_.

    Parameters
    ----------
    truth : number
        The probability of answering truthfully at once, which the authors call T.
    p : number
        The probability of the statement "I have the trait" in the second stage, as in `warner`.
    answers, reports
        As for `warner`.

    References
    ----------
    .. [1] N. S. Mangat, R. Singh, "An alternative randomized response procedure", Biometrika 77 (1990), 439-442.

    Examples
    --------
    With T = 0.55 and p = 0.7, a yes has probability 0.55 + 0.45 * 0.7 = 0.865 with the trait, and
    0.45 * 0.3 = 0.135 without it; with 50 of 100 yes, the prevalence is one half.

    >>> from warner import inv
    >>> mangat_singh(0.55, 0.7).channel()
    array([[0.865, 0.135],
           [0.135, 0.865]])
    >>> inv([50, 50], mangat_singh(0.55, 0.7)).round(4)
    array([0.5, 0.5])
    """
    honest, chance = probability("truth", truth), probability("p", p)
    procedure = (
        "Let chance decide, unseen: with probability {truth} report truthfully, '{yes}' or '{no}'. Otherwise draw one "
        'of two statements, "I have the trait" with probability {p}, "I do not have the trait" with probability {q}, '
        "and report '{yes}' if it is true for you, '{no}' if not."
    )
    rates, given = (honest + (1 - honest) * chance, (1 - honest) * (1 - chance)), {"truth": truth, "p": p}
    return _channel_of_trait("mangat singh", rates, given, (answers, reports), procedure, chance, truth=honest)


def mangat(p: Number, *, answers: Pair = YES_NO, reports: Pair = YES_NO) -> Channel:
    """Mangat's improved strategy: respondents with the trait say yes; for the others chance decides.

    Those without the trait say no with probability p, and yes otherwise. P(yes | trait) = 1, P(yes | not) = 1 - p [1]_.
    The report no reveals with certainty that a respondent does not have the trait.

    Parameters
    ----------
    p : number
        The probability that a respondent without the trait says so; neither 0 nor 1.
    answers, reports
        As for `warner`.

    References
    ----------
    .. [1] N. S. Mangat, "An improved randomized response strategy", J. Roy. Stat. Soc. B 56 (1994), 93-95.

    Examples
    --------
    With p = 0.7, 315 of 800 say yes: (0.39375 - 0.3) / 0.7 = 0.1339.

    >>> from warner import inv
    >>> inv([315, 485], mangat(0.7)).round(4)
    array([0.1339, 0.8661])
    """
    chance = probability("p", p)
    procedure = (
        "If you have the trait, report '{yes}'. If not, let chance decide, unseen: report '{no}' with probability {p}, "
        "and '{yes}' with probability {q}."
    )
    return _channel_of_trait("mangat", (Fraction(1), 1 - chance), {"p": p}, (answers, reports), procedure, chance)


def kuk(r1: Number, r2: Number, draws: Number = 1, *, answers: Pair = YES_NO) -> Channel:
    """Kuk's design: draw cards from the pack of the true answer, and report how many are red.

    There are two packs, with a share r1 of red cards for respondents with the trait and r2 for all others. The
    respondent draws from both, unseen, putting each card back, and reports the number of red ones from the pack of the
    true answer: binomial with ``draws`` and r1 or r2 [1]_. More draws give more precise estimates and reveal more about
    each respondent.

    Parameters
    ----------
    r1, r2 : number
        The share of red cards in the pack for people with the trait, and in that for people without it; different.
    draws : int
        Number of cards drawn; reports are 0 ... ``draws``.
    answers : two labels
        Having the trait, and not having it.

    References
    ----------
    .. [1] A. Y. C. Kuk, "Asking sensitive questions indirectly", Biometrika 77 (1990), 436-438.

    Examples
    --------
    Two draws from packs that are 4/5 and 3/10 red: (1/5)^2, 2 (4/5)(1/5), (4/5)^2, and likewise below.

    >>> kuk("4/5", "3/10", 2).channel()
    array([[0.04, 0.32, 0.64],
           [0.49, 0.42, 0.09]])
    """
    first, second = probability("r1", r1), probability("r2", r2)
    times = whole_number("draws", draws, 1, MOST_DRAWS)
    _refuse_useless(first, second, {"r1": r1, "r2": r2}, "a red card")
    rows = [
        [math.comb(times, red) * share**red * (1 - share) ** (times - red) for red in range(times + 1)]
        for share in (first, second)
    ]
    answers = _pair_of_labels("answers", answers)
    often = "once" if times == 1 else f"{times} times"
    procedure = (
        f"Draw {often}, unseen, from each of two packs of cards, putting each card back: in the {answers[0]}-pack a "
        f"share of {first} of the cards is red, in the {answers[1]}-pack {second}. Report how many red cards came from "
        "the pack of your true answer."
    )
    return Channel(rows, answers, times + 1, procedure=procedure, name="kuk")


def direct(*, answers: Pair = YES_NO, reports: Pair = YES_NO) -> Channel:
    """Direct question: the report is the true answer, without protection.

    Surveys that compare a sensitive question with and without protection ask some respondents directly. This design
    counts, compares, pools and regresses their reports like all others. P(first report | trait) = 1,
    P(first report | not) = 0, and epsilon is infinite.

    Parameters
    ----------
    answers : two labels
        Having the trait, and not having it.
    reports : two labels
        Labels of these two answers in the data.

    Examples
    --------
    Of 100 people, 12 tick A, which means yes.

    >>> from warner import inv
    >>> inv([12, 88], direct(reports=["A", "B"])).round(4)
    array([0.12, 0.88])
    """
    answers, reports = _pair_of_labels("answers", answers), _pair_of_labels("reports", reports)
    procedure = f"Answer the question: report '{reports[0]}' for {answers[0]}, '{reports[1]}' for {answers[1]}."
    return Channel([[1, 0], [0, 1]], answers, reports, procedure=procedure, name="direct")


# Shared by designs for two answers


def _mirrored_channel(name: str, p: Number, answers: Pair, reports: Pair, procedure: str) -> Channel:
    """Make Warner's design under one of its names: the first report has probability p or 1 - p."""
    chance = probability("p", p)
    return _channel_of_trait(name, (chance, 1 - chance), {"p": p}, (answers, reports), procedure, chance)


def _channel_of_trait(
    name: str,
    rates: tuple[Fraction, Fraction],
    given: Document,
    pairs: tuple[Pair, Pair],
    procedure: str,
    p: Fraction,
    **chances: Fraction,
) -> Channel:
    """Make a design from the probabilities of its first report, with the trait and without, and a text with {yes}, {p}.

    In the text {q} is 1 - p unless it is among the `chances`.
    """
    answers, reports = (_pair_of_labels(what, pair) for what, pair in zip(("answers", "reports"), pairs, strict=True))
    words = {"trait": answers[0], "absence": answers[1], "yes": reports[0], "no": reports[1], "p": p, "q": 1 - p}
    _refuse_useless(*rates, given, f"the report {reports[0]}")
    rows = [[rate, 1 - rate] for rate in rates]
    return Channel(rows, answers, reports, procedure=procedure.format(**words | chances), name=name)


def _refuse_useless(with_trait: Fraction, without: Fraction, parameters: Document, what: str) -> None:
    """Raise an error for reports that reveal nothing, or everything; `parameters` are the parameters."""
    names = " and ".join(parameters)
    values = ", ".join(f"{name} = {value}" for name, value in parameters.items())
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


def _pair_of_labels(name: str, labels: Pair) -> Pair:
    if isinstance(labels, str) or not isinstance(labels, Sequence) or len(labels) != 2:
        first = {"answers": "that of having the trait", "reports": "the design's first report"}[name]
        raise ValueError(f"{name} must be two labels, {first} first, but got {reprlib.repr(labels)}")
    return labels


def _forced_answers(honest: Fraction, truth: Number, forced: Mapping[Label, Number]) -> Channel:
    """Make the channel of forced response among several answers."""
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
    _refuse_useless(honest, Fraction(0), {"truth": truth}, "an honest report")
    rows = [
        [share + (honest if row == column else 0) for column, share in enumerate(shares)] for row in range(len(shares))
    ]
    forcings = ", ".join(
        f"report {label} with probability {share}" for label, share in zip(labels, shares, strict=True)
    )
    procedure = (
        f"Let chance decide, unseen, what to do: answer truthfully with probability {honest}, or, whatever the truth "
        f"is, {forcings}."
    )
    return Channel(rows, labels, labels, procedure=procedure, name="forced response")


# The survey designs by name: what the command line offers, with the parameters of each function.
SURVEYS: dict[str, Callable[..., Channel]] = {
    survey.__name__.replace("_", " "): survey
    for survey in (
        warner,
        mirrored,
        disguised,
        crosswise,
        triangular,
        forced_response,
        unrelated_question,
        mangat_singh,
        mangat,
        kuk,
        direct,
    )
}


# Decks of cards for quantities


CARD = re.compile(r"(say\s+|[+*-]\s*)(.+)")


def cards(device: Mapping[str, Number], values: Domain) -> Channel:
    r"""Make a design from a deck of cards for a quantity: the truth, or a number to say, to add or to multiply by.

    It covers Eriksson's forced numbers [1]_, the unrelated quantity of Greenberg and others with a known law [2]_, the
    additive constants of Himmelfarb and Edgell [3]_, and the multiplicative devices of Eichhorn and Hayre [4]_ and of
    Bar-Lev and others [5]_, as far as their laws are finite.

    Parameters
    ----------
    device : mapping of str to number
        Text of each card, with its probability: ``"truth"``, ``"say 3"``, ``"+5"``, ``"-5"`` or ``"*2"``. The
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
