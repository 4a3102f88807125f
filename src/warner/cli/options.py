"""Options from fields: a command is a frozen dataclass whose fields are options, or dataclasses of several options.

Fields with texts under "Arguments" are arguments; fields without a text have no option. Options have the names of the
Python arguments, so that an error about an argument becomes an error about an option.
"""

from __future__ import annotations

import re
from dataclasses import MISSING, Field, dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from warner.cli.messages import set_quiet
from warner.cli.texts import ARGUMENTS, GENERAL, HEADINGS, TEXTS, Context, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

# unknown="drop", odds=(1, 0), different_people=True, by=
KEYWORD_ARGUMENT = re.compile(r'\b([a-z_]+)=(?:"([\w,-]+)"|\((\d+), (\d+)\)|True\b|(?=[;,]|$))')
REMEDY_ARGUMENT = re.compile(r"; give ([a-z_]+)\b")
RULES = ("must ", "needs ", "is for ")  # verbs after the argument that a message begins with
UNDERSCORED = re.compile(r"\b[a-z]+_[a-z_]+\b")
ALL_WORDS = "WORDS"  # value of options that take all words up to the next option
TERM_COLUMNS = 30  # of an option and its value in the help


# Groups of options


@dataclass(frozen=True)
class DesignGiven:
    """Design files, or the answers of a randomized response and one of its parameters."""

    design: tuple[str, ...] = ()
    epsilon: str | None = None
    truth: str | None = None
    redraw: str | None = None
    odds: str | None = None
    domain: str | None = None

    @property
    def parts(self) -> tuple[str | None, ...]:
        return self.epsilon, self.truth, self.redraw, self.odds, self.domain

    @property
    def is_given(self) -> bool:
        return bool(self.design) or any(part is not None for part in self.parts)

    @property
    def named(self) -> dict[str, str]:
        """The files by the names of their designs; a single file may have an empty name."""
        if len(self.design) == 1 and ("=" not in self.design[0] or Path(self.design[0]).exists()):
            return {"": self.design[0]}
        return named_files(self.design)

    @property
    def files(self) -> list[str]:
        return list(self.named.values())


@dataclass(frozen=True)
class Origin:
    """The part of a database, or of a pipe, that holds the reports."""

    table: str | None = None
    input_format: str = "csv"


def named_files(words: Iterable[str], by: str | None = None) -> dict[str, str]:
    """Parse NAME=FILE for each design; NAME is a value of the column `by`, or of the first column of --by."""
    condition = "with several designs" if by is None else "with --by"
    column = "first column of --by" if by is None else f"column {by!r}"
    form = f"{condition}, --design must be NAME=FILE, NAME as in the {column}"
    return assigned(words, form, "--design must name each design once")


# From words to values


def assigned(
    words: Iterable[str], form: str, once: str = "", *, last: bool = False, empty: bool = False, remedy: str = ""
) -> dict[str, str]:
    """Parse NAME=VALUE words, at their first or last equals sign; the errors begin with the rules `form` and `once`."""
    pairs: dict[str, str] = {}
    for word in words:
        name, _, value = word.rpartition("=") if last else word.partition("=")
        if "=" not in word or not name or not (value or empty):
            raise ValueError(f"{form}, but got {word!r}{remedy}")
        if once and name in pairs:
            raise ValueError(f"{once}, but {name!r} occurs twice")
        put(pairs, name, value)
    return pairs


def put(pairs: dict[str, str], name: str, value: str) -> None:
    if name in pairs:
        raise ValueError(f"{name} must be given once, but got {pairs[name]} and {value}")
    pairs[name] = value


def number_or_column(text: str) -> float | str:
    """Return the number, or the text as the name of a column."""
    try:
        return float(text)
    except ValueError:
        return text


def conditions(words: tuple[str, ...]) -> dict[str, str] | None:
    form = "--where must be COLUMN=VALUE, such as version=dice"
    return assigned(words, form, "--where must name each column once", empty=True) or None


