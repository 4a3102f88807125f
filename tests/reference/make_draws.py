"""Make draws.json: what comes of which random bytes, under every mechanism, and designs that no reader may take.

The file is for programs in any language that draw reports (docs/reference/formats/draws.md, "Test vectors"). Bytes are
chosen where mistakes would show: at the ends of what is kept and thrown away, at the edges between reports, and
where a comparison needs another byte; what is still wanted after those comes from a generator with a fixed seed. Run it
from the top of the project with `python tests/reference/make_draws.py`.
"""

from __future__ import annotations

import json
import math
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from warner import (
    BitFlips,
    Channel,
    CutoffResponse,
    OpenDomain,
    RandomizedResponse,
    SelectAll,
    SplitQuestionnaire,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
    grid,
)
from warner.designs import (
    MECHANISMS,
    HadamardResponse,
    LocalHashing,
    Memoized,
    Product,
    ProjectiveGeometry,
    design_from_dict,
)
from warner.designs.draws import Compared
from warner.designs.report_forms import HashForm, LabelForm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from warner.designs import Design

FILE = Path(__file__).with_name("draws.json")
SAFE = 2**53 - 1
# Where the number of random bytes changes, or might be thought to
BOUNDARIES = [edge + step for edge in (2**62, 2**63, 2**64, 2**128, 2**319) for step in (-1, 0, 1)] + [2**320 - 1]


class Recorder:
    """A source of bytes: those given, then those of a generator; it remembers all that were asked for."""

    def __init__(self, given: bytes, seed: int) -> None:
        self.given, self.more, self.used = given, random.Random(seed), b""

    def __call__(self, size: int) -> bytes:
        taken, self.given = self.given[:size], self.given[size:]
        taken += self.more.randbytes(size - len(taken))
        self.used += taken
        return taken


def document(mechanism: str, **fields: Any) -> dict[str, Any]:
    return {"format": "warner design", "version": 1, "mechanism": mechanism, **fields}


def response(domain: Any, a: int, b: int) -> dict[str, Any]:
    return document("randomized response", domain=domain, odds=[str(a), str(b)])


def counted(size: int, first: int = 0) -> dict[str, int]:
    return {"first": first, "size": size}


