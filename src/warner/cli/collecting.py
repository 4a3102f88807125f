"""Web surveys: collect serves a survey; invite, close and backup manage its database."""

from __future__ import annotations

import base64
import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from warner.cli.delivering import refuse_overwriting
from warner.cli.messages import tell, warn
from warner.documents import loaded, save_text, written_whole
from warner.text import counted, not_installed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

    from warner.cli import commands
    from warner.service.stores.contract import Store
    from warner.service.survey import Survey


def collect(options: commands.Collect) -> None:
    """Serve a survey whose answers are randomized in the respondents' browsers."""
    survey, page, url = options.survey, options.page, options.url
    from warner.service.survey import load_survey

    asked = load_survey(survey)
    if page is not None:
        _write_page(asked, survey, page, url)
        return
    if url is not None:
        raise ValueError("--url is for --page: a server listens at --host and --port")
    server = _server()
    settings = server.Settings(
        respondents=server.Address(options.host, options.port, "port"),
        dashboard=server.Address(options.dashboard_host, options.dashboard_port, "dashboard-port"),
        origins=tuple(server.origin(site) for site in options.allow_origin),
        limit=options.limit,
        rate=options.rate,
        certificate=options.certificate,
        key=options.key,
        key_file=options.key_file,
    )
    server.serve(asked, options.database or _beside(survey, asked), settings, _say)


def invite(options: commands.Invite) -> None:
    """Make links that are good for one response each, revoke them, or print how many are left."""
    survey, number, revoke = options.survey, options.number, options.revoke
    url, output = options.url, options.output
    from warner.service.survey import load_survey

    asked = load_survey(survey)
    if not asked.invited:
        raise ValueError(f'{survey} is open to everybody; for invitations its access must be "invited"')
    place = options.database or _beside(survey, asked)
    making = {"--url": url, "--output": output}
    if number is None:
        if given := [option for option, value in making.items() if value is not None]:
            raise ValueError(f"{given[0]} is for new invitations: give their number as well, after the survey")
        _tell_left(asked, place) if revoke is None else _revoke(asked, place, revoke)
        return
    if revoke is not None:
        raise ValueError("give a number of respondents to invite, or --revoke, not both")
    if url is None or output is None:
        missing = next(option for option, value in making.items() if value is None)
        raise ValueError(f"{missing} must be given for new invitations")
    refuse_overwriting({"the survey": survey, "the database": place}, {"--output": output})
    _invite(asked, place, number, _address(url), output)


def _invite(asked: Survey, place: str, number: int, address: str, output: Path) -> None:
    _refuse_old(output)
    tokens = [secrets.token_bytes(16) for _ in range(number)]
    links = [f"{address}/s/{asked.id}#t={base64.urlsafe_b64encode(token)[:22].decode()}" for token in tokens]
    with _opened_alone(place, asked, "stop it, invite, and start it again") as store, written_whole(output) as part:
        # The file gets its name after the hashes are on disk, so that every visible link works. A crash in between
        # leaves hashes without links, which cannot be guessed.
        save_text(part, "\n".join(["link", *links]), private=True)
        store.invite(tokens)
        _refuse_old(output)
        invited = store.collected().invited
    tell(f"{output}: {counted(number, 'link', 'links')}, good for one response each; only this file has them")
    _tell_prospects(asked, invited)


def _revoke(asked: Survey, place: str, file: Path) -> None:
    tokens = _tokens(file)
    with _opened_alone(place, asked, "stop it, revoke, and start it again") as store:
        used = store.revoke(tokens)
    gone = counted(len(tokens) - used, "invitation is", "invitations are")
    kept = f"; {counted(used, 'was', 'were')} used before, and what was reported stays counted" if used else ""
    tell(f"{_shown(place)}: {gone} revoked{kept}")


