"""`warner design` and `warner show`: every name and every mistake.

It tests cli/mechanisms.py and cli/showing.py as well.
"""

from __future__ import annotations

import inspect
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from cli.shell import SURVEY, fails, run, succeeds
from warner import RandomizedResponse, SubsetSelection, UnaryEncoding, load_design, mechanisms, surveys
from warner.designs import MECHANISMS, REPEATED_DESIGNS, Memoized, design_from_json
from warner.designs.survey_designs import SURVEYS
from warner.text import wrapped

if TYPE_CHECKING:
    from pathlib import Path

    from cli.shell import Prompt


def test_design_and_show(tmp_path: Path) -> None:
    said = succeeds(tmp_path, "design", "never", "once", "often", "--epsilon", "1", "-o", "survey.json")
    assert "epsilon 1" in said
    assert RandomizedResponse.load(tmp_path / "survey.json") == SURVEY
    shown = succeeds(tmp_path, "show", "survey.json")
    assert "with probability 0.5761" in shown
    assert "epsilon 1." in shown
    printed = succeeds(tmp_path, "design", "--size", "1000", "--odds", "9:1")
    assert RandomizedResponse.from_json(printed) == RandomizedResponse(1000, odds=(9, 1))
    (tmp_path / "labels.txt").write_text("7\n-3\n", encoding="utf-8")
    printed = succeeds(tmp_path, "design", "--domain-file", "labels.txt", "--integers", "--truth", "3/4")
    assert RandomizedResponse.from_json(printed) == RandomizedResponse([7, -3], truth="3/4")


def test_answers_are_given_as_words_after_an_option_by_number_or_in_a_file(prompt: Prompt) -> None:
    wanted = RandomizedResponse(["kuk", "other"], epsilon=1)
    (prompt.folder / "labels.txt").write_text("kuk\r\n\nother\n", encoding="utf-8")
    for arguments in (
        ("--answers", "kuk", "other", "--epsilon", "1"),
        ("--epsilon", "1", "--answers", "kuk", "other"),
        ("--answers", "kuk", "--epsilon", "1", "--answers", "other"),
        ("--answers=kuk", "--answers=other", "--epsilon=1"),
        ("--domain-file", "labels.txt", "--epsilon", "1"),
        ("randomized-response", "epsilon=1", "--answers", "kuk", "other"),
    ):
        assert RandomizedResponse.from_json(prompt.prints("design", *arguments)) == wanted
    signs = prompt.prints("design", "<18", ">=18", "--truth", "3/4")  # no key=value, though it has an equals sign
    assert RandomizedResponse.from_json(signs) == RandomizedResponse(["<18", ">=18"], truth="3/4")
    negative = prompt.prints("design", "--answers", "-3", "7", "--integers", "--redraw", "1/2")
    assert RandomizedResponse.from_json(negative) == RandomizedResponse([-3, 7], redraw="1/2")


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ("warner p=1/6", surveys.warner("1/6")),
        ("crosswise p=1/4", surveys.crosswise("1/4")),
        ("mangat-singh truth=0.55 p=0.7", surveys.mangat_singh(0.55, 0.7)),
        ("mangat_singh p=0.7 --truth 0.55", surveys.mangat_singh(0.55, 0.7)),
        ("unrelated-question p=1/2 prevalence=1/12", surveys.unrelated_question(p="1/2", prevalence="1/12")),
        ("kuk r1=0.6 r2=0.2 draws=5 --answers user other", surveys.kuk(0.6, 0.2, 5, answers=("user", "other"))),
        ("kuk r1=0.6 r2=0.2", surveys.kuk(0.6, 0.2)),
        ("forced-response truth=3/4 yes=1/6", surveys.forced_response(truth="3/4", yes="1/6")),
        (
            "forced-response truth=7/10 never=1/10 once=1/10 often=1/10",
            surveys.forced_response(truth="7/10", forced={"never": "1/10", "once": "1/10", "often": "1/10"}),
        ),
        (
            "forced-response yes=1/6 no=1/12 truth=3/4",
            surveys.forced_response(truth="3/4", forced={"yes": "1/6", "no": "1/12"}),
        ),
        (
            "forced-response truth=1/2 <=5=1/4 >5=1/4",
            surveys.forced_response(truth="1/2", forced={"<=5": "1/4", ">5": "1/4"}),
        ),
        ("randomized-response odds=3:1 --size 4", RandomizedResponse(4, odds=(3, 1))),
        ("subset-selection --size 1024 --epsilon 1", SubsetSelection(1024, epsilon=1)),
        ("subset_selection size=4 --size 16 epsilon=1", SubsetSelection(16, epsilon=1, size=4)),
        ("subset-selection odds=3:1 --answers a b c", SubsetSelection(["a", "b", "c"], odds=(3, 1))),
        ("l-grr eps_infinity=2 eps_first=1 --size 4", Memoized.response(4, eps_infinity=2, eps_first=1)),
        ("l-osue eps_infinity=2 eps_first=0.5 --size 9", Memoized.unary(9, eps_infinity=2, eps_first="1/2")),
        ("l-sue eps_infinity=2 eps_first=1 --size 9", Memoized.unary(9, eps_infinity=2, eps_first=1, kind="symmetric")),
        ("rappor f=1/2 p=1/2 q=3/4 --answers a b", Memoized.rappor(["a", "b"], f="1/2", p="1/2", q="3/4")),
        ("loloha eps_infinity=2 eps_first=1 --size 99", Memoized.hashing(99, eps_infinity=2, eps_first=1)),
        (
            "loloha field=2 eps_infinity=2 eps_first=1 --size 9",
            Memoized.hashing(9, eps_infinity=2, eps_first=1, field=2),
        ),
    ],
)
def test_mechanisms_and_survey_designs_are_made_by_name(prompt: Prompt, arguments: str, wanted: Any) -> None:
    printed = design_from_json(prompt.prints("design", *arguments.split()))
    assert printed == wanted
    assert getattr(printed, "procedure", "") == getattr(wanted, "procedure", "")


