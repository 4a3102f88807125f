"""Web surveys: `warner collect`, and the commands of `warner survey`."""

from __future__ import annotations

import base64
import json
import re
import secrets
import sys
import unicodedata
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import click

from warner.cli.delivering import refuse_overwriting
from warner.cli.messages import tell, warn, working
from warner.documents import loaded, save_text, written_whole
from warner.text import certainties, counted, not_installed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from types import ModuleType

    from warner.cli import commands
    from warner.documents import Document
    from warner.service.stores.contract import Store
    from warner.service.survey import Survey


def collect(options: commands.Collect) -> None:
    survey, page, url = options.survey, options.page, options.url
    from warner.service.survey import load_survey

    asked = load_survey(survey)
    if page is not None:
        _write_page(asked, survey, page, url)
        return
    if url is not None:
        raise ValueError("--url is for --page: a server listens at --host and --port")
    server = _server()
    from warner.service.dashboard import link_file

    settings = server.Settings(
        respondents=server.Address(options.host, options.port, "port"),
        dashboard=server.Address(options.dashboard_host, options.dashboard_port, "dashboard-port"),
        origins=tuple(server.origin(site) for site in options.allow_origin),
        limit=options.limit,
        rate=options.rate,
        certificate=options.certificate,
        key=options.key,
        share=survey.parent / f"{asked.id}.certificate.pem" if options.share else None,
        key_file=options.key_file,
        link_file=link_file(survey, asked.id),
    )
    server.serve(asked, options.database or _beside(survey, asked), settings, click.echo)


serve = collect


def link(options: commands.SurveyLink) -> None:
    from warner.service.survey import load_survey

    asked = load_survey(options.survey)
    _server()  # or its packages are named
    from warner.service.dashboard import link_file, new_link

    click.echo(new_link(link_file(options.survey, asked.id)))


def invite(options: commands.SurveyInvite) -> None:
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
    refuse_overwriting({"the survey": survey, "the database": place}, {"--output": output}, force=False)
    from warner.service.sharing import shareable_address

    _invite(asked, place, number, shareable_address(url), output)


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
    tell(f"{output}: {counted(number, 'link', 'links')}, valid for one response each; only this file has them")
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
            raise ValueError(
                f"{file}: line {place:,} must be a link of `warner survey invite`, or its code of 22 characters"
            )
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


def close(options: commands.SurveyClose) -> None:
    from warner.service.stores import collected
    from warner.service.stores.contract import closing_words

    database = options.database

    before = collected(database)
    if before.state == "closed":
        raise ValueError(f"{_shown(database)}: this survey is closed already")
    with _opened_alone(database, before.survey, "close it on its dashboard, or stop it first") as store:
        store.close()
        after = store.collected()
    click.echo(f"{_shown(database)}: {closing_words(after)}")


def backup(options: commands.SurveyBackup) -> None:
    from warner.service.stores import backup as copied

    copied(options.database, str(options.output))
    tell(f"{options.output}: a copy of {_shown(options.database)}")


def _server() -> ModuleType:
    try:
        from warner.service import server
    except ImportError as error:
        raise ImportError(not_installed(f"collecting needs {error.name}", "collect")) from None
    return server


