"""Values from words of the command line: labels of a file, grids of numbers, numbers of answers, generators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warner.designs.labels import Domain, Labels, from_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np


def labels_in(file: Path) -> list[str]:
    """Read labels from a file, one per line, without empty lines."""
    try:
        lines = file.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} must be text in UTF-8, but has the byte 0x{error.object[error.start]:02x}") from None
    labels = [line.rstrip("\r") for line in lines if line.strip()]
    if not labels:
        raise ValueError(f"{file} must have one entry per line, but is empty")
    return labels


def whole_numbers(labels: Sequence[str], message: str) -> list[int]:
    try:
        return [int(label) for label in labels]
    except ValueError:
        raise ValueError(message) from None


def arguments(options: object, *names: str) -> dict[str, Any]:
    """Return the options of a command that are arguments of a function as they are."""
    return {name: getattr(options, name) for name in names}


def two_numbers(option: str, text: str, example: str) -> tuple[float, float]:
    try:
        first, second = map(float, text.split(","))
    except ValueError:
        raise ValueError(f"{option} must be two numbers, as {example}, but got {text!r}") from None
    return first, second


def generator(seed: int | None) -> np.random.Generator | None:
    """Return the generator of a simulation; None lets the library derive the seed from its input."""
    if seed is None:
        return None
    from numpy.random import default_rng

    return default_rng(seed)


def number_grid(lower: str | None, upper: str | None, step: str | None) -> Domain | None:
    """Return the grid of numeric answers, or None without --from, --to and --step."""
    if lower is None and upper is None and step is None:
        return None
    if lower is None or upper is None:
        raise ValueError("answers that are numbers need --from and --to, and --step if it is not 1")
    from warner import grid

    return grid(lower, upper, "1" if step is None else step)


def values_from_text(text: str, domain: Labels) -> dict[Any, str] | str:
    """Parse `a=1,b=2` as numbers of answers; labels may contain commas and equals signs."""
    if text == "numbers":
        return text
    values: dict[Any, str] = {}
    begun = ""
    for part in text.split(","):
        begun += part
        label, sign, number = begun.rpartition("=")
        (known,) = from_text([label.strip()], domain)
        if sign and known in domain:
            values[known] = number.strip()
            begun = ""
        else:
            begun += ","
    if begun:
        raise ValueError(f"--values must name answers with their numbers, as never=0,once=1, but got {text!r}")
    return values


def groups_named(between: tuple[str, ...], names: list[str]) -> tuple[str, str]:
    """Parse two groups: two words, or `a,b`, where names may contain commas and spaces."""
    if len(between) == 2:
        return between[0], between[1]
    parts = between[0].split(",")
    cuts = [(",".join(parts[:i]), ",".join(parts[i:])) for i in range(1, len(parts))]
    stripped = [(first.strip(), second.strip()) for first, second in cuts]
    known = [pair for pair in dict.fromkeys([*cuts, *stripped]) if all(name in names for name in pair)]
    if len(between) > 2 or (len(cuts) != 1 and len(known) != 1):
        raise ValueError(
            f"--between must name two groups, as a,b or each after its own --between, but got {', '.join(between)!r}"
        )
    return (known or stripped)[0]