def test_the_best_design_is_written_with_the_reason(folder: Path) -> None:
    compared = mechanisms(1000, epsilon=1)
    said = succeeds(folder, "design", "--best", "--size", "1000", "--epsilon", "1", "-o", "best.json")
    assert said == f"{wrapped([compared.reason])}\nbest.json: {compared.design()!r}\n"
    assert load_design(folder / "best.json") == compared.design()
    # For a share of 10 % sets of 4 are better than sets of 2.
    for share, size in ((None, 2), (0.1, 4)):
        options = () if share is None else ("--share", str(share))
        succeeds(folder, "design", "--best", "--size", "100", "--epsilon", "4", *options, "-o", f"sets of {size}.json")
        made = load_design(folder / f"sets of {size}.json")
        assert made == mechanisms(100, epsilon=4, share=share).design() == SubsetSelection(100, epsilon=4, size=size)
    # Where the design itself is printed, nothing else is.
    labels = [f"site {number}" for number in range(60)]
    (folder / "sites.txt").write_text("\n".join(labels), encoding="utf-8")
    done = run(folder, "design", "--best", "--domain-file", "sites.txt", "--epsilon", "0.5")
    assert design_from_json(done.stdout) == mechanisms(labels, epsilon=0.5).design()
    assert done.stderr.strip() == wrapped([mechanisms(labels, epsilon=0.5).reason])
    done = run(folder, "design", "--best", "--answers", "a", "b", "c", "--epsilon", "1")
    assert design_from_json(done.stdout) == RandomizedResponse(["a", "b", "c"], epsilon=1)


def test_a_name_may_have_spaces(prompt: Prompt) -> None:
    spaced = prompt.prints("design", "subset selection", "--size", "8", "--epsilon", "1")
    assert spaced == prompt.prints("design", "subset-selection", "--size", "8", "--epsilon", "1")


