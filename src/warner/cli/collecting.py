"""`warner collect` serves a survey; `invite`, `close` and `backup` look after its database."""

from __future__ import annotations

import base64
import secrets
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warner.cli.delivering import refuse_overwriting
from warner.cli.messages import tell, warn
from warner.documents import loaded, save_text, written_whole
from warner.words import counted, not_installed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from warner.service.stores.contract import Store
    from warner.service.survey import Survey

SurveyFile = Annotated[Path, typer.Argument(help="The survey: a JSON file, whose format the documentation describes.")]
Database = Annotated[
    str | None,
    typer.Option(help="Where counts are kept: a file, or postgresql://user@host/name. [default: ID.db next to SURVEY]"),
]
Place = Annotated[str, typer.Argument(help="The database of a survey: a file, or postgresql://user@host/name.")]
PORT, DASHBOARD_PORT, DEFAULT_RATE = 8000, 8001, 300
MOST_INVITED = 1_000_000  # in one go
LOOPBACK = "127.0.0.1"


def collect(
    survey: SurveyFile,
    *,
    database: Database = None,
    host: Annotated[
        str, typer.Option(help="The address to listen on; 0.0.0.0 for all addresses of this computer.")
    ] = LOOPBACK,
    port: Annotated[int, typer.Option(help="The port of the survey; 0 for any free one.", min=0, max=65535)] = PORT,
    dashboard_host: Annotated[str, typer.Option(help="The address of the dashboard.")] = LOOPBACK,
    dashboard_port: Annotated[
        int, typer.Option(help="The port of the dashboard; 0 for any free one.", min=0, max=65535)
    ] = DASHBOARD_PORT,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            help="A site whose pages may send responses, such as https://www.example.org; may be given more than once."
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Accept at most this many responses.", min=1)] = None,
    rate: Annotated[
        int, typer.Option(help="Responses per minute from one address; 0 for no limit, as behind a proxy.", min=0)
    ] = DEFAULT_RATE,
    certificate: Annotated[
        Path | None, typer.Option(help="A certificate (PEM), to serve HTTPS without a proxy.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="The key of the certificate (PEM).")] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(
            help="A file with a reusable key for the dashboard, for a service that starts by itself; it replaces the "
            "link that works once."
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(help="Write the page to this file, to be hosted elsewhere, without serving it. Needs --url."),
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="With --page: where responses are collected, such as https://survey.example.org.")
    ] = None,
) -> None:
    """Serve a survey whose answers are randomized in the respondents' browsers, and keep counts, not answers.

    Prints the address of the survey, and a link to its dashboard that works once. Ctrl-C stops it with exit code 0; if
    you start it again, it continues. The addresses of respondents are neither stored nor logged. What a proxy says
    about them is ignored, so everybody who comes through a proxy shares its address: set a limit there, and --rate 0
    here.
    """
    from warner.service.survey import load_survey

    asked = load_survey(survey)
    if page is not None:
        _write_page(asked, survey, page, url)
        return
    if url is not None:
        raise ValueError("--url is for --page: a server listens at --host and --port")
    server = _server()
    settings = server.Settings(
        respondents=server.Address(host, port, "port"),
        dashboard=server.Address(dashboard_host, dashboard_port, "dashboard-port"),
        origins=tuple(server.origin(site) for site in allow_origin or ()),
        limit=limit,
        rate=rate,
        certificate=certificate,
        key=key,
        key_file=key_file,
    )
    server.serve(asked, database or _beside(survey, asked), settings, _say)


def invite(
    survey: SurveyFile,
    number: Annotated[
        int | None, typer.Argument(help="The number of people to invite.", min=1, max=MOST_INVITED)
    ] = None,
    *,
    url: Annotated[str | None, typer.Option(help="Where the survey is, such as https://survey.example.org.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A new CSV file for the links, one per line.")
    ] = None,
    revoke: Annotated[
        Path | None,
        typer.Option(help="Revoke the invitations in this file, with one link or code per line, that nobody has used."),
    ] = None,
    database: Database = None,
) -> None:
    """Make links that are good for one response each, revoke them, or tell how many are left.

    Only the file has the links, readable by its owner alone: the database keeps hashes. If the survey runs with an
    SQLite file, stop it first and start it again afterwards. With neither a number nor --revoke, the command tells how
    many invitations there are, and how many of them can still be used, as far as responses are published; the survey
    may be running then.
    """
    from warner.service.survey import load_survey

    asked = load_survey(survey)
    if not asked.invited:
        raise ValueError(f'{survey} is open to everybody; for invitations its access must be "invited"')
    place = database or _beside(survey, asked)
    making = {"--url": url, "--output": output}
    if number is None:
        if given := [option for option, value in making.items() if value is not None]:
            raise ValueError(f"{given[0]} is for new invitations: give their number as well, after the survey")
        _tell_left(asked, place) if revoke is None else _revoke(asked, place, revoke)
        return
    if revoke is not None:
        raise ValueError("give a number of people to invite, or --revoke, not both")
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
        # The file takes its name after the hashes are on disk: no link is ever seen that would not work. If we are
        # killed in between, there are hashes that nobody has a link to, and which nobody can guess.
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
    """Read invitations, which are links or codes; an error names a line, and not the secret that stands there."""
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
    from warner.service.stores.contract import refuse_other_survey

    found = collected(place)
    refuse_other_survey(asked, found.survey, _shown(place))
    left = "none can be used any more, because the survey is closed"
    if found.state == "open":
        left = f"at most {counted(found.invited - found.responses, 'is', 'are')} left"
    revoked = f", besides {found.revoked:,} revoked" if found.revoked else ""
    typer.echo(
        f"{_shown(place)}: {counted(found.invited, 'invitation', 'invitations')}{revoked}; "
        f"{counted(found.responses, 'response', 'responses')} published; {left}"
    )


def _tell_prospects(asked: Survey, invited: int) -> None:
    """Say what so many people can show, once they are invited: then it can still be changed."""
    from warner.service.dashboard_data import doubts, prospects

    for name, words in prospects(asked, invited).items():
        tell(f"{name}: {words}")
    for doubt in doubts(asked, invited):
        warn(doubt)


def close(database: Place) -> None:
    """Close a survey for good, and publish the responses that are still waiting.

    If the survey is running with an SQLite file, close it on its dashboard instead. Unless the survey file fixes the
    number of responses, and it is reached, the intervals remain those that hold however often one looks: whoever closes
    a survey has seen what it shows.
    """
    from warner.service.stores import collected
    from warner.service.stores.contract import closing_words

    before = collected(database)
    if before.state == "closed":
        raise ValueError(f"{_shown(database)}: this survey is closed already")
    with _opened_alone(database, before.survey, "close it on its dashboard, or stop it first") as store:
        store.close()
        after = store.collected()
    typer.echo(f"{_shown(database)}: {closing_words(after)}")


def backup(
    database: Place,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="A new file for the copy.")],
) -> None:
    """Copy the database of a survey to an SQLite file, even while the survey is running.

    The copy is written in an order that reveals nothing; other ways of copying the file may show who responded when.
    """
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
    """Hold a database, which no running survey does, and give it back whatever happens."""
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
    """Check where a survey is, and write it without a slash at the end."""
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
    typer.echo(line)
