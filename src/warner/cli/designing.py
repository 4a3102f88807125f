"""The command design: a name from a registry, and ``key=value`` for its parameters.

These are the ``parameters`` of a mechanism, or those of the function that makes a design.
"""

from __future__ import annotations

import re
from dataclasses import fields
from difflib import get_close_matches
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, NamedTuple

from warner.cli.delivering import deliver_document, refuse_overwriting
from warner.cli.messages import tell, warnings_in_one_line
from warner.cli.options import assigned, put
from warner.cli.values import labels_in, number_grid, whole_numbers
from warner.designs import (
    ELSEWHERE,
    MECHANISMS,
    REPEATED_DESIGNS,
    OpenDomain,
    RandomizedResponse,
    SelectAll,
    SplitQuestionnaire,
    load_design,
)
from warner.designs.survey_designs import SURVEYS
from warner.documents import format_of
from warner.text import did_you_mean, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from warner.cli import commands
    from warner.designs.contract import Design, Device
    from warner.designs.labels import Domain
    from warner.documents import Document

SPLIT, SELECT_ALL = "split", "select-all"  # the names of several questions, and the options that they take
OPTIONS_OF = {SPLIT: {"question", "asked"}, SELECT_ALL: {"at_most"}}
CARDS = "cards"  # the name of decks of cards for quantities
BEST_FOR = ("shares", "mean", "distribution")  # quantities for which --best compares mechanisms


def design(options: commands.Design) -> None:
    inputs = {"the list of answers": options.domain_file, "the open domain": options.opened_by}
    refuse_overwriting(inputs, {"--output": options.output}, force=options.force)
    made = _made(options)
    if options.output is not None and not options.force:
        _refuse_replacing(options.output, made)
    deliver_document(made, options.output)


def _made(options: commands.Design) -> Device:
    """Construct the design of the words and options."""
    words, best, integers = options.words, options.best, options.integers
    answers, reports = options.answers or None, list(options.reports) or None
    if (several := questionnaire(options)) is not None:
        return several
    parameters = {name: getattr(options, name) for name in ("epsilon", "truth", "redraw", "odds", "quantity")}
    if options.share is not None and not best:
        raise ValueError("--share is for --best")
    if options.opened_by is not None:
        listed = _domain(options, words)
        others = (options.letters, options.length, options.text_bytes, options.bits, reports, *parameters.values())
        if best or any(option is not None for option in others):
            raise ValueError("--open takes only the answers of the list: all other parameters are in its file")
        return closed_list(options.opened_by, listed)
    opened = open_domain(options)
    if opened is not None or named_open(words):
        surplus = (answers, options.domain_file, options.size, options.lower, options.upper, reports)
        surplus += tuple(value for name, value in parameters.items() if name != "epsilon")
        if best or integers or any(option is not None for option in surplus):
            raise ValueError(
                "an open domain takes only --letters and --length, --bytes or --bits, --step and --epsilon"
            )
        return _named_alone(words, opened)
    if words and words[0].lower() == CARDS:
        if best or any(option is not None for option in (*parameters.values(), reports)):
            raise ValueError("cards take only the instruction of each card with its probability, and the numbers")
        return _deck(words[1:], _domain(options, ()))
    name = name_of(words[0]) if words and known(words[0]) else None
    given: dict[str, str] = {}
    if name is not None:
        remedy = "; the answers, if any, go after --answers"
        given = assigned(words[1:], f"{name} takes {maker(name).usage()}", last=True, remedy=remedy)
    for key, value in parameters.items():
        if value is not None:
            put(given, key, value)
    if name is None:
        refuse_misspelled(words)
    domain = _domain(options, () if name else words)
    if best and reports is not None:
        raise ValueError("--best makes no survey design; leave --reports out")
    if integers and domain is None and reports is None:
        raise ValueError("--integers is for answers or reports that are named; the answers yes and no are texts")
    if best:
        return _best(name, given, domain, options.share, options.output)
    reported = _whole(reports, "reports") if integers and reports is not None else reports
    return designed(name or RandomizedResponse.mechanism, given, domain, reported)


def questionnaire(options: commands.Design) -> SplitQuestionnaire | None:
    """Construct the split questionnaire, or the question with several answers; None for other words."""
    first, rest = " ".join(options.words[:1]).lower(), list(options.words[1:])
    kind = first if first == SELECT_ALL or (first == SPLIT and (options.question or not rest)) else ""
    taken = {"words", "epsilon", "output", "force", *OPTIONS_OF.get(kind, ())}
    declared: Any = options  # a dataclass: see `commands.declared`
    changed = [one.name for one in fields(declared) if getattr(options, one.name) != one.default]
    if others := [name for name in changed if name not in taken and (kind or name in {"question", "asked", "at_most"})]:
        name = {"asked": "ask"}.get(others[0], others[0]).replace("_", "-")
        raise ValueError(f"--{name} must be left out for {kind or 'a single question'}")
    if not kind:
        return None
    if options.epsilon is None:
        raise ValueError(f"{kind} needs --epsilon, the privacy of all reports of a respondent")
    if kind == SELECT_ALL:
        return SelectAll(rest, options.epsilon, options.at_most)
    form = "--question must be NAME=ANSWERS, such as smokes=yes,no"
    questions = assigned((*options.question, *rest), form, empty=True)
    domains = {name: [answer.strip() for answer in answers.split(",")] for name, answers in questions.items()}
    return SplitQuestionnaire(domains, options.epsilon, options.asked)