NAMES = [*(name for name in MECHANISMS if MECHANISMS[name].parameters), *REPEATED_DESIGNS, *SURVEYS]


def keys_of(name: str) -> set[str]:
    """Return the parameters of a name that are no labels."""
    if name in MECHANISMS:
        return {*MECHANISMS[name].parameters}
    return {*inspect.signature({**REPEATED_DESIGNS, **SURVEYS}[name]).parameters} - {
        "domain",
        "answers",
        "reports",
        "forced",
    }


def test_every_name_is_in_the_help_with_its_parameters(folder: Path) -> None:
    shown = succeeds(folder, "design", "--help", env={**os.environ, "COLUMNS": "200"})
    lines = {words[0]: words[1:] for words in map(str.split, shown.splitlines()) if words}
    for name in NAMES:
        for key in keys_of(name):
            assert any(f"{key}=" in word for word in lines[name.replace(" ", "-")])


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("--size 1000 --epsilon 1", UnaryEncoding.optimal(1000, epsilon=1)),
        ("kind=symmetric --size 9 --epsilon 1", UnaryEncoding.symmetric(9, epsilon=1)),
        ("kind=optimal --odds 3:1 --answers a b", UnaryEncoding(["a", "b"], p="1/2", q="1/4")),
        ("p=7/10 q=0.2 --answers a b", UnaryEncoding(["a", "b"], p=0.7, q="1/5")),
    ],
)
def test_a_unary_encoding_is_made_by_epsilon_odds_or_both_probabilities(
    prompt: Prompt, words: str, wanted: UnaryEncoding
) -> None:
    prompt.prints("design", "unary-encoding", *words.split(), "-o", "bits.json")
    assert load_design(prompt.folder / "bits.json") == wanted


def test_a_direct_question_is_a_design_with_reports_of_any_name(prompt: Prompt) -> None:
    prompt.prints("design", "direct", "--reports", "A", "B", "-o", "direct.json")
    made = load_design(prompt.folder / "direct.json")
    assert made == surveys.direct(reports=["A", "B"])
    assert (made.domain, made.law.columns, made.epsilon) == (("yes", "no"), ("A", "B"), float("inf"))
    assert "is direct" in prompt.complains("design", "warner", "p=1", "--reports", "A", "B")
    assert "direct takes no parameters, but got p=3" in prompt.complains("design", "direct", "p=3")


