"""Designs from the words of a shell: the command design.

A design is named, with ``key=value`` for its parameters; `MECHANISMS`, `REPEATED_DESIGNS` and `SURVEYS` are the only
lists of names. The parameters of a mechanism are its ``parameters``, those of a design for repeated questions, or of a
survey design, stand in the signature of its function.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, NamedTuple

from warner.cli.delivering import deliver_document, refuse_overwriting
from warner.cli.messages import tell, warnings_in_one_line
from warner.cli.values import labels_in, number_grid, whole_numbers
from warner.designs import MECHANISMS, REPEATED_DESIGNS, OpenDomain, RandomizedResponse, load_design
from warner.designs.survey_designs import SURVEYS
from warner.documents import format_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from warner.cli import commands
    from warner.designs.contract import Design, Device
    from warner.designs.labels import Domain
    from warner.documents import Document

CARDS = "cards"  # the name of decks of cards for quantities
BEST_FOR = ("shares", "mean", "distribution")  # what --best compares mechanisms for


def design(options: commands.Design) -> None:
    """Write a design file, which says how every answer is randomized."""
    domain_file, output, force = options.domain_file, options.output, options.force
    refuse_overwriting({"the list of answers": domain_file, "the open domain": options.opened_by}, {"--output": output})
    words, best, integers = options.words, options.best, options.integers
    answers, reports = options.answers or None, list(options.reports) or None
    grid = options.lower, options.upper, options.step
    parameters = {name: getattr(options, name) for name in ("epsilon", "truth", "redraw", "odds", "quantity")}
    if options.share is not None and not best:
        raise ValueError("--share is for --best")
    if options.opened_by is not None:
        listed = _domain(words, answers, domain_file, options.size, number_grid(*grid), integers=integers)
        others = (options.letters, options.length, options.text_bytes, options.bits, reports, *parameters.values())
        if best or any(option is not None for option in others):
            raise ValueError("--open takes the answers of the list, and nothing else: all the rest is in its file")
        _deliver(closed_list(options.opened_by, listed), output, force=force)
        return
    opened = open_domain(options)
    if opened is not None or named_open(words):
        surplus = (answers, domain_file, options.size, options.lower, options.upper, reports)
        surplus += tuple(value for name, value in parameters.items() if name != "epsilon")
        if best or integers or any(option is not None for option in surplus):
            raise ValueError(
                "an open domain takes --letters and --length, --bytes or --bits, --step, --epsilon, and nothing else"
            )
        _write_open(words, opened, output, force=force)
        return
    if words and words[0].lower() == CARDS:
        if best or any(option is not None for option in (*parameters.values(), reports)):
            raise ValueError("cards take what each card says with its probability, and the numbers, and nothing else")
        listed = _domain((), answers, domain_file, options.size, number_grid(*grid), integers=integers)
        _deliver(_deck(words[1:], listed), output, force=force)
        return
    name = name_of(words[0]) if words and known(words[0]) else None
    given: dict[str, str] = {} if name is None else pairs(words[1:], name)
    for key, value in parameters.items():
        if value is not None:
            put(given, key, value)
    if name is None:
        refuse_misspelled(words)
    domain = _domain(() if name else words, answers, domain_file, options.size, number_grid(*grid), integers=integers)
    if best and reports is not None:
        raise ValueError("--best makes no survey design; leave --reports out")
    if integers and domain is None and reports is None:
        raise ValueError("--integers is for answers or reports that are named; the answers yes and no are texts")
    reported = _whole(reports, "reports") if integers and reports is not None else reports
    made = (
        _best(name, given, domain, options.share, output)
        if best
        else designed(name or RandomizedResponse.mechanism, given, domain, reported)
    )
    _deliver(made, output, force=force)


def _deck(words: Sequence[str], numbers: Domain | None) -> Design:
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


def _write_open(words: Sequence[str], made: OpenDomain | None, output: Path | None, *, force: bool) -> None:
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
    words: Sequence[str],
    answers: Sequence[str] | None,
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
    given = words or answers or (None if file is None else labels_in(file))
    return None if given is None else _whole(given, "answers") if integers else list(given)


def _whole(labels: Sequence[str], what: str) -> list[int]:
    """Read labels as whole numbers."""
    wrong = f"--integers needs {what} that are whole numbers, but got {', '.join(labels[:5])}"
    return whole_numbers(labels, wrong)


# Mechanisms and survey designs


LABELS = ("domain", "answers", "reports")  # parameters that are lists of labels
PAIR = re.compile(r"\w+=.+")


class Maker(NamedTuple):
    """How a design of this name is made.

    With a probability for each answer, as forced response may have, `each_answer` is the parameter that takes all keys
    except those that are `always` needed.
    """

    name: str
    make: Callable[..., Design]
    keys: tuple[str, ...]
    needed: tuple[str, ...] = ()
    always: tuple[str, ...] = ()
    each_answer: str | None = None

    def usage(self) -> str:
        """Say which keys are accepted; those in brackets may be left out."""
        keys = " ".join(f"{key}=..." if key in self.needed else f"[{key}=...]" for key in self.keys)
        if not self.keys:
            return "no parameters"
        if not self.needed:
            return f"some of {' '.join(f'{key}=...' for key in self.keys)}"
        if self.each_answer is None:
            return keys
        return f"{keys}, or {' '.join(f'{key}=...' for key in self.always)} and ANSWER=... for each answer"

    def arguments(self, given: dict[str, str]) -> Document:
        """Sort what was given into the parameters, or say what is wrong with it."""
        strange = [key for key in given if key not in self.keys]
        rest = {key: value for key, value in given.items() if key not in self.always}
        arguments: Document = {}
        if self.each_answer is not None and strange and len(rest) > 1:
            needed = self.always
            arguments |= {self.each_answer: rest} | {key: given[key] for key in self.always if key in given}
        elif strange:
            raise ValueError(f"{self.name} takes {self.usage()}, but got {strange[0]}={given[strange[0]]}")
        else:
            needed = self.needed
            arguments |= given
        if missing := [key for key in needed if key not in given]:
            lacks = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
            raise ValueError(f"{self.name} needs {self.usage()}, but {lacks}")
        return arguments


def name_of(word: str) -> str:
    """Spell a name as the registries do: hyphens and underscores are spaces, and small letters may be capitals."""
    spaced = word.replace("-", " ").replace("_", " ")
    survey = next((name for name in SURVEYS if name.lower() == spaced.lower()), None)
    return survey or (spaced if spaced in REPEATED_DESIGNS else MECHANISMS.named(spaced))


def known(word: str) -> bool:
    """Tell whether this is the name of a mechanism or of a survey design."""
    name = name_of(word)
    return name in REPEATED_DESIGNS or name in SURVEYS or name in MECHANISMS


def maker(name: str) -> Maker:
    """Read off what a mechanism, or a survey design, takes."""
    if name not in REPEATED_DESIGNS and name not in SURVEYS:
        mechanism = MECHANISMS[name]
        if not mechanism.parameters:
            raise ValueError(
                f"a {name} has no parameters, so it cannot be made on the command line; make it in Python and save it "
                f"to a file, or take one of {listed()}"
            )
        return Maker(name, mechanism, mechanism.parameters)
    make = REPEATED_DESIGNS[name] if name in REPEATED_DESIGNS else SURVEYS[name]
    taken = {key: value for key, value in signature(make).parameters.items() if key not in LABELS}
    each_answer = next((key for key, value in taken.items() if "Mapping" in str(value.annotation)), None)
    always = tuple(key for key, value in taken.items() if value.default is Parameter.empty)
    keys = tuple(key for key in taken if key != each_answer)
    # Of a survey design, what is None by default is given in another way, an answer at a time.
    needed = tuple(key for key in keys if key in always or (name in SURVEYS and taken[key].default is None))
    return Maker(name, make, keys, needed, always, each_answer)


def designed(
    name: str, given: dict[str, str], domain: Domain | None, reports: Sequence[str] | Sequence[int] | None = None
) -> Design:
    """Make a design from its parameters as text; without a domain a survey design has the answers yes and no."""
    chosen = maker(name)
    arguments = chosen.arguments(given)
    if reports is not None:
        if name not in SURVEYS or "reports" not in signature(chosen.make).parameters:
            raise ValueError(f"--reports must be left out for a {name}, whose reports follow from the answers")
        arguments["reports"] = reports
    if name in SURVEYS:
        return chosen.make(**arguments) if domain is None else chosen.make(**arguments, answers=domain)
    if domain is None:
        raise ValueError(
            f"a {name} needs the possible answers: name them after --answers, or give --domain-file or --size"
        )
    return chosen.make(domain, **arguments)


def pairs(words: Sequence[str], name: str) -> dict[str, str]:
    """Read ``key=value`` words, each key once; a label in the place of a key may itself hold an equals sign."""
    given: dict[str, str] = {}
    for word in words:
        key, _, value = word.rpartition("=")
        if not key or not value:
            raise ValueError(
                f"{name} takes {maker(name).usage()}, but got {word!r}; the answers, if any, go after --answers"
            )
        put(given, key, value)
    return given


def put(given: dict[str, str], key: str, value: str) -> None:
    """Add a parameter that was not given before."""
    if key in given:
        raise ValueError(f"{key} must be given once, but got {given[key]} and {value}")
    given[key] = value


def refuse_misspelled(words: Sequence[str]) -> None:
    """Refuse a first word that can only be meant as a name: nothing but ``key=value`` follows it."""
    if words and not PAIR.fullmatch(words[0]) and all(PAIR.fullmatch(word) for word in words[1:]):
        close = get_close_matches(name_of(words[0]), [*MECHANISMS, *REPEATED_DESIGNS, *SURVEYS], 1)
        guess = f" (did you mean {close[0].replace(' ', '-')}?)" if close else ""
        raise ValueError(
            f"there is no design {words[0]!r}{guess}: the names are {listed()}. Answers must be at least two, and go "
            "after --answers if they look like key=value"
        )


def listed() -> str:
    """Name what can be made on a command line."""
    return ", ".join(
        name.replace(" ", "-") for name in (*MECHANISMS, *REPEATED_DESIGNS, *SURVEYS) if _has_parameters(name)
    )


def _has_parameters(name: str) -> bool:
    return name not in MECHANISMS or bool(MECHANISMS[name].parameters)


# Open domains


def open_domain(options: commands.Design | commands.Plan) -> OpenDomain | None:
    """Make the open domain that the options name; None where none of them is given."""
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
    """Return whether options say what the answers of an open domain are made of."""
    return any(part is not None for part in (options.letters, options.text_bytes, options.bits))


def named_open(words: Sequence[str]) -> bool:
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
        listed = whole_numbers(listed, f"the answers must be {made.values.described()}, as {file} has them")
    return made.closed(listed)
