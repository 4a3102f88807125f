from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import numpy as np
import pytest

import warner
from warner import RandomizedResponse, Tally, estimate, pool, surveys
from warner.output.pages import report

if TYPE_CHECKING:
    from pathlib import Path

    from warner import Estimate

VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """What a browser would see: elements with attributes, the text outside of script and style, and the table."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.rows: list[list[tuple[str, str | None]]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag == "td":
            self.rows[-1].append(("", dict(attrs).get("data-value")))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.open):
            self.text += data.replace("\N{NO-BREAK SPACE}", " ")
        if "td" in self.open:
            shown, value = self.rows[-1][-1]
            self.rows[-1][-1] = (shown + data.replace("\N{NO-BREAK SPACE}", " "), value)


def page(found: Estimate, folder: Path, **options: str | float) -> Page:
    path = folder / "report.html"
    report(found, path, **options)  # type: ignore[arg-type]
    assert [file.name for file in folder.iterdir()] == ["report.html"]
    return Page(path.read_text(encoding="utf-8"))


LABELS = ["<script>alert(1)</script>", "a & b", "\"quoted\" 'too'", "多次", "</td></table>"]


def survey(method: str = "mle", *, missing: int = 0, unknown: int = 0) -> Estimate:
    design = RandomizedResponse(LABELS, odds=(3, 1))
    return estimate(Tally(design, [310, 240, 180, 150, 120], missing=missing, unknown=unknown), method=method)


def grouped() -> Estimate:
    design = RandomizedResponse(3, epsilon=1)
    groups = (("<i>north</i>", 1), (None, 2), ("empty", 3))
    return estimate(Tally(design, [[50, 30, 20], [40, 40, 40], [0, 0, 0]], by=("<b>", "year"), groups=groups))


@pytest.mark.parametrize("level", [0.95, 0.8])
def test_numbers_are_those_of_the_table(level: float, tmp_path: Path) -> None:
    found = survey()
    table = found.table(level)
    _, *rows = page(found, tmp_path, level=level).rows
    assert [row[0][0] for row in rows] == [LABELS[i] for i in np.argsort(-table["share"], kind="stable")]
    for row in rows:
        i = LABELS.index(row[0][0])
        assert [float(value or "nan") for _, value in row[1:]] == [
            table[name][i] for name in ("reports", "share", "people", "low", "high")
        ]
        assert [shown for shown, _ in row[2:]] == [
            f"{100 * table['share'][i]:.2f} %",
            f"{table['people'][i]:,.0f}",
            f"{100 * table['low'][i]:.2f} %",
            f"{100 * table['high'][i]:.2f} %",
        ]


def test_labels_and_words_are_escaped(tmp_path: Path) -> None:
    seen = page(survey(), tmp_path, title="<img src=x>", question="<b>Why?</b>")
    tags = [tag for tag, _ in seen.elements]
    assert tags.count("script") == 1
    assert "img" not in tags
    assert "b" not in tags
    assert tags.count("table") == 1
    assert "<img src=x>" in seen.text
    assert "The question: <b>Why?</b>" in seen.text
    assert "i" not in [tag for tag, _ in page(grouped(), tmp_path).elements]


@pytest.mark.parametrize("found", [survey(), grouped()])
def test_the_page_loads_nothing(found: Estimate, tmp_path: Path) -> None:
    seen = page(found, tmp_path)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "http:" not in text
    assert "https:" not in text
    assert "@import" not in text
    assert all(address.startswith("#") for address in re.findall(r"url\(([^)]*)\)", text))
    for tag, attributes in seen.elements:
        assert tag not in {"link", "iframe", "object", "embed", "base", "form"}
        for name, value in attributes.items():
            assert name != "src"
            assert not name.startswith("on")
            assert name not in {"href", "xlink:href"} or (value or "").startswith("#")


def test_the_headline_names_the_leader_with_its_interval(tmp_path: Path) -> None:
    # 600 of 1000 say no, truth told with probability 3/4: (0.60 - 0.25) / (0.75 - 0.25) = 0.70
    found = estimate(Tally(RandomizedResponse(["yes", "no"], truth="3/4"), [400, 600]))
    low, high = (100 * found.table()[name][1] for name in ("low", "high"))
    text = page(found, tmp_path).text
    assert (
        f"The leading answer is no with an estimated 70.00 % of people (95 % interval {low:.2f} % to {high:.2f} %)"
        in text
    )
    assert "Next comes yes with an estimated 30.00 %" in text
    assert "overlap" not in text


def test_an_uncertain_or_level_lead_is_said(tmp_path: Path) -> None:
    design = RandomizedResponse(["yes", "no"], truth="3/4")
    assert "Their intervals overlap" in page(estimate(Tally(design, [49, 51])), tmp_path).text
    assert "one more answer is level with it" in page(estimate(Tally(design, [50, 50])), tmp_path).text


def test_the_design_is_told_in_words(tmp_path: Path) -> None:
    # odds 3 : 1 among 5: p = 3/7, q = 1/7, epsilon = ln 3 = 1.0986..., rounded up
    text = page(survey(), tmp_path).text
    assert "the true answer with probability p = 42.86 %" in text
    assert "each of the 4 other answers with probability q = 14.29 %" in text
    assert "at most 3 times more likely" in text
    assert "epsilon = 1.099 (rounded up)" in text


def test_designs_without_deniability_say_so(tmp_path: Path) -> None:
    def told(a: int, b: int) -> str:
        return page(estimate(Tally(RandomizedResponse(["yes", "no", "so"], odds=(a, b)), [40, 60, 50])), tmp_path).text

    assert "no answer is deniable" in told(1, 0)
    assert "whoever reported yes certainly does not hold it" in told(0, 1)
    assert "may hold any other answer" not in told(0, 1) + told(1, 0)
    assert "at most 2.5 times less likely" in told(2, 5)
    assert "at most 1.334 times more likely" in told(4, 3)  # 4/3, rounded up


def test_what_was_left_out_is_said(tmp_path: Path) -> None:
    assert "Nothing: every row held" in page(survey(), tmp_path).text
    text = page(survey(missing=1234, unknown=5), tmp_path).text
    assert "1,234 rows without a value" in text
    assert "5 rows whose value is none of the possible answers" in text


def test_how_it_was_computed_is_said(tmp_path: Path) -> None:
    found = survey()
    text = page(found, tmp_path).text
    assert found.certificate is not None
    assert f"{found.log_likelihood:,.6f} nats" in text
    assert f"by more than {found.certificate.gap:.2g} nats" in text
    assert f"warner {warner.__version__}" in text
    assert re.search(r"date20\d\d-\d\d-\d\d", text)
    assert "none: inv does not maximize" in page(survey("inv"), tmp_path).text


@pytest.mark.parametrize("method", list(warner.estimate.__globals__["METHODS"]))
def test_every_method_is_told_in_words(method: str, tmp_path: Path) -> None:
    assert re.search(rf"method{method}: \w+", page(survey(method), tmp_path).text)


def test_groups_have_their_columns_and_headlines(tmp_path: Path) -> None:
    found = grouped()
    table = found.table()
    seen = page(found, tmp_path)
    _, *rows = seen.rows
    assert [[shown for shown, _ in row[:3]] for row in rows] == [
        [str(table[name][i]) for name in ("<b>", "year", "value")] for i in range(9)
    ]
    assert [float(row[4][1] or "nan") for row in rows[:6]] == table["share"][:6].tolist()
    assert [row[4] for row in rows[6:]] == [("–", "")] * 3
    assert "empty / 3: no reports." in seen.text
    assert "<i>north</i> / 1: The leading answer is" in seen.text
    assert "none: a group has no reports" in seen.text


def test_a_long_table_is_cut_and_says_so(tmp_path: Path) -> None:
    counts = np.random.default_rng(1).poisson(25, 10_000)
    counts[7] = 120
    found = estimate(Tally(RandomizedResponse(10_000, epsilon=2), counts))
    seen = page(found, tmp_path)
    assert len(seen.rows) == 2001
    assert seen.rows[1][0][0] == "7"
    assert "The 2,000 rows with the largest shares, of 10,000." in seen.text
    assert found.table()["outside"][7]
    assert seen.rows[1][2][0].endswith("*")
    assert "* marks a share outside its own interval" in seen.text


def test_weights_are_told_to_be_approximate(tmp_path: Path) -> None:
    found = estimate(Tally(RandomizedResponse(2, epsilon=1), [10.5, 20.25], squares=40.0))
    seen = page(found, tmp_path)
    assert "30.8 weighted randomized reports" in seen.text
    assert "are approximate" in seen.text
    assert seen.rows[1][1] == ("20.2", "20.25")


def test_the_page_says_whose_shares_the_intervals_are_for(tmp_path: Path) -> None:
    found = estimate(Tally(RandomizedResponse(["yes", "no"], odds=(3, 1)), [400, 600]))
    plain = page(found, tmp_path).text
    assert "bound the share in the population that the respondents were drawn from" in plain
    assert "each would hold the true share in at least 95 % of them" in plain
    assert "and in who was asked" in plain
    assert "hold for one answer at a time" in plain
    special = page(found, tmp_path, target="realised", simultaneous=True).text
    assert "bound the share among the very people who reported" in special
    assert "would hold the true shares at once in about 95 % of them" in special
    assert "in who was asked" not in special
    assert "hold for all answers at once" in special
    assert "95 % simultaneous interval (realised): the score interval" in special


def test_the_page_warns_of_reports_that_do_not_fit(tmp_path: Path) -> None:
    design = RandomizedResponse(["yes", "no"], odds=(3, 1))
    assert "Warning: the reports do not seem to fit" in page(estimate(Tally(design, [5, 995])), tmp_path).text
    assert "Warning:" not in page(estimate(Tally(design, [400, 600])), tmp_path).text


def test_the_page_says_what_auto_took(tmp_path: Path) -> None:
    found = estimate(Tally(RandomizedResponse(["yes", "no"], odds=(3, 1)), [400, 600]), method="auto")
    assert "auto: mle: of the most likely" in page(found, tmp_path).text


def test_a_failure_leaves_the_old_page(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        report(survey(), path, level=0)
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_labels_that_cannot_be_encoded(tmp_path: Path) -> None:
    found = estimate(Tally(RandomizedResponse(["\ud800", "b\x01"], epsilon=1), [3, 4]))
    assert len(page(found, tmp_path).rows) == 3


def test_a_page_on_a_survey_design_tells_what_respondents_did(tmp_path: Path) -> None:
    crossed = surveys.crosswise("1/4")
    seen = page(estimate(Tally(crossed, [198, 112])), tmp_path).text
    assert "For the respondent: Think of two questions" in seen
    assert "Estimated shares" in seen
    assert "reported shares" not in seen
    assert "Channel from 2 answers" in seen
    pooled = pool([Tally(crossed, [198, 112]), Tally(surveys.warner("1/6"), [60, 40])])
    assert "the score interval, which is approximate" in page(estimate(pooled), tmp_path).text
