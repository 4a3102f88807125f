"""Pages: what an analyst sends to others, with every number and warning that the result has."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import warner
from warner import Channel, RandomizedResponse, SubsetSelection, Tally, estimate, pool, surveys
from warner.estimators import METHODS
from warner.output.pages import interval_cells

if TYPE_CHECKING:
    from pathlib import Path

    from warner import Estimate

VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """Page as a browser sees it: elements with attributes, text outside of scripts and styles, and the table."""

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


def page(result: Estimate, folder: Path, **options: Any) -> Page:
    path = folder / "report.html"
    result.save_page(path, **options)
    assert [file.name for file in folder.iterdir()] == ["report.html"]
    return Page(path.read_text(encoding="utf-8"))


@pytest.fixture
def _without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warner.output.canvas.Picture.svg", lambda *_: "<svg></svg>")


words_only = pytest.mark.usefixtures("_without_pictures")  # a page takes ten times as long to draw as to write

LINEAR = Channel([["1/2", "3/8", "1/8"], ["1/4", "1/2", "1/4"], ["1/8", "1/4", "5/8"]], 3, 3)  # no binomial counts
LABELS = ["<script>alert(1)</script>", "a & b", "\"quoted\" 'too'", "多次", "</td></table>"]


def survey(method: str = "mle", *, missing: int = 0, unknown: int = 0) -> Estimate:
    design = RandomizedResponse(LABELS, odds=(3, 1))
    return estimate(Tally(design, [310, 240, 180, 150, 120], missing=missing, unknown=unknown), method=method)


def grouped() -> Estimate:
    design = RandomizedResponse(3, epsilon=1)
    groups = (("<i>north</i>", 1), (None, 2), ("empty", 3))
    return estimate(Tally(design, [[50, 30, 20], [40, 40, 40], [0, 0, 0]], by=("<b>", "year"), groups=groups))


# Low, share and high of four intervals: the third share is negative, as those of `inv` can be, and the last is unknown.
BARRED = {"low": [0.0, 0.3, 0.0, np.nan], "share": [0.1, 0.32, -0.2, np.nan], "high": [0.2, 0.4, 0.04, np.nan]}


@words_only
@pytest.mark.parametrize("level", [0.95, 0.8])
def test_numbers_are_those_of_the_table(level: float, tmp_path: Path) -> None:
    result = survey()
    table = result.table(level)
    _, *rows = page(result, tmp_path, level=level).rows
    assert [row[0][0] for row in rows] == [LABELS[i] for i in np.argsort(-table["share"], kind="stable")]
    for row in rows:
        i = LABELS.index(row[0][0])
        assert [float(value or "nan") for _, value in row[1:]] == [
            table[name][i]
            for name in ("reports", "share", "low", "people")  # intervals are sorted by lower limits
        ]
        assert [shown for shown, _ in row[2:]] == [
            f"{100 * table['share'][i]:.2f}",
            f"{100 * table['low'][i]:.2f} to {100 * table['high'][i]:.2f}",
            f"{table['people'][i]:,.0f}",
        ]


def test_bars_of_intervals_share_a_scale_from_zero_to_the_largest_limit() -> None:
    table = {name: np.array(values) for name, values in BARRED.items()}
    styles = [re.findall("[0-9.]+%", text) for _, text in interval_cells(table, ["", "", "", ""])]
    assert styles == [["0.0%", "25.0%", "50.0%"], ["75.0%", "80.0%", "100.0%"], ["0.0%", "0.0%", "10.0%"], []]
    assert interval_cells({name: np.zeros(1) for name in BARRED}, ["0 to 0"])[0][1].startswith("0 to 0<span")


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


@pytest.mark.parametrize("result", [survey(), grouped()])
def test_the_page_loads_nothing(result: Estimate, tmp_path: Path) -> None:
    seen = page(result, tmp_path)
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


@words_only
def test_the_headline_names_the_leader_with_its_interval(tmp_path: Path) -> None:
    # Truth 3/4, so q = 1/8: (8/16 - 1/8) / (5/8) = 0.60, (5/16 - 1/8) / (5/8) = 0.30, and 0.10 remains
    result = estimate(Tally(RandomizedResponse(["so", "no", "yes"], truth="3/4"), [3000, 8000, 5000]))
    low, high = (100 * result.table()[name][1] for name in ("low", "high"))
    text = page(result, tmp_path).text
    assert (
        f"The leading answer is no with an estimated 60.00 % of people (95 % interval: {low:.2f} % to {high:.2f} %)"
        in text
    )
    assert "Next comes yes with an estimated 30.00 %" in text
    assert "overlap" not in text


@words_only
def test_an_uncertain_or_level_lead_is_said(tmp_path: Path) -> None:
    design = RandomizedResponse(["yes", "no", "so"], truth="3/4")
    assert "Their intervals overlap" in page(estimate(Tally(design, [49, 51, 20])), tmp_path).text
    assert "1 other answer is tied with it" in page(estimate(Tally(design, [50, 50, 20])), tmp_path).text


@words_only
def test_the_design_is_told_in_its_own_sentences(tmp_path: Path) -> None:
    # odds 3 : 1 among 5: epsilon = ln 3 = 1.0986..., rounded up
    result = survey()
    text = page(result, tmp_path).text
    for sentence in result.design.sentences():
        assert sentence in text
    assert f"design{result.design.summary()}" in text
    assert "one report spends epsilon = 1.099 (rounded up)" in text
    assert "A respondent who reports again on the same question spends it again." in text


@words_only
@pytest.mark.parametrize("odds", [(1, 0), (0, 1)])
def test_designs_without_deniability_say_so(odds: tuple[int, int], tmp_path: Path) -> None:
    design = RandomizedResponse(["yes", "no", "so"], odds=odds)
    text = page(estimate(Tally(design, [40, 60, 50])), tmp_path).text
    assert "Epsilon is infinite: a report can rule out an answer with certainty." in text
    assert "rounded up" not in text


@words_only
def test_the_direction_of_the_reports_follows_from_the_design(tmp_path: Path) -> None:
    def text(design: RandomizedResponse | Channel) -> str:
        return page(estimate(Tally(design, [40, 60, 50])), tmp_path).text

    assert "closer to equal shares" in text(RandomizedResponse(3, odds=(3, 2)))
    assert "reversed" in text(RandomizedResponse(3, odds=(2, 3)))
    assert "Nothing was randomized" in text(RandomizedResponse(3, odds=(1, 0)))
    plain = text(LINEAR)
    assert "Reports are randomized: their shares are not the true shares." in plain
    assert not re.search("closer to|reversed", plain)


@words_only
def test_what_was_left_out_is_said(tmp_path: Path) -> None:
    assert "None: every row held a possible report." in page(survey(), tmp_path).text
    text = page(survey(missing=1234, unknown=5), tmp_path).text
    assert "1,234 rows without a value" in text
    assert "5 rows with a value that is not a possible report" in text
    assert "1 row without a value" in page(survey(missing=1), tmp_path).text


@words_only
def test_how_it_was_computed_is_said(tmp_path: Path) -> None:
    result = survey()
    text = page(result, tmp_path).text
    assert result.certificate is not None
    assert f"{result.log_likelihood:,.6f} nats" in text
    assert result.certificate.gap == 0
    assert "no distribution is more likely than this onesoftware" in text
    assert f"warner {warner.__version__}" in text
    assert re.search(r"date20\d\d-\d\d-\d\d", text)
    assert "none: inv does not maximize" in page(survey("inv"), tmp_path).text
    worse = survey("inv_n")
    assert worse.certificate is not None
    bound = re.search(r"this one by more than ([\d.e-]+) nats", page(worse, tmp_path).text)
    assert bound
    assert worse.certificate.gap <= float(bound[1]) <= 1.1 * worse.certificate.gap


@words_only
@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_told_in_words(method: str, tmp_path: Path) -> None:
    assert f"method{method}: {METHODS[method].sentence}" in page(survey(method), tmp_path).text


def test_groups_have_their_columns_and_headlines(tmp_path: Path) -> None:
    result = grouped()
    table = result.table()
    seen = page(result, tmp_path)
    _, *rows = seen.rows
    assert [[shown for shown, _ in row[:3]] for row in rows] == [
        ["(missing)" if table[name][i] is None else str(table[name][i]) for name in ("<b>", "year", "value")]
        for i in range(9)
    ]
    assert [float(row[4][1] or "nan") for row in rows[:6]] == table["share"][:6].tolist()
    assert [row[4] for row in rows[6:]] == [("–", "")] * 3
    assert "empty / 3: no reports." in seen.text
    assert "<i>north</i> / 1: The leading answer is" in seen.text
    assert "none: a group has no reports" in seen.text


def test_the_picture_fits_a_telephone(tmp_path: Path) -> None:
    # 390 pixels less two margins of 16; an inch of CSS has 96 pixels, and 72 points.
    survey().save_page(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    broad, narrow = re.findall(r"<svg[^>]* width=\"([\d.]+)pt\"", text)
    assert float(narrow) * 96 / 72 <= 390 - 2 * 16 + 2 < float(broad) * 96 / 72
    style = text[text.index("<style>") : text.index("</style>")]
    assert "min-width: 34rem" not in style
    assert "@media (max-width: 40rem) { .broad { display: none; } .narrow { display: block; } }" in style
    names = [set(re.findall(r'id="([mp][0-9a-f]{10})"', part)) for part in text.split("<svg")[1:]]
    assert not names[0] & names[1]  # what one picture refers to is not in the other, which is not displayed


def test_a_long_table_is_cut_and_says_so(tmp_path: Path) -> None:
    counts = np.random.default_rng(1).poisson(25, 10_000)
    counts[7] = 120
    result = estimate(Tally(RandomizedResponse(10_000, epsilon=2), counts), method="mle")
    seen = page(result, tmp_path)
    assert len(seen.rows) == 2001
    assert seen.rows[1][0][0] == "7"
    assert "The 2,000 rows with the largest shares, of 10,000." in seen.text
    assert result.table()["outside"][7]
    assert seen.rows[1][2][0].endswith("*")
    assert "* marks a share outside its own interval" in seen.text


@words_only
def test_weights_are_told_to_be_approximate(tmp_path: Path) -> None:
    result = estimate(Tally(RandomizedResponse(3, epsilon=1), [10.5, 20.25, 0.0], squares=40.0))
    seen = page(result, tmp_path)
    assert "30.8 weighted randomized reports" in seen.text
    assert "are approximate" in seen.text
    assert seen.rows[1][1] == ("20.2", "20.25")


@words_only
def test_the_page_says_whose_shares_the_intervals_are_for(tmp_path: Path) -> None:
    result = estimate(Tally(RandomizedResponse(["yes", "no", "so"], odds=(3, 1)), [400, 600, 500]))
    plain = page(result, tmp_path).text
    assert (
        "95 % interval is a confidence interval for the share in the population that the respondents were drawn from"
        in plain
    )
    assert "each interval would contain the true share in at least 95 % of the repetitions" in plain
    assert "account for the randomization and for sampling error" in plain
    assert "hold for one answer at a time" in plain
    assert "95 % interval (population): Clopper and Pearson's interval" in plain
    special = page(result, tmp_path, target="realised", simultaneous=True).text
    assert "95 % interval is a confidence interval for the share in the sample: the respondents themselves" in special
    assert "all intervals would contain their true shares at once in at least 95 % of the repetitions" in special
    assert "sampling error" not in special
    assert "hold for all answers at once" in special
    assert "95 % simultaneous interval (sample): all shares under which the number of reports is not" in special
    assert "Clopper" not in special


@words_only
@pytest.mark.filterwarnings("ignore:the reports do not seem to fit:UserWarning")
def test_the_page_warns_of_reports_that_do_not_fit(tmp_path: Path) -> None:
    design = RandomizedResponse(["yes", "no"], odds=(3, 1))
    assert "Warning: the reports do not seem to fit" in page(estimate(Tally(design, [5, 995])), tmp_path).text
    assert "Warning:" not in page(estimate(Tally(design, [400, 600])), tmp_path).text


@words_only
def test_the_page_says_what_auto_took(tmp_path: Path) -> None:
    result = estimate(Tally(RandomizedResponse(["yes", "no"], odds=(3, 1)), [400, 600]), method="auto")
    text = page(result, tmp_path).text
    assert "auto: of mle or inv_p or inv_n, the one with the smallest predicted error. It took mle, maximum" in text
    many = estimate(Tally(RandomizedResponse(20, odds=(3, 1)), np.arange(20) + 40), method="auto")
    why = "the smallest total error for a symmetric design with 20 answers or more"
    assert f"auto: shrink, {why}: shrinkage: the expected shares" in page(many, tmp_path).text
    taken = page(estimate(many.tally), tmp_path).text
    assert f"shrink (the default here: {why}): shrinkage: the expected shares" in taken
    assert "the default here" not in page(estimate(many.tally, method="shrink"), tmp_path).text


def test_a_failure_leaves_the_old_page(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        survey().save_page(path, level=0)
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_labels_that_are_no_characters(tmp_path: Path) -> None:
    result = estimate(Tally(RandomizedResponse(["\ufffe", "b\x01"], epsilon=1), [3, 4]))
    assert len(page(result, tmp_path).rows) == 2


def test_a_page_on_a_survey_design_tells_what_respondents_did(tmp_path: Path) -> None:
    crossed = surveys.crosswise("1/4")
    seen = page(estimate(Tally(crossed, [198, 112])), tmp_path).text
    assert "For the respondent: Think of two questions" in seen
    assert "Estimated share of 'yes'" in seen
    assert "reported share" not in seen
    assert "Channel from 2 answers" in seen


@words_only
def test_a_linear_interval_is_called_approximate_and_not_clopper_and_pearsons(tmp_path: Path) -> None:
    text = page(estimate(Tally(LINEAR, [330, 330, 340])), tmp_path).text
    assert "an unbiased linear combination of the observed shares" in text
    assert "in about 95 % of the repetitions" in text
    assert "(approximate: the level is about 95 %)" in text
    assert "Clopper" not in text


@words_only
def test_methods_that_differ_by_answer_are_all_named(tmp_path: Path) -> None:
    # Answers 1 and 2 lead to report 0 equally often, so its number is binomial in the share of answer 0 alone.
    mixed = Channel([["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/4", "1/8", "5/8"]], 3, 3)
    text = page(estimate(Tally(mixed, [330, 330, 340])), tmp_path).text
    assert "depending on the answer, Clopper and Pearson's interval" in text
    assert "or an unbiased linear combination" in text
    assert "in about 95 % of the repetitions" in text


def test_every_design_of_a_pool_is_told(tmp_path: Path) -> None:
    parts = Tally(surveys.crosswise("1/4"), [198, 112]), Tally(surveys.warner("1/6"), [60, 40])
    seen = page(estimate(pool(parts)), tmp_path)
    assert "Design 1: 310 reports" in seen.text
    assert "Design 2: 100 reports" in seen.text
    for part in parts:
        assert part.design.summary() in seen.text
        assert all(sentence in seen.text for sentence in part.design.sentences())
    assert "2 designs · epsilon at most 1.61" in seen.text
    assert "one report spends at most epsilon = 1.61 (rounded up)" in seen.text
    assert [len(row) for row in seen.rows[1:]] == [4]  # no column of reports
    assert "by sums of binomial counts (the level is at least 95 %)" in seen.text


@words_only
def test_reports_that_support_several_answers_are_explained(tmp_path: Path) -> None:
    result = estimate(Tally(SubsetSelection(5, odds=(3, 1), size=2), [500, 450, 400, 350, 300], n=1000))
    assert result.certificate is None
    seen = page(result, tmp_path).text
    assert "supporting reports is how many reports support the answer" in seen
    assert "need not add up to the number of reports" in seen
    no_likelihood = "a report can count for several answers, so the counts alone do not have a likelihood"
    assert f"log-likelihoodnot defined: {no_likelihood}" in seen
    assert f"certificatenone: {no_likelihood}" in seen
    assert "1,000 randomized reports" in seen
