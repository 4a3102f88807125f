"""Parsing the words of a shell: groups of options as values, --quiet, lists of answers, and plain words at once.

Typer reads the options of a command from the signature of its function, and converts every word by validators of
pydantic, whose import takes longer than most commands. Most words need no validator: a text is what it is, and a whole
number a row of digits. All others, and what is wrong, are Typer's to convert and to complain about.
"""

from __future__ import annotations

import inspect
import os
import re
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

from warner.cli.messages import QUIET_HELP, set_quiet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Quiet = Annotated[bool, typer.Option("--quiet", help=QUIET_HELP)]
PLAIN_NUMBERS = {int: re.compile(r"[0-9]{1,15}"), float: re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?")}


class AnswersCommand(TyperCommand):
    """A command whose options --answers and --reports take all words up to the next option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat the option before each of its words, as the parser wants it."""
        spelled: list[str] = []
        taking = ""
        known = [option for parameter in self.params for option in parameter.opts]
        for word in args:
            if word in {"--answers", "--reports"} & set(known):
                taking = word
                continue
            if word.startswith("-") and not word[1:].isdecimal():  # -3 is an answer
                taking = ""
            spelled += [taking, word] if taking else [word]
        convert_plain_words(self.get_params(ctx))
        return super().parse_args(ctx, spelled)


def with_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of each group that it takes, in the place of the group, and --quiet as the last one.

    A group is a named tuple, whose fields are options.
    """
    signature = inspect.signature(function, eval_str=True)
    groups = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if hasattr(parameter.annotation, "_fields")
    }

    @wraps(function)
    def command(*arguments: Any, quiet: bool, **options: Any) -> None:
        if quiet:
            set_quiet(True)
        for name, group in groups.items():
            options[name] = group(**{field: options.pop(field) for field in group._fields})
        function(*arguments, **options)

    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        parameters += _options(groups[name]) if name in groups else [parameter]
    parameters.append(inspect.Parameter("quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Quiet))
    command.__dict__["__signature__"] = signature.replace(parameters=parameters)
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _options(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(field, keyword, default=group._field_defaults[field], annotation=hints[field])
        for field in group._fields
    ]


def convert_plain_words(parameters: Iterable[Any]) -> None:
    """Let parameters of Typer convert plain words themselves, and leave all others to Typer's validators."""
    for parameter in parameters:
        if hasattr(parameter, "type_descriptor"):  # of a Typer with validators
            parameter.process_value = partial(_converted, parameter, parameter.process_value)


def _converted(parameter: Any, validated: Callable[[Any, Any], Any], context: Any, value: Any) -> Any:
    """Convert a value as Typer does, which has `validated` it if it is not plain, and then calls back."""
    several = parameter.multiple or parameter.nargs == -1
    if value is None and not parameter.required:
        plain = () if several else None
    else:
        plain = _plain(parameter.type_descriptor.annotation, value, parameter.min, parameter.max)
        if plain is None:
            return validated(context, value)
    return plain if parameter.callback is None else parameter.callback(context, parameter, plain)


def _plain(kind: Any, value: Any, least: float | None, most: float | None) -> Any:
    """Convert a plain word, or a list of them, to the kind that is asked for; None for all that Typer must look at."""
    if kind == list[str]:
        return list(value) if value and all(type(word) is str for word in value) else None
    if type(value) is kind:
        return value
    if type(value) is not str:
        return None
    if kind is Path:
        return Path(value) if os.access(value, os.R_OK) or not os.path.lexists(value) else None
    if kind not in PLAIN_NUMBERS or not PLAIN_NUMBERS[kind].fullmatch(value):
        return None
    number = kind(value)
    below, above = least is not None and number < least, most is not None and number > most
    return None if below or above else number
