"""Designs from the words of a shell: the name of a mechanism or survey design, and ``key=value`` for its parameters.

`MECHANISMS`, `REPEATED` and `SURVEYS` are the only lists of names. What a mechanism takes stands in its ``parameters``,
what a design for repeated questions, or a survey design, takes in the signature of its function.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from inspect import Parameter, signature
from typing import TYPE_CHECKING, NamedTuple

from warner.designs import MECHANISMS, REPEATED_DESIGNS
from warner.designs.survey_designs import SURVEYS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warner.designs import Design
    from warner.designs.labels import Domain
    from warner.documents import Document

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


def pairs(words: list[str], name: str) -> dict[str, str]:
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


def refuse_misspelled(words: list[str]) -> None:
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


def catalogue() -> str:
    """List the names with their parameters, a line each."""
    names = [name for name in (*MECHANISMS, *REPEATED_DESIGNS, *SURVEYS) if _has_parameters(name)]
    width = max(map(len, names))
    return "\n".join(
        f"  {name.replace(' ', '-'):{width}}  {maker(name).usage().replace('=...', '=')}" for name in names
    )


def _has_parameters(name: str) -> bool:
    return name not in MECHANISMS or bool(MECHANISMS[name].parameters)