def codes(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(code.strip() for word in words for code in word.split(","))


def named(kind: Any, name: str) -> Any:
    """Name a type of words for messages, without the name of a Python type."""
    kind.name = name
    return kind


class Kind(NamedTuple):
    """Type of a word, True for a repeatable option, and the function from words to the value."""

    word: Any
    repeatable: bool = False
    convert: Callable[[Any], Any] | None = None


PATH = click.Path(path_type=Path)
FLOAT = named(click.types.FloatParamType(), "number")
WORD_KINDS = {
    "str": Kind(str),
    "int": Kind(named(click.types.IntParamType(), "whole number")),
    "float": Kind(FLOAT),
    "Path": Kind(PATH),
    "tuple[str, ...]": Kind(str, repeatable=True),
    "tuple[float, ...]": Kind(FLOAT, repeatable=True),
    "Columnar": Kind(str),
    "Columnars": Kind(str, repeatable=True, convert=lambda words: words or None),
    "NumberOrColumn": Kind(number_or_column),
    "Codes": Kind(str, repeatable=True, convert=codes),
    "Conditions": Kind(str, repeatable=True, convert=conditions),
}


# From fields to options


def text_of(command: str, name: str) -> Text | None:
    return TEXTS.get((command, name)) or TEXTS.get(("", name))


def parameter(field: Field[Any], text: Text) -> click.Parameter:
    annotation = str(field.type).removesuffix(" | None")
    required, default = field.default is MISSING, None if field.default is MISSING else field.default
    if annotation == "bool":
        return click.Option([field.name, *text.names], is_flag=True, default=default, help=text.help)
    kind = WORD_KINDS[annotation]
    word = kind.word if text.least is None else named(click.IntRange(text.least, text.most), "whole number")
    settings: dict[str, Any] = {"type": word, "metavar": text.value or None, "help": text.help, "required": required}
    settings["shell_complete"] = _completion(text)
    if kind.convert is not None:
        settings["callback"] = lambda _, __, words, convert=kind.convert: convert(words)
    if text.heading == ARGUMENTS:
        return click.Argument([field.name], nargs=-1 if kind.repeatable else 1, **settings)
    if kind.repeatable:
        settings["multiple"] = True
    elif not required:  # an option with a default, even None, is never missing
        settings |= {"default": default, "show_default": default is not None}
    return click.Option([field.name, *text.names], **settings)


def _completion(text: Text) -> Callable[[Any, Any, str], list[CompletionItem]] | None:
    if text.choices:
        return lambda _, __, start: [CompletionItem(name) for name in text.choices if name.startswith(start)]
    if "FILE" in text.value:
        return lambda _, __, start: [CompletionItem(start, type="file")]
    return None


class Command(click.Command):
    """A command declared by a dataclass and run by the function of its name in a module."""

    context_class = Context

    def __init__(self, key: str, declared: type, module: str, example: str) -> None:
        self.declared, self.module = declared, module
        self.headings: dict[str, str] = {}
        self.groups: dict[str, type] = {}
        self.lists: set[str] = set()
        parameters: list[click.Parameter] = []
        for field in _options_of(declared, self.groups):
            text = text_of(key, field.name)
            if text is not None:
                self.headings[field.name] = text.heading
                self.lists |= set(text.names) if text.value == ALL_WORDS else set()
                parameters.append(parameter(field, text))
        parameters.append(click.Option(["quiet", "--quiet"], is_flag=True, help=TEXTS["", "quiet"].help))
        super().__init__(key.rpartition(" ")[2], params=parameters, help=declared.__doc__, epilog=f"Example: {example}")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat --answers and --reports before each of their words, as the parser of click expects."""
        spelled: list[str] = []
        current = ""
        for word in args:
            if word in self.lists:
                current = word
                continue
            if word.startswith("-") and not word[1:].isdecimal():  # -3 is an answer
                current = ""
            spelled += [current, word] if current else [word]
        try:
            return super().parse_args(ctx, spelled)
        except click.NoSuchOption as error:  # --eps is the beginning of --epsilon
            begun = [name for one in self.params for name in one.opts if name.startswith(error.option_name)]
            raise click.NoSuchOption(error.option_name, possibilities=begun or error.possibilities, ctx=ctx) from None

    def invoke(self, ctx: click.Context) -> None:
        """Load the module of the command and call its function with the values of the options."""
        from warner.runtime import postpone_parts_of_numpy

        postpone_parts_of_numpy()
        function = getattr(import_module(f"warner.cli.{self.module}"), str(self.name))
        if ctx.obj is not None:
            ctx.obj()  # signals interrupt the command from now on
        values = dict(ctx.params)
        if values.pop("quiet"):
            set_quiet(True)
        try:
            for name, group in self.groups.items():
                members = [field.name for field in fields(group) if field.name in values]
                values[name] = group(**{member: values.pop(member) for member in members})
            function(self.declared(**values))
        except (ValueError, TypeError, ImportError) as error:
            raise click.ClickException(in_shell_words(str(error), *self._spellings(ctx))) from error

    def _spellings(self, ctx: click.Context) -> tuple[dict[str, str], set[str]]:
        """Return the longest spelling of each option, and the names of the options on the command line."""
        spelled = {str(one.name): max(one.opts, key=len) for one in self.params if isinstance(one, click.Option)}
        default = click.core.ParameterSource.DEFAULT
        return spelled, {name for name in spelled if ctx.get_parameter_source(name) is not default}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {heading: [] for heading in HEADINGS}
        for one in self.get_params(ctx):
            record = one.get_help_record(ctx)
            if record is not None and isinstance(one, click.Option):
                sections[self.headings.get(str(one.name), GENERAL)].append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records, col_max=TERM_COLUMNS)


def _options_of(declared: type, groups: dict[str, type]) -> Iterator[Field[Any]]:
    """Yield the fields of a command and of its groups of options; add the groups to `groups`."""
    for field in fields(declared):
        kind = getattr(import_module(declared.__module__), str(field.type), None)
        if isinstance(kind, type) and hasattr(kind, "__dataclass_fields__"):
            groups[field.name] = kind
            yield from fields(kind)
        else:
            yield field


def in_shell_words(message: str, options: Mapping[str, str], used: Collection[str] = ()) -> str:
    """Replace arguments and keywords of Python in a message by options of the command.

    A message begins with the name of an argument, which is replaced if its option was given or is required.

    >>> options = {"level": "--level", "unknown": "--unknown"}
    >>> in_shell_words('level must be below 1; leave them out with unknown="drop"', options, ["level"])
    '--level must be below 1; leave them out with --unknown drop'
    """

    def keyword(match: re.Match[str]) -> str:
        name, text, first, second = match.groups()
        value = f"{first}:{second}" if first else text or ""
        return f"{options[name]} {value}".rstrip() if name in options else match[0]

    name, _, rest = message.partition(" ")
    if rest.startswith(RULES) and (name in used or rest.startswith("must be given")):
        message = f"{options.get(name, name)} {rest}"
    message = KEYWORD_ARGUMENT.sub(keyword, message)
    message = REMEDY_ARGUMENT.sub(lambda match: f"; give {options.get(match[1], match[1])}", message)
    return UNDERSCORED.sub(lambda match: options.get(match[0], match[0]), message)
