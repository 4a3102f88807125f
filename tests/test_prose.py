"""English of pages and help texts: vocabulary, length of sentences, headings, lists joined by a reflow, volume."""

from __future__ import annotations

import inspect
import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from test_words import BANNED as BANNED_EVERYWHERE
from test_words import WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("click", reason="the command line is an extra, and not installed")
pytest.importorskip("markdown_it", reason="pages are read by the parser of the site, which is not installed")
from markdown_it import MarkdownIt

from warner.cli import COMMANDS, commands
from warner.cli.texts import TEXTS

DOCS = Path(__file__).parents[1] / "docs"
GENERATED = ("reference/commands", "reference/api")
PAGES = {
    str(page.relative_to(DOCS).with_suffix("")): page
    for page in sorted(DOCS.rglob("*.md"))
    if "_build" not in page.parts and not str(page.relative_to(DOCS)).startswith(GENERATED)
}
# Pages that are still to be rewritten. A page that complies must leave the list.
PENDING: set[str] = set()
CEILING = 45_000  # words of all pages without code
LONGEST = 40  # words of a sentence
PHRASES = {
    r"(?:says?|tells?|said|told)(?: you)? (?:more|which|what|why|how|who|when|where|whether|that)":
        "See [Title](...); a page has, shows or explains",
    r"likelier|unlikelier": "more likely",
    r"people who (?:are|were) asked|what people hold|would rather": "respondents, true answers",
    r"(?:is|are|has|have|there is) no (?:mistake|harm|matter)": "This is expected",
    r"is none|are none": "is not a ...",
    r"one another's|each other's|that of the|those of the": "repeat the noun",
    r"colour\w*|grey|licence": "American spelling",
}  # fmt: skip
BANNED = [(BANNED_EVERYWHERE[words], remedy) for words, remedy in WORDS.items()]
BANNED += [(re.compile(rf"\b(?:{words})\b", re.IGNORECASE), remedy) for words, remedy in PHRASES.items()]
SERVERS = ("explanation/privacy", "tutorials/web-survey", "reference/formats/surveys")  # servers may reject requests
RIDDLE = re.compile(r"\?|^(?:How|What|Why|When|Where|Whether|Which|Who|Whose|If|Is|Are|Does|Do|Can)\b")
JOINED = re.compile(r"[.;)] [1-9]\. (?=[A-Z`])|[.:;] [-*] (?=[A-Z`])")


class Block(NamedTuple):
    """Text of a paragraph, heading, item or cell, without markup, and its first line."""

    kind: str
    line: int
    text: str


def blocks(page: str) -> Iterator[Block]:
    """Yield the blocks of a page without code; code within a line is a word in backticks."""
    page = re.sub(r"^\$\$.*?^\$\$", "", page, flags=re.DOTALL | re.MULTILINE)  # formulas
    page = re.sub(
        r"^:::.*$|^\{[.#].*\}$|^\([\w-]+\)=$", "", page, flags=re.MULTILINE
    )  # containers, attributes, targets
    page = re.sub(r"(?<![\\$])\$[^$\n]+(?:\n[^$\n]+)?\$", "X", page)
    tokens = MarkdownIt("commonmark").enable("table").parse(page)
    for opening, token in pairwise(tokens):
        if token.type == "inline":
            parts = [child for child in token.children or [] if child.type not in ("image", "html_inline")]
            shown = {"softbreak": " {}", "code_inline": "`{}`"}
            words = "".join(shown.get(child.type, "{}").format(child.content) for child in parts)
            yield Block(opening.type.removesuffix("_open"), token.map[0] + 1 if token.map else 0, words)


def sentences(text: str) -> list[str]:
    """Return the sentences of a block; code is one word."""
    text = re.sub(r"`[^`]+`", "code", text)
    return re.split(r"(?<=[.!?])[\"”)]*\s+(?=[\"“(*]*[A-Z0-9])", text)


def complaints(name: str, page: str) -> list[str]:
    """Return what does not comply on a page, with its line."""
    found = []
    for kind, line, text in blocks(page):
        prose = re.sub(r"`[^`]+`", "code", text)
        found += [
            f"{line}: {hit[0]!r} -> {remedy}"
            for pattern, remedy in BANNED
            for hit in pattern.finditer(prose)
            if name not in SERVERS or not hit[0].lower().startswith("refus")
        ]
        found += [
            f"{line}: a sentence of {len(one.split())} words: {one[:60]}..."
            for one in sentences(text)
            if len(one.split()) > LONGEST
        ]
        if kind == "heading" and RIDDLE.search(text):
            found.append(f"{line}: a heading is a task or a noun phrase, not {text!r}")
        if JOINED.search(text):
            found.append(f"{line}: a list within a paragraph: {text[:60]}...")
    return found


def test_complaints_are_found() -> None:
    page = "# How it works\n\nThis is fine.\n\n- First. 1. One thing. 2. Another thing.\n\n> Nobody knows."
    assert [complaint.split(":")[0] for complaint in complaints("page", page)] == ["1", "5", "7"]
    assert complaints("page", "word " * 40 + "end.")[0].startswith("1: a sentence of 41 words")
    assert not complaints("page", "# Choose a sample size\n\n1. One.\n2. Two.\n\n```\nnobody\n```\n\n`nobody` is code.")
    assert complaints("page", "Steps: - One. - Two.")
    assert complaints("page", "[Limits](x.md) says more.")


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_plain_english(name: str) -> None:
    found = complaints(name, PAGES[name].read_text(encoding="utf-8"))
    if name in PENDING:
        assert found, f"{name} complies: remove it from PENDING"
    else:
        assert not found, "\n" + "\n".join(f"docs/{name}.md:{complaint}" for complaint in found)


def test_pending_pages_exist() -> None:
    assert not PENDING - PAGES.keys()


def test_help_texts_have_short_sentences() -> None:
    helps = {f"{command} {name}": text.help for (command, name), text in TEXTS.items()}
    helps |= {key: inspect.cleandoc(str(commands.declared(key).__doc__)) for key in COMMANDS}
    for name, text in helps.items():
        for paragraph in text.split("\n\n"):
            if not paragraph.startswith("\b"):
                found = [one for one in sentences(" ".join(paragraph.split())) if len(one.split()) > LONGEST]
                assert not found, (name, found)


def words() -> dict[str, int]:
    """Return the number of words of each page, without code and formulas."""
    return {
        name: sum(len(block.text.split()) for block in blocks(page.read_text(encoding="utf-8")))
        for name, page in PAGES.items()
    }


def test_the_pages_are_short_enough() -> None:
    assert sum(words().values()) <= CEILING