def _deck(words: Sequence[str], numbers: Domain | None) -> Design:
    """Construct the design of a deck of cards, and print its epsilon, which may be infinite."""
    from warner.surveys import cards

    device = assigned(words, 'a card needs its instruction and its probability, as "say 0=1/10"', last=True)
    if not device:
        raise ValueError('cards need instructions with their probabilities, as truth=1/2 "say 0=1/4" "say 1=1/4"')
    if numbers is None:
        raise ValueError("cards need all possible numbers: give --from and --to, or --size")
    with warnings_in_one_line():
        deck = cards(device, numbers)
    tell(f"A report of this deck reveals epsilon {deck.shown_epsilon()}.", err=True)
    return deck


def _named_alone(words: Sequence[str], domain: OpenDomain | None) -> OpenDomain:
    """Return the open domain, whose name must be the only word."""
    if domain is None:
        raise ValueError("an open domain needs --letters with --length, --bytes or --bits, and --epsilon")
    if not named_open(words) or len(words) > 1:
        first = "an open domain has no list of answers; leave them out: " if named_open(words) else ""
        raise ValueError(
            f"{first}--letters, --bytes and --bits are for an open domain: warner design open-domain --letters a-z"
        )
    return domain


def _refuse_replacing(output: Path, design: Device) -> None:
    if not output.is_file():
        return
    try:
        earlier = load_design(output)
    except ValueError:
        kind = (format_of(output) or "").removeprefix("warner ")
        content = f"holds another document, a {kind}" if kind else "already exists, and is not a design"
        raise ValueError(f"{output} {content}; give another file, or --force") from None
    if earlier != design:
        raise ValueError(
            f"{output} holds another design, {earlier!r}, and reports under it could not be analyzed without it; give "
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
            f"--best needs --epsilon and the possible answers, and takes only --quantity and --share, but got {got}"
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
    tell(wrapped([compared.reason]), err=output is None)
    return compared.design()


def _domain(options: commands.Design, words: Sequence[str]) -> Domain | None:
    """Return the possible answers; raise an error if they are given twice."""
    numbers, size, file = number_grid(options.lower, options.upper, options.step), options.size, options.domain_file
    ways = {"words": words or None, "--answers": options.answers or None, "--domain-file": file, "--size": size}
    named = [way for way, value in (ways | {"--from and --to": numbers}).items() if value is not None]
    if len(named) > 1:
        raise ValueError(f"give the possible answers in one way, but got {' and '.join(named)}")
    if numbers is not None or size is not None:
        return size if numbers is None else numbers
    given = words or options.answers or (None if file is None else labels_in(file))
    return None if given is None else _whole(given, "answers") if options.integers else list(given)


def _whole(labels: Sequence[str], kind: str) -> list[int]:
    return whole_numbers(labels, f"--integers needs {kind} that are whole numbers, but got {', '.join(labels[:5])}")


# Mechanisms and survey designs


LABELS = ("domain", "answers", "reports")  # parameters that are lists of labels
PAIR = re.compile(r"\w+=.+")


class Maker(NamedTuple):
    """Function and parameters of the designs of one name; `each_answer` takes all keys except those `always` needed."""

    name: str
    make: Callable[..., Design]
    keys: tuple[str, ...]
    needed: tuple[str, ...] = ()
    always: tuple[str, ...] = ()
    each_answer: str | None = None

    def usage(self) -> str:
        """Return the accepted keys, optional ones in brackets."""
        keys = " ".join(f"{key}=..." if key in self.needed else f"[{key}=...]" for key in self.keys)
        if not self.keys:
            return "no parameters"
        if not self.needed:
            return f"some of {' '.join(f'{key}=...' for key in self.keys)}"
        if self.each_answer is None:
            return keys
        return f"{keys}, or {' '.join(f'{key}=...' for key in self.always)} and ANSWER=... for each answer"

    def arguments(self, given: dict[str, str]) -> Document:
        """Assign the given values to parameters; raise an error for an unknown or missing key."""
        strange = [key for key in given if key not in self.keys]
        rest = {key: value for key, value in given.items() if key not in self.always}
        arguments: Document = {}
        if self.each_answer is not None and strange and len(rest) > 1:
            needed = self.always
            arguments |= {self.each_answer: rest} | {key: given[key] for key in self.always if key in given}
        elif strange:
            hint = did_you_mean(strange[0], self.keys)
            raise ValueError(f"{self.name} takes {self.usage()}, but got {strange[0]}={given[strange[0]]}{hint}")
        else:
            needed = self.needed
            arguments |= given
        if missing := [key for key in needed if key not in given]:
            lacks = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
            raise ValueError(f"{self.name} needs {self.usage()}, but {lacks}")
        return arguments


def name_of(word: str) -> str:
    """Return the spelling of the registries: spaces instead of hyphens and underscores, and their capitals."""
    spaced = word.replace("-", " ").replace("_", " ")
    survey = next((name for name in SURVEYS if name.lower() == spaced.lower()), None)
    return survey or (spaced if spaced in REPEATED_DESIGNS else MECHANISMS.named(spaced))


def known(word: str) -> bool:
    name = name_of(word)
    return name in REPEATED_DESIGNS or name in SURVEYS or name in MECHANISMS


def maker(name: str) -> Maker:
    if name not in REPEATED_DESIGNS and name not in SURVEYS:
        mechanism = MECHANISMS[name]
        if not mechanism.parameters:
            raise ValueError(
                f"a {name} has no parameters, so it cannot be made on the command line; make it in Python and save it "
                f"to a file, or use one of {listed()}"
            )
        return Maker(name, mechanism, mechanism.parameters)
    make = REPEATED_DESIGNS[name] if name in REPEATED_DESIGNS else SURVEYS[name]
    taken = {key: value for key, value in signature(make).parameters.items() if key not in LABELS}
    each_answer = next((key for key, value in taken.items() if "Mapping" in str(value.annotation)), None)
    always = tuple(key for key, value in taken.items() if value.default is Parameter.empty)
    keys = tuple(key for key in taken if key != each_answer)
    # A parameter of a survey design that is None by default is given for each answer instead.
    needed = tuple(key for key in keys if key in always or (name in SURVEYS and taken[key].default is None))
    return Maker(name, make, keys, needed, always, each_answer)


def designed(
    name: str, given: dict[str, str], domain: Domain | None, reports: Sequence[str] | Sequence[int] | None = None
) -> Design:
    """Construct a design from its parameters as text; the default answers of survey designs are yes and no."""
    design_maker = maker(name)
    arguments = design_maker.arguments(given)
    if reports is not None:
        if name not in SURVEYS or "reports" not in signature(design_maker.make).parameters:
            raise ValueError(f"--reports must be left out for a {name}, whose reports follow from the answers")
        arguments["reports"] = reports
    if name in SURVEYS:
        return design_maker.make(**arguments, **({} if domain is None else {"answers": domain}))
    if domain is None:
        raise ValueError(
            f"a {name} needs the possible answers: name them after --answers, or give --domain-file or --size"
        )
    return design_maker.make(domain, **arguments)


def refuse_misspelled(words: Sequence[str]) -> None:
    """Raise an error for an unknown name: a first word that only ``key=value`` words follow."""
    if words and not PAIR.fullmatch(words[0]) and all(PAIR.fullmatch(word) for word in words[1:]):
        close = get_close_matches(name_of(words[0]), [*MECHANISMS, *REPEATED_DESIGNS, *SURVEYS], 1)
        guess = f" (did you mean {close[0].replace(' ', '-')}?)" if close else ""
        raise ValueError(
            f"there is no design {words[0]!r}{guess}: the names are {listed()}. Answers must be at least two, and go "
            f"after --answers if they look like key=value. For a mechanism of another package, {ELSEWHERE}"
        )


def listed() -> str:
    names = [name for name in MECHANISMS if MECHANISMS[name].parameters]
    return ", ".join(name.replace(" ", "-") for name in (*names, *REPEATED_DESIGNS, *SURVEYS))


# Open domains


def open_domain(options: commands.Design | commands.Plan) -> OpenDomain | None:
    """Construct the open domain of the options; None without any of them."""
    if not is_open(options):
        if options.length is not None:
            raise ValueError("--length is for an open domain; give --letters, --bytes or --bits")
        return None
    if options.epsilon is None:
        raise ValueError("an open domain needs --epsilon, the privacy of one report")
    return OpenDomain(
        epsilon=options.epsilon,
        letters=options.letters,
        bytes=options.text_bytes,
        bits=options.bits,
        length=options.length,
        step=options.step,
    )


def is_open(options: commands.Design | commands.Plan) -> bool:
    return any(part is not None for part in (options.letters, options.text_bytes, options.bits))


def named_open(words: Sequence[str]) -> bool:
    return bool(words) and words[0].lower().replace("-", " ") == OpenDomain.mechanism


def closed_list(file: Path, answers: Any) -> Design:
    """Construct the design of a list of answers for reports of the open domain in a file."""
    domain = load_design(file)
    if not isinstance(domain, OpenDomain):
        raise ValueError(f"--open must be the file of an open domain, but {file} is a {domain.mechanism}")
    if answers is None:
        raise ValueError("--open needs the answers of the list: name them, or give --domain-file")
    labels = range(answers) if isinstance(answers, int) else answers
    if domain.answer_form.holds == "integers" and isinstance(labels, list):
        labels = whole_numbers(labels, f"the answers must be {domain.values.described()}, as {file} has them")
    return domain.closed(labels)