@pytest.mark.parametrize("name", [name for name in NAMES if keys_of(name)])
def test_every_name_without_its_parameters_says_what_it_takes(prompt: Prompt, name: str) -> None:
    needs = prompt.complains("design", name.replace(" ", "-"), "--answers", "a", "b")
    for key in keys_of(name) - {"size"}:
        assert key in needs


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        # an unknown key, and a key of another design
        ("crosswise q=1/4", "crosswise takes p=..., but got q=1/4"),
        ("crosswise p=1/4 --epsilon 1", "crosswise takes p=..., but got epsilon=1"),
        ("subset-selection --size 9 --truth 1/2", "takes some of epsilon=... odds=... size=..., but got truth=1/2"),
        ("forced-response truth=3/4 yse=1/4", "for each answer, but got yse=1/4"),
        ("l-grr epsilon=1 --size 4", "l grr takes eps_infinity=... eps_first=..., but got epsilon=1"),
        # a missing key
        ("l-grr eps_infinity=2 --size 4", "l grr needs eps_infinity=... eps_first=..., but eps_first is missing"),
        ("crosswise", "crosswise needs p=..., but p is missing"),
        ("kuk r1=0.6", "kuk needs r1=... r2=... [draws=...], but r2 is missing"),
        ("kuk draws=3", "kuk needs r1=... r2=... [draws=...], but r1 and r2 are missing"),
        ("forced-response truth=3/4", "or truth=... and ANSWER=... for each answer, but yes is missing"),
        ("forced-response yes=1/6", "but truth is missing"),
        ("forced-response never=1/4 often=1/4", "but truth is missing"),
        ("unary-encoding --size 9 p=1/2", "or p and q, but got p"),
        ("unary-encoding --size 9 --epsilon 1 kind=best", 'kind must be "optimal" or "symmetric"'),
        ("subset-selection --size 9", "a subset selection needs either epsilon or odds, but got none of them"),
        ("a b", "exactly one of epsilon, truth, redraw and odds, but got none of them"),
        # a key given twice
        ("crosswise p=1/4 p=1/3", "p must be given once, but got 1/4 and 1/3"),
        ("subset-selection epsilon=1 --epsilon 2 --size 9", "epsilon must be given once, but got 1 and 2"),
        # a bad value
        ("crosswise p=x", "p must be a finite number, or a fraction such as \"3/4\", but got 'x'"),
        ("crosswise p=5/4", "p must be a probability from 0 to 1, but got '5/4'"),
        ("crosswise p=1/2", "p must be such that reports carry information, but with p = 1/2"),
        ("kuk r1=0.6 r2=0.2 draws=2.5", "draws must be a whole number from 1 to 300, but got '2.5'"),
        ("subset-selection size=9 --size 9 --epsilon 1", "size must be a whole number from 1 to 8, but got '9'"),
        ("subset-selection odds=1:3 --size 9", "a > b, but got 1 : 3"),
        ("forced-response truth=3/4 a=1/6 b=1/6", "must sum to 1 - truth = 1/4, but they sum to 1/3"),
        ("a b --epsilon 0", "epsilon must be positive"),
        ("l-grr eps_infinity=1 eps_first=2 --size 4", "eps_first must be below eps_infinity"),
        ("loloha eps_infinity=2 eps_first=1 field=4 --size 9", "field must be a prime number"),
        # words that are no pair
        ("crosswise 1/4", "crosswise takes p=..., but got '1/4'; the answers, if any, go after --answers"),
        ("crosswise p=", "crosswise takes p=..., but got 'p='"),
        ("kuk other --epsilon 1", "but got 'other'; the answers, if any, go after --answers"),
        # a name that is none, and one that is not for the shell
        (
            "croswise p=1/4",
            "there is no design 'croswise' (did you mean crosswise?): the names are randomized-response,",
        ),
        ("subset-selecton --size 5 --epsilon 1", "(did you mean subset-selection?)"),
        ("coin n=3", "install the package that has it and names it in its entry points of the group warner.mechanisms"),
        ("subset-selection eps=1 --size 9", "but got eps=1; did you mean 'epsilon'?"),
        ("yes no --eps 1", "No such option '--eps'. Did you mean '--epsilon'?"),
        ("memoized --size 4", "a memoized has no parameters, so it cannot be made on the command line"),
        ("channel", "a channel has no parameters, so it cannot be made on the command line"),
        ("channel p=1/4", "or use one of randomized-response, subset-selection, unary-encoding"),
        # the answers
        ("--epsilon 1", "a randomized response needs the possible answers: name them after --answers"),
        ("subset-selection --epsilon 1", "a subset selection needs the possible answers"),
        ("--answers --epsilon 1", "needs the possible answers"),
        ("a b --size 5 --epsilon 1", "give the possible answers in one way, but got words and --size"),
        ("--answers a b --size 5 --epsilon 1", "in one way, but got --answers and --size"),
        ("crosswise p=1/4 --answers a b c", "answers must be two labels, that of having the trait first"),
        ("crosswise p=1/4 --size 2", "answers must be two labels"),
        ("forced-response truth=3/4 a=1/8 b=1/8 --answers c d", "answers and reports must be left out"),
        ("a a --epsilon 1", "distinct labels"),
        ("--size 1 --epsilon 1", "at least 2 answers"),
        ("a b --integers --epsilon 1", "--integers needs answers that are whole numbers, but got a, b"),
        ("--domain-file nowhere.txt --epsilon 1", "nowhere.txt"),
        (f"--domain-file {os.devnull} --epsilon 1", f"{os.devnull} must have one entry per line, but is empty"),
        (
            "a b --epsilon 60",
            "--epsilon must be positive, from 1e-09 to 40.0, but got '60'; for direct answers give --odds",
        ),
        ("a b --epsilon 0", "--epsilon must be positive, from 1e-09 to 40.0, but got '0'"),
        # the best for an epsilon
        ("--best --size 9", "--best needs --epsilon, the most that one report may reveal"),
        ("--best --size 9 --epsilon 1 --truth 1/2", "and takes only --quantity and --share, but got epsilon and truth"),
        ("--best crosswise p=1/4", "and takes only --quantity and --share, but got crosswise and p"),
        ("--best --epsilon 1", "--best needs the possible answers"),
        ("--best --size 9 --epsilon 0", "epsilon must be positive"),
        ("--best --size 9 --epsilon 1 --share 1.5", "--share must be from 0 to 1, but got 1.5"),
        ("--best --size 9 --epsilon 1 --share .1 --quantity mean", "--share must be left out with --quantity mean"),
        ("--size 9 --epsilon 1 --share .1", "--share is for --best"),
        ("--best --size 1 --epsilon 1", "at least 2 answers"),
    ],
)
def test_every_mistake_is_one_clear_line(prompt: Prompt, arguments: str, complaint: str) -> None:
    assert complaint in prompt.complains("design", *arguments.split(), "-o", "never-written.json")


