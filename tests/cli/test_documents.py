"""JSON of commands: every document names its type and has the content of the other forms."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest

from cli.shell import CHECK, ESTIMATE

if TYPE_CHECKING:
    from cli.shell import Prompt


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("warner design", ("design", "never", "once", "often", "--epsilon", "1")),
        ("warner tally", ("tally", *ESTIMATE[1:])),
        ("warner estimate", (*ESTIMATE, "--json")),
        ("warner check", (*CHECK, "--json")),
        ("warner plan", ("plan", "--size", "3", "--epsilon", "1", "--people", "1000", "--json")),
        ("warner regression", ("regress", "reports.csv", "answer ~ region", "-d", "survey.json", "--json")),
        ("warner association", ("associate", "reports.csv", "answer=survey.json", "again=survey.json", "--json")),
        ("warner audit", ("audit", "cat", "-d", "survey.json", "--runs", "300", "--json")),
    ],
)
def test_every_document_says_what_it_is(prompt: Prompt, kind: str, arguments: tuple[str, ...]) -> None:
    path = prompt.folder / "reports.csv"
    header, *rows = path.read_text().splitlines()
    path.write_text("\n".join([f"{header},again", *(f"{row},{row.split(',')[1]}" for row in rows)]) + "\n")
    _, printed, said = prompt._run(arguments)
    fields = json.loads(printed)
    assert list(fields)[:2] == ["format", "version"], said
    assert (fields["format"], fields["version"]) == (kind, 1)


def test_the_json_of_an_estimate_has_the_columns_of_its_csv(prompt: Prompt) -> None:
    (*rows,) = csv.DictReader(io.StringIO(prompt.prints(*ESTIMATE, "--by", "region", "--csv")))
    values = json.loads(prompt.prints(*ESTIMATE, "--by", "region", "--json"))["values"]
    assert list(rows[0]) == ["region", "value", "reports", "share", "people", "se", "low", "high", "outside"]
    assert list(values[0]) == ["group", *list(rows[0])[1:]]
    for row, value in zip(rows, values, strict=True):
        assert value.pop("group") == {"region": row.pop("region")}
        assert {name: str(entry) for name, entry in value.items()} == row


def test_no_command_at_all_prints_the_help(prompt: Prompt) -> None:
    printed = prompt.prints()
    assert printed.startswith("Usage: warner [OPTIONS] COMMAND")
    assert printed == prompt.prints("--help")