def _tokens(file: Path) -> list[bytes]:
    """Read links or codes of invitations; an error names the line, not its secret."""
    lines = loaded(file, lambda text: text.removeprefix("\ufeff").splitlines())
    codes = [(place, line.strip().strip('"').rpartition("#t=")[2]) for place, line in enumerate(lines, 1)]
    tokens = []
    for place, code in codes[1:] if codes and codes[0][1] == "link" else codes:
        try:
            token = base64.b64decode(f"{code}==", altchars=b"-_", validate=True)
        except ValueError:
            token = b""
        if code and (len(token) != 16 or len(code) != 22):
            raise ValueError(f"{file}: line {place:,} must be a link of `warner invite`, or its code of 22 characters")
        tokens += [token] if code else []
    if len(set(tokens)) < len(tokens) or not tokens:
        raise ValueError(f"{file} must hold at least one invitation, and each once")
    return tokens


def _tell_left(asked: Survey, place: str) -> None:
    from warner.service.stores import collected
    from warner.service.stores.contract import check_same_survey

    found = collected(place)
    check_same_survey(asked, found.survey, _shown(place))
    left = "none can be used any more, because the survey is closed"
    if found.state == "open":
        left = f"at most {counted(found.invited - found.responses, 'is', 'are')} left"
    revoked = f", besides {found.revoked:,} revoked" if found.revoked else ""
    click.echo(
        f"{_shown(place)}: {counted(found.invited, 'invitation', 'invitations')}{revoked}; "
        f"{counted(found.responses, 'response', 'responses')} published; {left}"
    )


def _tell_prospects(asked: Survey, invited: int) -> None:
    """Print the expected precision with this sample size, while the survey can still be changed."""
    from warner.service.dashboard_data import doubts, prospects

    for name, words in prospects(asked, invited).items():
        tell(f"{name}: {words}")
    for doubt in doubts(asked, invited):
        warn(doubt)


def close(options: commands.Close) -> None:
    """Close a survey for good, and publish the responses that are still waiting."""
    database = options.database
    from warner.service.stores import collected
    from warner.service.stores.contract import closing_words

    before = collected(database)
    if before.state == "closed":
        raise ValueError(f"{_shown(database)}: this survey is closed already")
    with _opened_alone(database, before.survey, "close it on its dashboard, or stop it first") as store:
        store.close()
        after = store.collected()
    click.echo(f"{_shown(database)}: {closing_words(after)}")


def backup(options: commands.Backup) -> None:
    """Copy the database of a survey to an SQLite file, even while the survey is running."""
    database, output = options.database, options.output
    from warner.service.stores import backup as copied

    copied(database, str(output))
    tell(f"{output}: a copy of {_shown(database)}")


def _server() -> ModuleType:
    try:
        from warner.service import server
    except ImportError as error:
        raise ImportError(not_installed(f"collecting needs {error.name}", "collect")) from None
    return server


def _write_page(asked: Survey, survey: Path, page: Path, url: str | None) -> None:
    from warner.service.pages import hosted_page

    if url is None:
        raise ValueError("--page needs --url: where its responses are collected, such as https://survey.example.org")
    refuse_overwriting({"the survey": survey}, {"--page": page})
    save_text(page, hosted_page(asked, _address(url)))
    tell(
        f"{page}: the page of {asked.id}, which sends to {_address(url)}; serve the survey there with --allow-origin "
        "and the origin of this page"
    )


@contextmanager
def _opened_alone(place: str, asked: Survey, remedy: str) -> Iterator[Store]:
    """Open the database of a survey that is not running, and release it at the end."""
    from warner.service.stores import opened

    try:
        store = opened(place, asked)
    except BlockingIOError:
        raise ValueError(f"{_shown(place)}: this survey is running: {remedy}") from None
    try:
        yield store
    finally:
        store.release()


def _beside(survey: Path, asked: Survey) -> str:
    return str(survey.parent / f"{asked.id}.db")


def _address(url: str) -> str:
    """Check the URL of a survey, and remove the slash at its end."""
    from warner.service.pages import split_address

    return "".join(split_address(url))


def _refuse_old(output: Path) -> None:
    if str(output) == "-":
        raise ValueError("--output must be a file: links are secrets, and a terminal or a log would keep them")
    if output.exists():
        raise FileExistsError(f"{output} already exists, and is not overwritten; give another file")


def _shown(database: str) -> str:
    from warner.service.stores import without_password

    return without_password(database)


def _say(line: str) -> None:
    click.echo(line)