def test_a_mistake_is_exit_code_2_in_a_process_of_its_own(folder: Path) -> None:
    assert "did you mean crosswise?" in fails(folder, "design", "croswise", "p=1/4")


@pytest.mark.parametrize(
    "name",
    [
        *("crosswise p=1/4", "subset-selection --size 9 --epsilon 1", "a b --epsilon 1"),
        *("l-grr eps_infinity=2 eps_first=1 --size 4", "loloha eps_infinity=2 eps_first=1 --size 99"),
    ],
)
def test_every_design_file_can_be_shown(prompt: Prompt, name: str) -> None:
    prompt.prints("design", *name.split(), "-o", "design.json")
    made = load_design("design.json")
    fingerprint = f"Fingerprint, which identifies the design: {made.fingerprint()}"
    assert prompt.prints("show", "design.json") == f"{made.in_words()}\n{fingerprint}\n"
    assert f"epsilon {made.shown_epsilon()}" in made.in_words()


def test_a_memoized_design_shows_what_many_reports_reveal(prompt: Prompt) -> None:
    prompt.prints("design", "l-grr", "eps_infinity=2", "eps_first=1", "--size", "4", "-o", "design.json")
    shown = prompt.prints("show", "design.json")
    assert "          1 report   epsilon 1\n         2 reports   epsilon 1.679\n" in shown
    assert "        any number   epsilon 2\n" in shown
    assert "Not protected: this pattern" in shown


def test_a_survey_from_its_card_to_its_reports(tmp_path: Path) -> None:
    succeeds(tmp_path, "design", "crosswise", "p=1/4", "-o", "survey.json")
    assert "For the respondent: Think of two questions" in succeeds(tmp_path, "show", "survey.json")
    (tmp_path / "answers.csv").write_text("answer\n" + "yes\n" * 50 + "no\n" * 50)
    said = succeeds(tmp_path, "randomize", "answers.csv", "-d", "survey.json", "-o", "reports.csv")
    assert "100 reports, epsilon 1.099 each" in said
    reports = (tmp_path / "reports.csv").read_text().split("\n")[1:-1]
    assert set(reports) == {"same", "differ"}