def responses() -> Iterator[dict[str, Any]]:
    """Randomized responses; odds are coprime, or a total at a boundary would shrink when they are reduced."""
    for total in BOUNDARIES:
        yield _of_total(response(["yes", "no"], total - 1, 1), total)
        a = next(a for a in range(3 * total // 4, total) if math.gcd(a, total) == 1)
        yield _of_total(response(["yes", "no"], a, total - a), total)
    yield response(counted(3), 2**64 - 1, 1)
    yield response(counted(3), 1, 2**64 - 1)
    yield response(["truth", "lie"], 0, 1)
    yield response(["truth", "lie"], 1, 0)
    yield response(counted(4), 5, 1)  # a total of 8: nothing is thrown away
    yield response(counted(4), 10, 2) | {"odds": ["010", "2"]}  # not in lowest terms
    yield response(counted(10**6), *RandomizedResponse(10**6, epsilon=2).odds)
    yield response(counted(7, -3), 3, 1)
    yield response(counted(2, SAFE - 1), 2, 1)
    yield response([SAFE, -SAFE, 0], 2, 1)
    yield response(['say "no"', "\\", "\N{PILE OF POO}", "\N{OGHAM SPACE MARK}", " ", "0", "\x7f"], 9, 4)


def _of_total(fields: dict[str, Any], total: int) -> dict[str, Any]:
    design: Any = design_from_dict(fields)
    assert design.total == total, "the odds were reduced"
    return fields


def channels() -> Iterator[dict[str, Any]]:
    yield document("channel", domain=["a", "b"], outputs=counted(3, -1), weights=[["4", "0", "2"], ["0", "4", "2"]])
    for total in BOUNDARIES:
        rows = [[str(total - 3), "1", "2"], ["1", str(total - 1), "0"]]
        yield _of_total(document("channel", domain=counted(2), outputs=["x", "y", "z"], weights=rows), total)
    yield document(
        "channel", domain=counted(2), outputs=counted(2), weights=[["2", "1"], ["1", "2"]], procedure="Roll."
    )


def sets() -> Iterator[Design]:
    """Larger designs than the examples: reports beyond 2^53, the largest fields, wide numbers, several bytes."""
    yield SubsetSelection(100, epsilon=1)
    yield SubsetSelection(300, odds=(10**15 + 37, 10**15), size=2)
    yield UnaryEncoding(100, epsilon=1)
    yield UnaryEncoding.symmetric(17, epsilon=1)
    yield UnaryEncoding(9, p=f"{2**150 + 1}/{2**151 - 1}", q=f"{2**100 + 1}/{2**102}")
    yield BitFlips(100, epsilon=1, size=10)
    yield BitFlips(300, odds=(2**150 + 1, 2**149), size=300)
    yield BitFlips(20, epsilon="0.5", size=1)
    yield LocalHashing(1000, epsilon=2)
    yield LocalHashing(10**6, odds=(3, 1), field=2, dimension=57)
    yield LocalHashing(10**6, odds=(3, 1), field=2**31 - 1, dimension=1)
    yield LocalHashing(2**31 + 5, odds=(3, 1), field=46337, dimension=3)
    yield LocalHashing.affine(1000, epsilon=2)
    yield LocalHashing.affine(10**6, odds=(2**40, 1), values=2**21, prime=2**32 - 5)
    yield HadamardResponse(10**6, epsilon=1)
    yield HadamardResponse(10**6, odds=(2, 1), bits=60)
    yield ProjectiveGeometry(1000, epsilon=1)
    yield ProjectiveGeometry(2**31, odds=(5, 2), field=2**31 - 1, dimension=2)
    yield ProjectiveGeometry(10**6, odds=(2, 1), field=2, dimension=60)
    yield ProjectiveGeometry(787_657, epsilon=7, field=887)
    yield Memoized.response(1000, eps_infinity=2, eps_first=1)
    yield Memoized.unary(20, eps_infinity=2, eps_first=1)
    yield Memoized.hashing(1000, eps_infinity=2, eps_first=1)
    yield Memoized.bit_flips(100, eps_infinity=2, eps_first=1, size=9)
    yield Memoized.bit_flips(17, eps_infinity=2, size=17)
    coin, quoted = RandomizedResponse(["yes", "no"], odds=(3, 1)), RandomizedResponse(['a "b"', "ß", "c"], epsilon=1)
    wide = Channel([[0.2, 0.8], [0.7, 0.3]], ["u", "v"], ["u", "v"]).then(RandomizedResponse(["u", "v"], epsilon=1))
    yield Product({"one": quoted, "two": Product([coin, RandomizedResponse(3, odds=(0, 1))]), "three": wide})
    yield Product([Memoized(coin, coin), coin])
    yield SquareWave(grid(0, 200_000, 1_000), epsilon=1)
    yield SquareWave(grid(-1, 1, "0.01"), epsilon=2, quantity="mean")
    yield SquareWave(10**6, epsilon=1)
    yield SquareWave([SAFE - 40, SAFE - 30, SAFE - 20, SAFE - 10], odds=(2**60 + 1, 2**58), width=1)
    yield CutoffResponse(grid(0, 200_000, 1_000), epsilon=0.5)
    yield CutoffResponse([1, 10, 100, 10**15], odds=(3, 1))
    yield CutoffResponse(["-0.5", "0", "2.25"], epsilon=3)
    yield Product([SquareWave(5, odds=(3, 1), width=1), CutoffResponse(3, odds=(2, 1))])


def open_designs() -> Iterator[OpenDomain]:
    """Open domains: of letters, bytes and whole numbers, with one level and many, small fields and large ones."""
    yield from OpenDomain.examples()
    yield OpenDomain(epsilon=1, letters="a-z", length=12)
    yield OpenDomain(epsilon=2, letters="a-z0-9 .-", length=10, step=3)
    yield OpenDomain(
        odds=(3, 1), letters="ab\N{LATIN SMALL LETTER SHARP S}\N{PILE OF POO}\N{GREEK SMALL LETTER SIGMA}", length=6
    )
    yield OpenDomain(epsilon=1, letters="A-Za-z ", length=8, normalize=())
    yield OpenDomain(epsilon=1, bytes=16)
    yield OpenDomain(odds=(2**60 + 1, 2**40), bytes=5, step=2, normalize=("NFKC",), field=65537)
    yield OpenDomain(epsilon=1, bits=48)
    yield OpenDomain(epsilon=4, bits=128, step=16)
    yield OpenDomain(odds=(1, 0), bits=3, step=1)


# Texts in which languages, and versions of Unicode's tables, might disagree; and others
TEXTS = [
    *("a", "ab", "abc", "Privacy", "  Gr\u00fc\u00df \u2003 GOTT ", "STRASSE", "\u1e9e", "\u0130stanbul", "\ufb01ne"),
    *("\u039f\u03a3", "\u03a3", "a\u03a3b", "\u212b", "e\u0301", "\uac01", "\u1112\u1161", "\uff21\uff22", "\u2460"),
    *("x" * 30, "x" * 12, "x" * 16, "a\0b", "\x1ca", "a\x85b", "\ufeffa", "a\u00a0b", "\u180ea", "a\tb\n", " "),
    *("\N{PILE OF POO}", "\N{PILE OF POO}" * 4, "\N{PILE OF POO}" * 5, "(other)", "a-b.c 9", "zzz", "\u01c5", "\u0149"),
    "J\u030c",  # which has a composed form in small letters only
]
NUMBERS = ["0", "1", "5", "7", "8", "65535", "65536", str(2**48 - 1), str(2**48), str(2**128 - 1), str(2**128)]


def open_vector(design: OpenDomain, seed: int) -> dict[str, Any]:
    """Return encoded answers as one number of all blocks, null where there is none; and draws, by answer."""
    texts = design.values.has_other
    answers = TEXTS if texts else NUMBERS
    coded = design.values.encoded(answers if texts else list(map(int, answers)))
    written: list[list[str | None]] = []
    for answer, blocks, status in zip(answers, coded.blocks.tolist(), coded.status.tolist(), strict=True):
        number = 0
        for block, size in zip(blocks, design.values.block_sizes, strict=True):
            number = number * size + block
        written.append([answer, None if status else str(number)])
    good = [str(answer) for answer, number in written if number is not None]
    draws = []
    for place, start in enumerate(_discarded(design)):
        answer, source = good[place % len(good)], Recorder(start, 1000 * seed + place)
        report = drawn_open(design, answer, source)
        draws.append({"answer": answer, "bytes": source.used.hex(), "report": report})
    epsilon = design.epsilon if math.isfinite(design.epsilon) else None
    return {"design": design.to_dict(), "epsilon": epsilon, "written": written, "draws": draws}


def drawn_open(design: OpenDomain, answer: str, source: Callable[[int], bytes]) -> str:
    """Draw one report about an answer, a text or a whole number in digits."""
    coded = design.values.encoded([answer if design.values.has_other else int(answer)])
    return str(design.report_form.written(design.draw(coded.blocks, source))[0])


def _discarded(design: OpenDomain) -> list[bytes]:
    """Return bytes of which each of the draws in turn discards some; the least and the largest; and whatever comes."""
    widths = [8 * (limit.bit_length() // 64 + 1) for limit in design.draws]
    (a, _), last = design.odds, design.draws[-1] - 1
    fixed = [bytes(sum(widths)), bytes(sum(widths[:-1])) + (a - 1).to_bytes(widths[-1], "little")]
    fixed += [bytes(sum(widths[:-1])) + min(end, last).to_bytes(widths[-1], "little") for end in (a, last)]
    weights = [sum(design.weights[: place + 1]) for place in range(len(design.weights))]
    levels = [(end + step).to_bytes(widths[0], "little") for end in weights for step in (-1, 0)]
    turns = [bytes(sum(widths[:place])) + b"\xff" * width for place, width in enumerate(widths)]
    return [*fixed, *levels[:8], *turns, *[b""] * 12]


def _damaged_open() -> Iterator[tuple[str, Any]]:
    value: Any
    words, ids = OpenDomain(epsilon=1, letters="a-z", length=6).to_dict(), OpenDomain(epsilon=1, bits=20).to_dict()
    for name in ("values", "steps", "levels", "odds", "field"):
        yield f"no {name}", {key: value for key, value in words.items() if key != name}
    for value in (None, [], [0, 6], [-1], ["3", "3"], [2.5, 3.5], 6, [30], [1] * 65, {"0": 3}):
        yield "steps that there cannot be", words | {"steps": value}
    yield "a text that begins with a step of one", words | {"steps": [1, 3]}
    for value in ([], ["1"], ["1", "2", "3"], ["1", "0"], [1, 2], ["-1", "2"], None, [str(2**62), "1"], "12"):
        yield "levels that are no positive weights", words | {"levels": value}
    for value in (0, 1, 4, 9, 2**22 + 15, "3", 3.5, None, True):
        yield "a field that is no prime", words | {"field": value}
    yield "a field that leaves too many points", words | {"field": 4194301}
    for value in (["1", "1"], ["1", "3"], [str(2**62), "1"], ["3"], [3, 1], None):
        yield "odds that cannot be", words | {"odds": value}
    text = words["values"]
    for value in (None, {}, "text", {"kind": "date"}, {"kind": "number", "bits": 20}, text | {"case": 1}):
        yield "values that are neither texts nor numbers", words | {"values": value}
    for value in ("", "a", "aa", 5, ["a", "b"], "ABC", "a\0", "ae\u0301", "a\u1e9e", "ab\uff21", "\u1100\u1161"):
        yield (
            "an alphabet that normalized texts do not have",
            words | {"steps": [2], "levels": ["1"], "values": text | {"alphabet": value}},
        )
    for value in (None, "NFKC", ["nfkc"], ["NFKC", "upper"], [1], {}):
        yield "normalizations that there are not", words | {"values": text | {"normalize": value}}
    for value in (False, None, 1, "true"):
        yield "texts without an other", words | {"values": text | {"other": value}}
    yield "a block of too many numbers", ids | {"steps": [23], "levels": ["1"]}


def designs() -> list[dict[str, Any]]:
    examples = [design.to_dict() for mechanism in MECHANISMS.values() for design in mechanism.examples()]
    gaps = CutoffResponse([0, 1, 5, 20], odds=(3, 1)).to_dict() | {"gaps": ["2", "08", "30"]}  # not in lowest terms
    return [*examples, *responses(), *channels(), *(design.to_dict() for design in sets()), gaps]


# Bytes


def beginnings(fields: dict[str, Any], design: Design) -> list[bytes]:
    """Return the bytes that draws begin with."""
    limit = design.draws[0]
    if isinstance(limit, Compared):
        chance = _first_chance(fields)
        return [b"", bytes(40), b"\xff" * 40, _digits(*chance, 3), _digits(*chance, 1) * 9]
    width = 8 * (limit.bit_length() // 64 + 1)
    kept, last = 2 ** (8 * width) // limit * limit, 2 ** (8 * width) - 1
    numbers = [[0], [limit - 1], [kept - 1], [last], [kept, last, kept - 1], [last, last, 0]]
    numbers += [[edge] for edge in _edges(fields, limit)]
    return [b"".join(min(n, last).to_bytes(width, "little") for n in some) for some in numbers] + [b""] * 2


def _edges(fields: dict[str, Any], limit: int) -> list[int]:
    if "weights" in fields:
        ends = {sum(map(int, row[: place + 1])) for row in fields["weights"] for place in range(len(row))}
        sums = {sum(map(int, row)) for row in fields["weights"]}
        scale = sums.pop() // limit
        ends = {end // scale for end in ends}
    elif "odds" in fields:
        a, b = map(int, fields["odds"])
        near = (2 * fields.get("width", 0) + 1) * a
        ends = {a, a + b, a + 2 * b, near, near + b} if math.gcd(a, b) == 1 else set()
    else:
        ends = set()
    return sorted({end + step for end in ends for step in (-1, 0) if 0 <= end + step < limit})


def _first_chance(fields: dict[str, Any]) -> tuple[int, int]:
    """Return the probability with which the first comparison is made."""
    if fields["mechanism"] == "memoized":
        return _first_chance(fields["first"])
    if "zero" in fields:
        n, d = fields["zero"]
        return int(n), int(d)
    (a, b), size, domain = map(int, fields["odds"]), fields["size"], fields["domain"]
    k = domain["size"] if isinstance(domain, dict) else len(domain)
    return a * size, a * size + b * (k - size)


def _digits(n: int, d: int, places: int) -> bytes:
    """Return the first digits of n/d in base 256: with each of them a comparison is still undecided."""
    return (256**places * n // d).to_bytes(places + 1, "big")[1:] if n < d else b"\xff" * places


# The file


def drawn(design: Design, answer: int, source: Callable[[int], bytes]) -> dict[str, Any]:
    """Draw one report, as the file has it: a position with its label, or the text that is written in a CSV file."""
    codes = design.draw(np.array([answer]), source)
    form = design.report_form
    if isinstance(form, LabelForm) and form.of_answers:
        return {"report": int(codes[0]), "label": form.labels[int(codes[0])]}
    if isinstance(form, HashForm):
        return {"report": ":".join(map(str, codes[0].tolist()))}
    return {"report": str(form.written(codes)[0])}


def vector(fields: dict[str, Any], seed: int) -> dict[str, Any]:
    design = design_from_dict(fields)
    k, draws = design.k, []
    some = sorted({0, 1, k // 2, k - 1})
    cases = [(some[place % len(some)], start) for place, start in enumerate(beginnings(fields, design))]
    for place, (answer, start) in enumerate(cases):
        source = Recorder(start, 1000 * seed + place)
        report = drawn(design, answer, source)
        draws.append({"answer": answer, "bytes": source.used.hex(), **report})
    epsilon = design.epsilon if math.isfinite(design.epsilon) else None
    return {"design": fields, "epsilon": epsilon, "draws": draws}


def several_designs() -> Iterator[SplitQuestionnaire]:
    coin, three = RandomizedResponse(["yes", "no"], odds=(3, 1)), RandomizedResponse(3, odds=(5, 1))
    yield SplitQuestionnaire({"a": coin, "b": three}, asked=1)
    yield SplitQuestionnaire({"a": three, "b": SubsetSelection(5, odds=(3, 1), size=2), "c": coin, "d": coin}, asked=3)
    yield SplitQuestionnaire({f"q{place}": coin for place in range(9)}, asked=9)
    for size, epsilon, at_most in ((2, 1, None), (3, 1, None), (20, 8, None), (2, 1, 1), (5, 1, 2), (9, 2, 8)):
        yield SelectAll([f"option {place}" for place in range(size)], epsilon, at_most)


def several_vector(design: SplitQuestionnaire, seed: int) -> dict[str, Any]:
    """Return draws from answers to all questions, in code; a report of None is a question that is not asked."""
    draws, most = [], getattr(design, "at_most", None)
    starts = [b"", bytes(40), b"\xff" * 64 + bytes(40), *(bytes([byte]) * 3 for byte in range(0, 256, 9))]
    for place, start in enumerate(starts):
        answers = [(place + number) % part.k for number, part in enumerate(design.parts)]
        if most is not None:  # 0 is an option that applies
            answers = [int(number >= place % (most + 1)) for number in range(len(design.parts))]
        source = Recorder(start, 1000 * seed + place)
        draws.append(
            {"answers": answers, "reports": drawn_several(design, answers, source), "bytes": source.used.hex()}
        )
    return {"design": design.to_dict(), "epsilon": design.epsilon, "draws": draws}


def drawn_several(design: SplitQuestionnaire, answers: list[int], source: Callable[[int], bytes]) -> list[str | None]:
    columns = design.draw([np.array([answer]) for answer in answers], source).values()
    return [None if report is None else str(report) for (report,) in columns]


def damaged() -> Iterator[tuple[str, Any]]:
    """Return designs that every reader must reject, with the defect of each."""
    value: Any
    fine = response(["a", "b"], 3, 1)
    for name in fine:
        yield f"no {name}", {key: value for key, value in fine.items() if key != name}
    yield "another field", fine | {"epsilon": 1}
    yield "a field of another mechanism", fine | {"size": 1}
    yield "a field of every object in JavaScript", fine | {"__proto__": {}}
    for value in (None, [], "design", 3):
        yield "no object", value
    for value in ("warner tally", "Warner design", None):
        yield "another format", fine | {"format": value}
    for value in (2, "1", True, None, [1]):
        yield "another version", fine | {"version": value}
    for value in ("pooled", "Randomized response", "constructor", None, 1, ["randomized response"]):
        yield "another mechanism", fine | {"mechanism": value}
    yield from _damaged_labels(fine)
    yield from _damaged_numbers(fine)
    yield from _damaged_channels()
    yield from _damaged_sets()
    yield from _damaged_rounds()
    yield from _damaged_numbers_on_grids()
    yield from _damaged_open()
    yield from _damaged_several()


def _damaged_several() -> Iterator[tuple[str, Any]]:
    value: Any
    split, *_ = several_designs()
    options, some = SelectAll(["a", "b", "c"], 1).to_dict(), SelectAll(["a", "b", "c"], 1, at_most=2).to_dict()
    for value in (0, 3, "1", 1.5, None, True):
        yield "a number of questions that cannot be asked", split.to_dict() | {"asked": value}
    for value in (["a"], ["a", "a"], ["a", 1], ["a", ""], "ab", None):
        yield "questions that are not distinct names", split.to_dict() | {"questions": value}
    for value in ([], [split.parts[0].to_dict()], None):
        yield "designs that are not one for each question", split.to_dict() | {"designs": value}
    for value in (["a"], ["a", "a", "b"], [1, 2, 3], {"first": 0, "size": 3}, ["a", "b", ""], None):
        yield "options that are not distinct texts", options | {"options": value}
        yield "options that are not distinct texts", some | {"options": value}
    for value in (0, 4, "1", 1.5, None, True):
        yield "a number of options that cannot be asked", options | {"asked": value}
        yield "another number of reports than one", some | {"asked": value}
    for value in (0, 3, "1", 1.5, True):
        yield "a limit that is none", some | {"at_most": value}
    for value in (["1", "1"], ["1", "3"], ["3"], None):
        yield "odds that are even, or favour what does not apply", some | {"odds": value}
    yield "numbers that sum to 2^62 or more", some | {"odds": [str(2**61), "1"]}
    yield "an option that is named like a blank", some | {"options": ["a", "b", "none 1"]}
    yield "neither a limit nor none", {name: value for name, value in options.items() if name != "at_most"}


def _damaged_labels(fine: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    value: Any
    for value in ([], ["a"], {"first": 0, "size": 1}, {"first": 0, "size": 0}, {"first": 0, "size": -2}):
        yield "fewer than two labels", fine | {"domain": value}
    for value in (["a", "a"], ["a", "b", "a"], [1, 1], [0, 1, 2, 1]):
        yield "labels that are not distinct", fine | {"domain": value}
    for value in (["a", 1], ["a", None], [True, False], [0.5, 1.5], [["a"], ["b"]], ["a", "b", {}]):
        yield "labels that are neither texts nor integers", fine | {"domain": value}
    yield "an empty label", fine | {"domain": ["a", ""]}
    yield "NUL in a label", fine | {"domain": ["a", "b\0"]}
    for half in ("\ud83d", "\udca9", "a\udca9\ud83d"):
        yield "half a surrogate pair in a label", fine | {"domain": ["a", half]}
    for value in ("ab", 2, None, {"size": 2}, {"first": 0}, {"first": 0, "size": 2, "step": 1}, counted(2) | {"by": 2}):
        yield "a domain that is no list or range", fine | {"domain": value}
    for first, size in (("0", 2), (0, "2"), (0.5, 2), (0, 2.5), (None, 2), (0, None), (True, 2)):
        yield "a range without whole numbers", fine | {"domain": {"first": first, "size": size}}
    yield "integers of more than 64 bits", fine | {"domain": [0, 2**63]}
    yield "a range beyond 64 bits", fine | {"domain": counted(2, 2**63 - 1)}
    yield "a range of too many", fine | {"domain": counted(2**62)}


def _damaged_numbers(fine: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for value in (["3"], ["3", "1", "1"], [], "31", "3:1", None, {"0": "3", "1": "1"}):
        yield "odds that are not two", fine | {"odds": value}
    for part in (3, 3.0, "", " 3", "3 ", "+3", "-3", "3.0", "3e1", "0x3", "٣", "3n", "3\n", "1_0", None, True, ["3"]):
        yield "odds that are no decimal strings", fine | {"odds": [part, "1"]}
    yield "odds of too many digits", fine | {"odds": ["1" * 100, "1"]}
    yield "odds of too many digits", fine | {"odds": ["1".zfill(100), "1"]}
    yield "odds of 0 : 0", fine | {"odds": ["0", "0"]}
    yield "a sum of 2^320", fine | {"odds": [str(2**320 - 1), "1"]}
    yield "a sum above 2^320", fine | {"domain": counted(1000), "odds": ["1", str(2**319)]}


def _damaged_numbers_on_grids() -> Iterator[tuple[str, Any]]:
    value: Any
    wave = SquareWave(range(10, 20), odds=(3, 1), width=2).to_dict()
    cutoff = CutoffResponse([0, 1, 5, 20], odds=(3, 1)).to_dict()
    for value in (-1, 5, "2", 2.5, None, True, [2]):
        yield "a width that there cannot be", wave | {"width": value}
    for value in (["1", "4"], ["1", "4", "15", "1"], ["1", "0", "15"], ["1", 4, "15"], ["1", "-4", "15"], "415", None):
        yield "gaps that are not a whole number above 0 for each cut-off", cutoff | {"gaps": value}
    for design in (wave, cutoff):
        size = 10 if design is wave else 4
        for step in (0, 1, -2, "2", 2.5, None, True):
            yield "a step that no grid has", design | {"domain": counted(size) | {"step": step}}
        yield "a grid that is too long", design | {"domain": counted(size) | {"step": 2**62}}
        yield "numbers that do not rise", design | {"domain": [*range(1, size), 0]}
        yield "odds that are even, or favour other answers", design | {"odds": ["1", "1"]}
        yield "odds that are even, or favour other answers", design | {"odds": ["1", "3"]}
        yield "numbers that sum to 2^62 or more", design | {"odds": [str(2**62), "1"]}
        yield "a domain that is damaged", design | {"domain": ["a", "a"]}
        yield "no odds", {name: value for name, value in design.items() if name != "odds"}
    yield "reports beyond 64 bits", wave | {"domain": counted(10, 2**63 - 11)}
    yield "a field of another mechanism", wave | {"gaps": ["1"] * 9}


def _damaged_channels() -> Iterator[tuple[str, Any]]:
    value: Any
    fine = document("channel", domain=["a", "b"], outputs=["x", "y"], weights=[["3", "1"], ["1", "3"]])
    for value in ([["3", "1"], ["1", "2"]], [["0", "0"], ["0", "0"]], [["3", "1"], ["0", "0"]]):
        yield "rows that differ in their sum, or sum to 0", fine | {"weights": value}
    row = ["3", "1"]
    for value in ([row], [row] * 3, [row, ["4"]], [row, ["1", "2", "1"]], [], None, [row, "13"], {"0": row, "1": row}):
        yield "weights of another shape", fine | {"weights": value}
    for part in (3, "-3", "3.0", "", None):
        yield "weights that are no decimal strings", fine | {"weights": [[part, "1"], ["1", "3"]]}
    yield "a sum of 2^320", fine | {"weights": [[str(2**320 - 1), "1"], ["1", str(2**320 - 1)]]}
    for value in (3, None, ["Roll"]):
        yield "a procedure that is no text", fine | {"procedure": value}
    yield "outputs that are not distinct", fine | {"outputs": ["x", "x"]}
    yield "one output", fine | {"outputs": ["x"], "weights": [["1"], ["1"]]}
    yield "a field that a channel does not have", fine | {"inputs": ["a", "b"]}
    yield "no domain", {name: value for name, value in fine.items() if name != "domain"}


def _damaged_sets() -> Iterator[tuple[str, Any]]:
    value: Any
    subset = SubsetSelection(5, odds=(3, 1), size=2).to_dict()
    for value in (0, 5, -1, "2", 1.5, None, True, [2]):
        yield "a size that sets cannot have", subset | {"size": value}
    unary = UnaryEncoding(3, odds=(3, 1)).to_dict()
    for one, zero in (("14", "12"), ("12", "24"), ("32", "12"), ("12", "01")):
        yield "probabilities that are not 0 < zero < one <= 1", unary | {"one": [*one], "zero": [*zero]}
    for value in (["1", "0"], ["0", "0"], ["1"], "1/2", [1, 2], None):
        yield "a probability that is no fraction", unary | {"one": value}
        yield "a probability that is no fraction", unary | {"zero": value}
    yield "a common denominator of 2^320", unary | {"one": ["1", "2"], "zero": ["1", str(2**320)]}
    flips = BitFlips(5, odds=(3, 1), size=2).to_dict()
    for value in (0, 6, -1, "2", 1.5, None, True, [2]):
        yield "a size that nobody can be asked", flips | {"size": value}
    for odds in (["1", "1"], ["1", "3"], ["1", "0"], [str(2**320), "1"], ["3"], None):
        yield "odds of bits that are even, certain, or too wide", flips | {"odds": odds}
    plane = ProjectiveGeometry(7, odds=(3, 1), field=2).to_dict()
    linear = LocalHashing(9, odds=(3, 1), field=3).to_dict()
    affine = LocalHashing.affine(5, odds=(3, 1), values=2, prime=5).to_dict()
    rows = HadamardResponse(3, odds=(3, 1)).to_dict()
    for design in (subset, plane, linear, affine, rows):
        yield "odds that are even, or favour other answers", design | {"odds": ["1", "1"]}
        yield "odds that are even, or favour other answers", design | {"odds": ["1", "3"]}
        yield "numbers that sum to 2^62 or more", design | {"odds": [str(2**62), "1"]}
        yield "a domain that is damaged", design | {"domain": ["a", "a"]}
        yield "no odds", {name: value for name, value in design.items() if name != "odds"}
    for design in (plane, linear):
        for value in (0, 1, 4, 9, 2**31, "2", 2.5, None, -3):
            yield "a field that is no prime below 2^31", design | {"field": value, "dimension": 3}
        for value in (0, -1, 63, "3", 1.5, None):
            yield "a dimension that no space has", design | {"dimension": value}
    yield "a space of one coordinate", plane | {"dimension": 1}
    yield "a space that is too small", plane | {"dimension": 2}
    yield "a space that is too small", linear | {"dimension": 1}
    for value in (4, 3, 9, 2**32 + 15, "5", 5.5, None):
        yield "a prime that is none, or too small, or too large", affine | {"prime": value}
    for value in (0, 1, 5, 6, "2", 2.5, None):
        yield "numbers of hash values that there cannot be", affine | {"values": value}
    for value in ("Linear", "md5", None, 3, ["linear"], "toString"):
        yield "another hash", linear | {"hash": value}
    yield "the fields of another hash", linear | {"hash": "affine"}
    yield "the fields of another hash", affine | {"hash": "linear"}
    yield "the fields of both hashes", linear | {"prime": 11, "values": 2}
    for value in (0, 1, 61, "2", 2.5, None):
        yield "a number of bits that there cannot be", rows | {"bits": value}
    yield "too few bits", rows | {"domain": counted(4)}


def _damaged_rounds() -> Iterator[tuple[str, Any]]:
    value: Any
    three, two = RandomizedResponse(3, odds=(3, 1)).to_dict(), RandomizedResponse(2, odds=(3, 1)).to_dict()
    twice = document("memoized", first=three, second=three)
    bits, linear = UnaryEncoding(3, odds=(3, 1)).to_dict(), LocalHashing(9, odds=(3, 1), field=3).to_dict()
    affine = LocalHashing.affine(9, odds=(3, 1), values=3).to_dict()
    for value in (None, 3, [], "design", three | {"odds": ["3"]}, three | {"version": 2}):
        yield "a round that is no design", twice | {"first": value}
        yield "a round that is no design", twice | {"second": value}
    pairs = [(three, two), (three, bits), (bits, three), (linear, linear), (affine, three), (linear, two)]
    pairs += [(three | {"domain": ["a", "b", "c"]}, three), (three, three | {"domain": counted(3, 1)})]
    pairs += [(linear, three | {"domain": ["0", "1", "2"]}), (linear, three | {"domain": [0, 2, 1]})]
    pairs += [(bits, bits | {"domain": counted(4)}), (twice, three)]
    flips = BitFlips(3, odds=(3, 1), size=2).to_dict()
    pairs += [(flips, three), (flips, flips), (flips, two | {"domain": [1, 0]}), (three, flips)]
    for first, second in pairs:
        yield "rounds that do not fit each other", document("memoized", first=first, second=second)
    for odds in (["1", "1"], ["1", "3"]):
        yield "a round that favours other answers", twice | {"first": three | {"odds": odds}}
        yield "a round that favours other answers", twice | {"second": three | {"odds": odds}}
    for first in (three | {"odds": ["1", "0"]}, bits | {"one": ["1", "1"]}, linear | {"odds": ["1", "0"]}):
        second = bits if first["mechanism"] == "unary encoding" else three
        yield "a first round that tells the truth", document("memoized", first=first, second=second)
    wide = three | {"odds": [str(2**200 + 1), "2"]}
    yield "rounds whose chain is too wide", document("memoized", first=wide, second=wide)
    both = document("product", questions=["a", "b"], designs=[two, two])
    for names in (["a"], ["a", "a"], ["a", ""], ["a", 2], "ab", None, ["a", "b", "c"]):
        yield "questions that are no distinct names", both | {"questions": names}
    for designs in ([two], [two, two, two], None, [two, None], [two, two | {"odds": ["3"]}], {"a": two, "b": two}):
        yield "designs that are not one for each question", both | {"designs": designs}
    one = SubsetSelection(3, odds=(3, 1), size=1).to_dict()
    line, hashed = (
        ProjectiveGeometry(4, odds=(3, 1), field=3).to_dict(),
        LocalHashing(3, odds=(3, 1), field=3).to_dict(),
    )
    for design in (bits, linear, affine, one, line, hashed):
        yield "a question whose report is no label", both | {"designs": [two, design]}
    yield "no questions", document("product", questions=[], designs=[])
    yield "one question", document("product", questions=["a"], designs=[two])
    yield "too many joint answers", document("product", questions=list("abcdefghijklmnopq"), designs=[two] * 17)
    yield "a question with too many answers", both | {"designs": [two, response(counted(4097), 3, 1)]}
    alike = [response(["a", "a & b"], 3, 1), response(["b & c", "c"], 3, 1)]
    yield "joint labels that are written alike", both | {"designs": alike}


def damaged_texts() -> Iterator[tuple[str, str]]:
    """Return texts that a reader of text must reject; the defect is lost after JSON.parse."""
    head = '{"format": "warner design", "version": 1, "mechanism": "randomized response", '
    yield "a field twice", head + '"domain": ["a", "b"], "odds": ["3", "1"], "odds": ["3", "1"]}'
    yield "a field of the domain twice", head + '"domain": {"first": 0, "first": 0, "size": 2}, "odds": ["3", "1"]}'
    yield "a size with a fraction", head + '"domain": {"first": 0, "size": 2.0}, "odds": ["3", "1"]}'
    yield "a size that is no number", head + '"domain": {"first": 0, "size": NaN}, "odds": ["3", "1"]}'
    yield "half a document", head


def made() -> dict[str, Any]:
    return {
        "format": "warner draws",
        "version": 1,
        "vectors": [vector(fields, seed) for seed, fields in enumerate(designs())],
        "open": [open_vector(design, 5000 + seed) for seed, design in enumerate(open_designs())],
        "several": [several_vector(design, 9000 + seed) for seed, design in enumerate(several_designs())],
        "damaged": [{"why": why, "design": fields} for why, fields in damaged()],
        "damaged texts": [{"why": why, "text": text} for why, text in damaged_texts()],
    }


def spelled(contents: dict[str, Any]) -> str:
    """Write a line for each design; half characters as escapes, which JSON allows and UTF-8 does not."""

    def lines(items: list[Any]) -> str:
        return ",\n".join(json.dumps(item, separators=(",", ":")) for item in items)

    parts = [f'"{name}": {json.dumps(contents[name])}' for name in ("format", "version")]
    parts += [
        f'"{name}": [\n{lines(contents[name])}\n]'
        for name in ("vectors", "open", "several", "damaged", "damaged texts")
    ]
    return "{" + ",\n".join(parts) + "}\n"


if __name__ == "__main__":
    FILE.write_text(spelled(made()), encoding="utf-8")
    sys.stdout.write(f"{FILE}: {FILE.stat().st_size:,} bytes\n")