def _write_page(asked: Survey, survey: Path, page: Path, url: str | None) -> None:
    from warner.service.pages import hosted_page, split_address

    if url is None:
        raise ValueError("--page needs --url: where its responses are collected, such as https://survey.example.org")
    refuse_overwriting({"the survey": survey}, {"--page": page})
    address = "".join(split_address(url))  # without the slash at its end
    save_text(page, hosted_page(asked, address))
    tell(
        f"{page}: the page of {asked.id}, which sends to {address}; serve the survey there with --allow-origin and the "
        "origin of this page"
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


def _refuse_old(output: Path) -> None:
    if str(output) == "-":
        raise ValueError("--output must be a file: links are secrets, and a terminal or a log would keep them")
    if output.exists():
        raise FileExistsError(f"{output} already exists, and is not overwritten; give another file")


def _shown(database: str) -> str:
    from warner.service.stores import without_password

    return without_password(database)


# New survey files


DEFAULT_ANSWERS = {"en": "yes,no", "de": "ja,nein", "fr": "oui,non", "es": "sí,no", "ar": "نعم,لا"}
DEFAULT_EPSILON = "2"
EPSILON_CHOICES = {"1": "strong", "2": "medium", "3": "weak"}
IDENTIFIER_WORDS = 2
IDENTIFIER_LENGTH = 40
SHORTEST_WORD = 5  # letters of a word that an id takes from a text
EXAMPLE_SURVEY: Document = {
    "title": "Exams at our school",
    "question": ["Have you cheated in an exam this year?", "How often did you skip a class this year?"],
    "answers": ["yes,no", "never,once or twice,more often"],
    "sensitive": ["yes", "more often"],
    "epsilon": ["2", "2"],
    "group": ["Which grade are you in?=9,10,11"],
}


def new(options: commands.SurveyNew) -> None:
    from warner.service.dashboard_data import prospects
    from warner.service.survey import survey_from_json

    file = options.file
    _refuse_existing(file, force=options.force)
    fields: Document = {name: getattr(options, name) for name in ("language", *EXAMPLE_SURVEY)}
    if options.example:
        if given := [name for name in EXAMPLE_SURVEY if fields[name]]:
            raise ValueError(f"--example must be given without --{given[0]}: the example has its own")
        fields |= EXAMPLE_SURVEY
    elif sys.stdin is not None and sys.stdin.isatty():
        _ask_for_fields(fields)
    for name in ("title", "question"):
        if not fields[name]:
            raise ValueError(f"--{name} must be given, because there is no terminal to ask for it")
    language = fields["language"] or "en"
    _check_language(language)
    number = len(fields["question"])
    defaults = {"answers": _yes_no(language), "sensitive": "", "epsilon": DEFAULT_EPSILON}
    columns = {name: _for_each(name, fields[name], number, default) for name, default in defaults.items()}
    questions: list[Document] = []
    for place, text in enumerate(fields["question"]):
        answers, sensitive, epsilon = (column[place] for column in columns.values())
        ids = [question["id"] for question in questions]
        questions.append(_question(text, answers, sensitive, epsilon, ids))
    groups: list[Document] = []
    for text in fields["group"]:
        groups.append(_group(text, [group["id"] for group in groups]))
    document: Document = {"format": "warner survey", "version": 1, "id": _identifier(fields["title"], "survey")}
    document |= {"title": fields["title"], "language": language, "groups": groups, "questions": questions}
    document |= {"access": "invited"} if options.invited else {}
    document |= {} if options.stop is None else {"stop": options.stop}
    survey = survey_from_json(json.dumps(document))
    save_text(file, json.dumps(survey.to_dict(), ensure_ascii=False, indent=2))
    tell(f"{file}: {counted(number, 'question', 'questions')}. Add an introduction and a consent in an editor.")
    precision = prospects(survey, 0)
    for question in survey.questions:
        tell(f"{question.id}: {certainties(question.listed.epsilon)}; {precision[question.id]}")
    tell(f"Next: warner survey notice {file} -o notice.html, and warner survey serve {file} --share")


def _check_language(language: str) -> None:
    if not re.match(r"[A-Za-z]{2,3}(-|$)", language):
        raise ValueError(f"--language must be a tag such as en, de or pt-BR, but got {language!r}")


def _yes_no(language: str) -> str:
    return DEFAULT_ANSWERS.get(language.partition("-")[0], DEFAULT_ANSWERS["en"])


def _for_each(name: str, values: Sequence[str], number: int, default: str) -> Sequence[str]:
    """Return a value for each question: one each, or the only one for all."""
    if len(values) not in {0, 1, number}:
        raise ValueError(f"--{name} must be given once, or once for each of {number} questions, but got {len(values)}")
    return values if len(values) == number else [*values, default][:1] * number


def _question(text: str, answers: str, sensitive: str, epsilon: str, ids: Sequence[str]) -> Document:
    from warner.designs import RandomizedResponse

    labels = [label.strip() for label in answers.split(",")]
    if len(labels) < 2 or not all(labels) or len({*labels}) < len(labels):
        raise ValueError(f"--answers must be two or more different texts, separated by commas, but got {answers!r}")
    if sensitive and sensitive not in labels:
        raise ValueError(f"--sensitive must be one of the answers ({', '.join(labels)}), but got {sensitive!r}")
    if len(labels) == 2 and sensitive == labels[1]:
        labels.reverse()  # results show the first of two answers
    design = RandomizedResponse(labels, epsilon=epsilon)
    named = {"sensitive": sensitive} if sensitive and len(labels) > 2 else {}
    return {"id": _identifier(text, "question", ids), "text": text, **named, "design": design.to_dict()}


def _group(text: str, ids: Sequence[str]) -> Document:
    wording, _, values = text.rpartition("=")
    if not wording or not values:
        raise ValueError(f'--group must be TEXT=A,B,..., as "Which class are you in?=7a,7b", but got {text!r}')
    listed = [value.strip() for value in values.split(",")]
    if len({*listed} - {""}) < max(2, len(listed)):
        raise ValueError(f"--group must have at least two distinct texts, separated by commas, but got {values!r}")
    return {"id": _identifier(wording, "group", ids), "text": wording.strip(), "values": listed}


def _identifier(text: str, default: str, others: Sequence[str] = ()) -> str:
    """Return an id of the words of a text, different from the others."""
    letters = unicodedata.normalize("NFKD", text.lower()).encode("ascii", "ignore").decode()
    words = [word for word in re.findall(r"[a-z0-9]+", letters) if len(word) >= SHORTEST_WORD]
    name = "-".join(words[:IDENTIFIER_WORDS])[:IDENTIFIER_LENGTH].strip("-") or default
    return next(one for one in (name, *(f"{name}-{number}" for number in range(2, 999))) if one not in others)


def _ask_for_fields(fields: Document) -> None:
    """Ask in the terminal for the fields that are not options."""
    fields["title"] = fields["title"] or _ask("Title of the survey")
    language = fields["language"] or _ask("Language of the page (en, de, fr, es, ar)", "en", _check_language)
    fields["language"] = language
    if not fields["question"]:
        _ask_for_questions(fields)
    elif not fields["epsilon"]:
        fields["epsilon"] = [_ask_for_epsilon()]
    if not fields["group"]:
        fields["group"] = list(_asked_groups())


def _ask_for_questions(fields: Document) -> None:
    default, given = _yes_no(fields["language"]), {name: fields[name] for name in ("answers", "sensitive", "epsilon")}
    fields |= {name: list(values[:1]) for name, values in given.items()}
    fields["question"] = []
    while text := _ask(f"Question {len(fields['question']) + 1}{' (Enter to end)' * bool(fields['question'])}", ""):
        fields["question"].append(text)
        if not given["answers"]:
            check = partial(_question, "", sensitive="", epsilon=DEFAULT_EPSILON, ids=())
            fields["answers"].append(_ask("  Answers, separated by commas", default, check))
        if not given["sensitive"]:
            labels = [label.strip() for label in fields["answers"][-1].split(",")]
            check = partial(_question, "", fields["answers"][-1], epsilon=DEFAULT_EPSILON, ids=())
            default_label = labels[0 if len(labels) == 2 else -1]
            fields["sensitive"].append(_ask("  The most sensitive answer", default_label, check))
        if not given["epsilon"]:
            fields["epsilon"].append(_ask_for_epsilon())


def _ask_for_epsilon() -> str:
    """Ask for epsilon, with a sentence on each of the usual values."""
    for epsilon, word in EPSILON_CHOICES.items():
        click.echo(f"  {epsilon} {word}: {certainties(float(epsilon))}", err=True)
    check = partial(_question, "", "a,b", "", ids=())
    return _ask("  Privacy: 1, 2, 3 or another epsilon (less privacy needs fewer respondents)", DEFAULT_EPSILON, check)


def _asked_groups() -> Iterator[str]:
    while text := _ask("Question about a group, such as the class, which is not randomized (Enter for none)", ""):
        yield f"{text}={_ask('  Values, separated by commas', check=lambda values: _group(f'G={values}', ()))}"


def _ask(prompt: str, default: str | None = None, check: Callable[[str], object] = str) -> str:
    """Ask in the terminal, again until the check of the answer raises no error."""

    def checked(text: str) -> str:
        try:
            check(text.strip())
        except ValueError as error:
            raise click.UsageError(str(error).removeprefix("--")) from None
        return text.strip()

    answer: str = click.prompt(prompt, default=default, show_default=bool(default), err=True, value_proc=checked)
    return answer


# Documents for readers


def report(options: commands.SurveyReport) -> None:
    from warner.service.reporting import survey_report
    from warner.service.stores import collected

    _refuse_existing(options.output, (".html",), force=options.force)
    with working("estimating"):
        page = survey_report(collected(options.database), level=options.level, target=options.target, noun=options.noun)
    save_text(options.output, page)
    tell(f"{options.output}: a page for readers; print it with a browser for a PDF")


def notice(options: commands.SurveyNotice) -> None:
    from warner.service.notices import privacy_notice
    from warner.service.survey import load_survey

    refuse_overwriting({"the survey": options.survey}, {"--output": options.output})
    _refuse_existing(options.output, (".html", ".md"), force=options.force)
    text = privacy_notice(load_survey(options.survey), form=options.output.suffix.lower().removeprefix("."))
    save_text(options.output, text)
    tell(f"{options.output}: replace the words in brackets; this is not legal advice")


def _refuse_existing(output: Path, endings: tuple[str, ...] = (), *, force: bool) -> None:
    if endings and output.suffix.lower() not in endings:
        raise ValueError(f"--output must end in {' or '.join(endings)}, but got {output}")
    if output.exists() and not force:
        raise FileExistsError(f"{output} already exists, and is not overwritten; give another file, or --force")