def test_reports_of_a_survey_design_have_names(prompt: Prompt) -> None:
    printed = prompt.prints("design", "crosswise", "p=1/4", "--answers", "1 = yes", "2 = no", "--reports", "A", "B")
    wanted = surveys.crosswise("1/4", answers=("1 = yes", "2 = no"), reports=("A", "B"))
    assert design_from_json(printed) == wanted
    forced = prompt.prints("design", "forced-response", "truth=3/4", "yes=1/6", "--answers", "1 = yes", "2 = no")
    assert design_from_json(forced).report_form.labels == ("1 = yes", "2 = no")  # the reports follow the answers
    assert (
        design_from_json(forced).report_form.labels
        == surveys.forced_response(truth="3/4", yes="1/6", answers=("1 = yes", "2 = no")).outputs
    )
    other = prompt.prints("design", "forced-response", "truth=3/4", "yes=1/6", "--reports", "ja", "nein")
    assert design_from_json(other).report_form.labels == ("ja", "nein")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("kuk", "r1=0.6", "r2=0.2", "--reports", "a", "b"), "--reports must be left out for a kuk"),
        (
            ("yes", "no", "--epsilon", "1", "--reports", "a", "b"),
            "--reports must be left out for a randomized response",
        ),
        (("crosswise", "p=1/4", "--reports", "a"), "reports must be two labels"),
        (("--best", "--size", "9", "--epsilon", "1", "--reports", "a", "b"), "--best makes no survey design"),
    ],
)
def test_reports_that_no_design_can_have(prompt: Prompt, arguments: tuple[str, ...], complaint: str) -> None:
    assert complaint in prompt.complains("design", *arguments)


def test_another_design_is_replaced_only_by_force(prompt: Prompt) -> None:
    before = (prompt.folder / "survey.json").read_bytes()
    said = prompt.complains("design", "yes", "no", "--epsilon", "1", "-o", "survey.json")
    assert "survey.json holds another design, <RandomizedResponse among 3 answers" in said
    assert said.endswith("give another file, or --force\n")
    assert (prompt.folder / "survey.json").read_bytes() == before
    assert "already exists, and is not a design" in prompt.complains(
        "design", "yes", "no", "--epsilon", "1", "-o", "reports.csv"
    )
    prompt.prints("design", "never", "once", "often", "--epsilon", "1", "-o", "survey.json")  # the same one
    assert (prompt.folder / "survey.json").read_bytes() == before
    prompt.prints("design", "yes", "no", "--epsilon", "1", "-o", "survey.json", "--force")
    assert RandomizedResponse.load(prompt.folder / "survey.json") == RandomizedResponse(["yes", "no"], epsilon=1)


def test_integers_holds_for_what_is_named(prompt: Prompt) -> None:
    prompt.prints("design", "crosswise", "p=1/4", "--integers", "--reports", "1", "2", "-o", "codes.json")
    assert load_design(prompt.folder / "codes.json") == surveys.crosswise(
        "1/4", reports=[1, 2]
    )  # answers stay yes and no
    prompt.prints(
        "design", "crosswise", "p=1/4", "--integers", "--answers", "1", "2", "--reports", "3", "4", "-o", "b.json"
    )
    assert load_design(prompt.folder / "b.json") == surveys.crosswise("1/4", answers=[1, 2], reports=[3, 4])
    (prompt.folder / "codes.csv").write_text("code,x\n1.0,1\n2.0,2\n1,2\n9.0,1\n")
    for command in (("estimate", "codes.csv", "-c", "code"), ("regress", "codes.csv", "code ~ x")):
        said = prompt.notes(*command, "-d", "codes.json", "--missing", "9", "--json")[0]
        assert json.loads(said)["missing"] in (1, {"": 1})


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ("--reports A B", "--integers needs reports that are whole numbers, but got A, B"),
        ("", "--integers is for answers or reports that are named; the answers yes and no are texts"),
    ],
)
def test_integers_that_are_none_are_refused(prompt: Prompt, given: str, complaint: str) -> None:
    assert complaint in prompt.complains("design", "crosswise", "p=1/4", "--integers", *given.split())


def test_a_design_is_explained_as_json_too(tmp_path: Path) -> None:
    SURVEY.save(tmp_path / "survey.json")
    document = json.loads(succeeds(tmp_path, "show", "survey.json", "--json"))
    assert document == {
        "sentences": list(SURVEY.sentences()),
        "epsilon": "1",
        "fingerprint": SURVEY.fingerprint(),
        "design": SURVEY.to_dict(),
    }
