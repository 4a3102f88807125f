"""Vocabulary of docstrings, comments and messages: banned openings of docstrings, and banned words."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "tests", "benchmarks", "experiments", "examples")

OPENINGS = {"Give", "Say", "Tell", "Let", "Put", "Take", "What", "How", "Whether", "Which", "Those", "Never"}
WORDS = {
    r"nobody|somebody|anybody|whoever|those who|one's own": "respondents, users, you; or the passive voice",
    r"number of people|how many people": "number of respondents, sample size",
    r"people (?:who )?(?:would have answered|hold)|hold(?:s|ing)? yes": "true answers, true share",
    r"(?:told|tells?|telling)(?: \w+)? apart": "distinguishable",
    r"refus(?:e|es|ed|ing|al)": "raise an error, reject",
    r"(?:real|maxim|minim|normal|penal|random|linear|standard|summar|recogn|initial|general|organ)is(?:e|ed|es|ing)":
        "American spelling, and sample for the target `realised`",
    r"(?:real|maxim|minim|normal|penal|random|linear|standard|initial|general|organ|optim)isation": "American spelling",
    r"analys(?:e|ed|ing)|behaviours?|neighbour\w*|favour\w*|centres?|modell(?:ed|ing)":
        "American spelling",
    r"commonest": "most common",
    r"(?:drawn|draw|draws) towards?|borrow\w* strength": "shrinkage, partial pooling",
    r"closer on the whole|further from the truth": "total (squared) error, bias",
    r"these very|the very people": "sample",
    r"(?<!degrees of )(?<!degree of )freedom(?! :)": "degrees of freedom",
    r"unknown values?": "invalid values",
    r"doubts?": "warning, diagnostic",
    r"the former|the latter": "the noun itself",
    r"rooms?|doors?|houses?|climb(?:s|ed|ing)?": "no metaphors",
    r"(?:speaks?|speaking|stands?|standing|stood) for": "represents, is the number of",
}  # fmt: skip
SERVERS = ("src/warner/service", "tests/service", "src/warner/cli", "tests/cli")  # a server refuses a request
QUOTED = re.compile(r"""``.+?``|`[^`]+`|["']realised["']|--[\w-]+|\[[\w|]+\]|^\s*>>> .*$""", re.MULTILINE)
BANNED = {words: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for words in WORDS}
MESSAGE_WORDS = 3  # strings with fewer words are keys and values


def docstrings(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yield the docstrings of a module, its classes and functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield first.value


def messages(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yield the strings of at least `MESSAGE_WORDS` words, including parts of f-strings."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.count(" ") >= MESSAGE_WORDS - 1
        ):
            yield node


def bad_openings(text: str) -> list[str]:
    """Return the docstrings with a banned first word, with their lines."""
    found = []
    for node in docstrings(ast.parse(text)):
        words = str(node.value).split()
        if words and words[0] in OPENINGS:
            found.append(f"{node.lineno}: {words[0]}")
    return found


def bad_words(text: str, *, with_messages: bool = False, refusing: bool = False) -> list[str]:
    """Return the banned words of docstrings, comments and, if asked for, messages, with their lines."""
    tree = ast.parse(text)
    prose = {(node.lineno, str(node.value)) for node in docstrings(tree)}
    if with_messages:
        prose |= {(node.lineno, str(node.value)) for node in messages(tree)}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    prose |= {(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT}
    found = []
    for line, words in sorted(prose):
        plain = " ".join(QUOTED.sub("", words).split())
        for pattern, remedy in WORDS.items():
            if refusing and pattern.startswith("refus"):
                continue
            found += [f"{line}: {match[0]!r} -> {remedy}" for match in BANNED[pattern].finditer(plain)]
    return found


def files() -> list[str]:
    """Return the Python files to check, relative to the repository."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    names = [path.relative_to(ROOT).as_posix() for path in paths]
    return [name for name in names if name != "tests/test_words.py"]


@pytest.mark.parametrize("name", files())
def test_docstrings_comments_and_messages_follow_the_vocabulary(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not bad_openings(text)
    assert not bad_words(text, with_messages=name.startswith("src/"), refusing=name.startswith(SERVERS))


def test_bad_openings_are_found() -> None:
    assert bad_openings('def f():\n    """Give the sum."""\n') == ["2: Give"]
    assert not bad_openings('"""Return what is given."""\n')


def test_bad_words_are_found() -> None:
    assert bad_words("x = 1  # nobody knows\n") == ["1: 'nobody' -> respondents, users, you; or the passive voice"]
    assert not bad_words('"""Target `realised`, --commonest and degrees of freedom."""\n')
    text = 'raise ValueError("refuse to maximise this")\n'
    assert not bad_words(text)
    assert len(bad_words(text, with_messages=True)) == 2
    assert len(bad_words(text, with_messages=True, refusing=True)) == 1
