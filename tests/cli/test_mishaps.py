"""A user with bad luck: links in circles, whole disks, encodings that are none. Mistakes of ours are no verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cli.shell import CHECK, ESTIMATE

if TYPE_CHECKING:
    from cli.shell import Prompt


@pytest.mark.parametrize(
    "arguments",
    [
        ("tally", *ESTIMATE[1:], "-o", "circle.json"),
        ("design", "a", "b", "--epsilon", "1", "-o", "circle.json"),
        ("randomize", "reports.csv", "-c", "answer", "-d", "survey.json", "-o", "circle.json"),
        (*ESTIMATE, "-o", "circle.json"),
        (*ESTIMATE, "--report", "circle.json"),
        (*CHECK, "-o", "circle.json"),
        ("check", "reports.csv", "-c", "answer", "-d", "circle.json"),
        ("check", "links", "-c", "answer", "-d", "survey.json"),
        ("check", "links/*.csv", "-c", "answer", "-d", "survey.json"),
        ("check", "links/**", "-c", "answer", "-d", "survey.json"),
        ("tally", "links/circle.csv", "reports.csv", "-c", "answer", "-d", "survey.json"),
        ("invite", "circle.json", "5", "--url", "https://example.org", "-o", "links.csv"),
    ],
)
def test_a_link_that_leads_to_itself_is_one_clear_line(prompt: Prompt, arguments: tuple[str, ...]) -> None:
    (prompt.folder / "circle.json").symlink_to("circle.json")
    links = prompt.folder / "links"
    links.mkdir()
    (links / "circle.csv").symlink_to("circle.csv")
    complaint = prompt.complains(*arguments)
    assert "circle." in complaint
    assert "Too many levels of symbolic links" in complaint or "there is no file" in complaint


def test_folders_that_link_to_themselves_are_gone_through_once(prompt: Prompt) -> None:
    folder = prompt.folder / "reports"
    folder.mkdir()
    (prompt.folder / "reports.csv").rename(folder / "reports.csv")
    for name in ("again", "and-again"):  # of which a search that follows links would see 2^40
        (folder / name).symlink_to(".")
    for place in ("reports", "reports/**/*.csv", "reports/*.csv", "*/**/reports.csv"):
        assert "1,000 reports" in prompt.prints("estimate", place, "-c", "answer", "-d", "survey.json")


def test_a_whole_disk_is_not_searched(prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warner.reports.partitions.LOOKED_AT", 50)
    deep = prompt.folder / "disk"
    for name in ("a", "b", "c"):
        (deep / name).mkdir(parents=True)
        for number in range(20):
            (deep / name / f"{number}.txt").touch()
    for place in ("disk", "disk/**/*.csv", "disk/*/*.csv"):
        complaint = prompt.complains("estimate", place, "-c", "answer", "-d", "survey.json")
        assert f"{place} stands for more than 50 files and folders; give the folder of the reports itself" in complaint


@pytest.mark.parametrize("encoding", ["rot13", "base64", "hex", "zlib", "undefined", "klingon"])
def test_what_is_no_encoding_of_text_is_refused(prompt: Prompt, encoding: str) -> None:
    for command in (CHECK, ("randomize", "reports.csv", "-c", "answer", "-d", "survey.json")):
        complaint = prompt.complains(*command, "--encoding", encoding)
        assert "--encoding must be one of text that Python knows, such as cp1252, latin-1 or utf-16" in complaint
        assert encoding in complaint


@pytest.mark.parametrize("command", [CHECK, ("audit", "cat", "-d", "survey.json")])
@pytest.mark.parametrize("error", [RuntimeError, KeyError, AssertionError, ZeroDivisionError, RecursionError])
def test_a_mistake_of_ours_does_not_look_like_a_verdict(
    prompt: Prompt, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], error: type[Exception]
) -> None:
    def mistaken(*_: object, **__: object) -> None:
        raise error("something that nobody thought of")

    monkeypatch.setattr("warner.cli.checking.checked", mistaken)
    monkeypatch.setattr("warner.cli.auditing.audited", mistaken)
    code, printed, said = prompt._run(command)
    assert (code, printed) == (70, "")  # 1 would say that the reports do not fit
    assert error.__name__ in said
    assert said.splitlines()[-1].startswith("warner: this is a mistake in warner")
