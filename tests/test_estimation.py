from __future__ import annotations

import io
import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import warner
from cases import KUK, SETS
from engines import in_engine
from tables import clopper_pearson
from warner import (
    HadamardResponse,
    RandomizedResponse,
    Tally,
    UnaryEncoding,
    estimate,
    estimation,
    ibu,
    inv,
    inv_n,
    inv_p,
    mle,
    tally,
)
from warner.designs import design_from_json
from warner.estimation import Estimate, estimated
from warner.estimators import METHODS
from warner.estimators.auto import Choice
from warner.results import typeset

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SURVEY = RandomizedResponse(["never", "once", "often"], epsilon=1)
COUNTS = [520, 285, 195]
ESTIMATORS: dict[str, Callable[..., Any]] = {"mle": mle, "inv": inv, "inv_n": inv_n, "inv_p": inv_p}
COLUMNS = ["value", "reports", "share", "people", "se", "low", "high", "outside"]


@pytest.mark.parametrize("method", ["mle", "inv", "inv_n", "inv_p"])
def test_an_estimate_is_that_of_the_bare_function(method: str) -> None:
    found = estimate(Tally(SURVEY, COUNTS), method=method)
    assert_array_equal(found.shares, ESTIMATORS[method](COUNTS, SURVEY))
    assert found.design is SURVEY
    assert found.method == method
    assert (found.certificate is None) == (method == "inv")


def test_evidence() -> None:
    found = estimate(Tally(SURVEY, COUNTS))
    assert found.certificate is not None
    assert found.certificate.excess <= 1e-12
    reported = SURVEY.q + (SURVEY.p - SURVEY.q) * found.shares
    assert found.log_likelihood == pytest.approx(sum(c * np.log(r) for c, r in zip(COUNTS, reported, strict=True)))
    assert np.isnan(estimate(Tally(SURVEY, COUNTS), method="inv").log_likelihood)  # a share is negative
    slow = estimate(Tally(SURVEY, COUNTS), method="ibu")
    assert_allclose(slow.shares, found.shares, atol=1e-4)
    assert slow.log_likelihood <= found.log_likelihood + 1e-9


@pytest.mark.parametrize("method", ["mle", "inv", "inv_n", "inv_p"])
@pytest.mark.parametrize("odds", [(30, 1), (1, 30)])
def test_evidence_of_many_answers_is_that_of_the_bare_functions(method: str, odds: tuple[int, int]) -> None:
    design = RandomizedResponse(6000, odds=odds)
    counts = np.random.default_rng(4).poisson(3, 6000)
    found = estimate(Tally(design, counts), method=method)
    fit = -counts.sum() * warner.metrics.negative_log_likelihood(found.shares, counts, design)
    assert_allclose(found.log_likelihood, fit, rtol=1e-12)
    if method == "inv":
        assert found.certificate is None
        return
    assert found.certificate is not None
    plain = warner.certificate(found.shares, counts, design)
    assert_allclose(found.certificate.excess, plain.excess, rtol=1e-9, atol=1e-13)
    assert_allclose(found.certificate.gap, plain.gap, rtol=1e-9, atol=1e-9)
    assert found.certificate.unique == plain.unique


def test_the_table() -> None:
    found = estimate(Tally(SURVEY, COUNTS))
    table = found.table(level=0.9)
    assert list(table) == COLUMNS
    low, high = clopper_pearson(np.array(COUNTS), np.array([1000.0]), SURVEY, 0.9)
    assert_array_equal(table["value"], ["never", "once", "often"])
    assert_array_equal(table["reports"], COUNTS)
    assert_array_equal(table["share"], found.shares)
    assert_allclose(table["people"], 1000 * found.shares)
    assert_array_equal(table["low"], low)
    assert_array_equal(table["high"], high)
    assert_array_equal(table["outside"], [False, False, False])
    wider = found.table()
    assert (wider["low"] <= table["low"]).all()
    assert (wider["high"] >= table["high"]).all()


def test_a_share_outside_its_own_interval_is_marked() -> None:
    # A thousand answers, one holds nearly everything: INVN takes most of it away.
    design = RandomizedResponse(1000, epsilon=4)
    counts = warner.simulate.reports_of_population(
        warner.simulate.zipf(1000, 2.5), 10**6, design, rng=np.random.default_rng(1)
    )
    found = estimate(Tally(design, counts), method="inv_n")
    assert found.table()["outside"][0]
    assert typeset(found).columns["share (%)"][0].endswith("*")
    assert "* outside its own interval" in repr(found)
    assert not estimate(Tally(design, counts), method="inv").table()["outside"][0]


def test_groups_have_a_row_for_each_value_and_an_empty_one_says_so() -> None:
    groups = (("north",), ("south",), (None,))
    found = estimate(Tally(SURVEY, [COUNTS, [0, 0, 0], [9, 1, 5]], by=("region",), groups=groups, missing=[1, 2, 3]))
    table = found.table()
    assert list(table) == ["region", *COLUMNS]
    assert table["region"].tolist() == ["north"] * 3 + ["south"] * 3 + [None] * 3
    assert_allclose(found.shares[0], warner.mle(COUNTS, SURVEY), atol=1e-15)
    assert np.isnan(found.shares[1]).all()
    assert np.isnan(table["low"][3:6]).all()
    assert not table["outside"][3:6].any()
    assert_allclose(found.shares[2], warner.mle([9, 1, 5], SURVEY), atol=1e-15)
    assert np.isnan(found.log_likelihood[1])
    assert "no reports" in repr(found)
    assert "6 missing left out" in repr(found)
    values = json.loads(found.to_json())["values"]
    assert values[3] == {
        "group": {"region": "south"},
        "value": "never",
        "reports": 0,
        "share": None,
        "people": None,
        "se": None,
        "low": None,
        "high": None,
        "outside": False,
    }


@pytest.mark.parametrize("method", ["inv", "ibu"])
def test_groups_by_other_methods(method: str) -> None:
    found = estimate(Tally(SURVEY, [COUNTS, [9, 1, 5]], by=("g",), groups=((1,), (2,))), method=method)
    alone = inv([9, 1, 5], SURVEY) if method == "inv" else ibu([9, 1, 5], SURVEY).shares
    assert_allclose(found.shares[1], alone, atol=1e-12)


def test_weights_count_as_their_effective_number() -> None:
    # 1,000 people of whom half weigh 1 and half weigh 3: (500 + 1500)^2 / (500 + 4500) = 800 reports' worth
    weights = np.tile([1.0, 3.0], 500)
    reports = np.repeat(SURVEY.domain, [520, 285, 195]).tolist()
    counted = tally(reports, SURVEY, weights=weights)
    found = estimate(counted)
    assert counted.effective == pytest.approx(800)
    table = found.table()
    low, high = clopper_pearson(counted.counts * 0.4, np.array([800.0]), SURVEY, 0.95)
    assert_allclose(table["low"], low, rtol=1e-12)
    assert_allclose(table["high"], high, rtol=1e-12)
    assert_allclose(found.shares, warner.mle(counted.counts, SURVEY))
    assert "2,000.0 weighted reports" in repr(found)


def test_a_weighted_group_without_reports_says_so_without_a_warning() -> None:
    weighted = Tally(SURVEY, [[5.0, 3.0, 2.5], [0.0, 0.0, 0.0]], by=("g",), groups=((1,), (2,)), squares=[20.0, 0.0])
    assert_allclose(weighted.effective, [10.5**2 / 20, 0])
    table = estimate(weighted).table()
    alone = estimate(Tally(SURVEY, [5.0, 3.0, 2.5], squares=20.0)).table()
    assert_array_equal(table["low"][:3], alone["low"])
    assert np.isnan(table["high"][3:]).all()


@pytest.mark.parametrize("engine", ["pandas", "polars", "polars, lazy", "pyarrow", "dask", "duckdb"])
def test_a_frame_comes_back_in_the_library_of_the_reports(engine: str, tmp_path: Path) -> None:
    source = in_engine(engine, {"answer": ["never", "once", None, "never"]}, tmp_path)
    frame = estimate(tally(source, SURVEY)).to_frame()
    library = {"polars, lazy": "polars", "dask": "pandas", "duckdb": "pandas"}.get(engine, engine)
    assert type(frame).__module__.split(".")[0] in {library, "pyarrow" if library == "pyarrow" else library}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_hold_the_table(library: str) -> None:
    found = estimate(Tally(SURVEY, [COUNTS, [9, 1, 5]], by=("region",), groups=(("north",), (None,))))
    frame: Any = found.to_frame(library, level=0.8)
    table = found.table(level=0.8)
    for name in ("share", "low", "high", "reports", "outside"):
        assert_array_equal(np.array(frame[name]), table[name])
    assert list(map(str, np.array(frame["value"]))) == table["value"].tolist()
    assert frame.shape == (6, 9)


def test_json() -> None:
    found = estimate(Tally(SURVEY, COUNTS, missing=4, unknown=2))
    document = json.loads(found.to_json(level=0.9))
    names = [
        "format",
        "version",
        "design",
        "method",
        "reports",
        "missing",
        "unknown",
        "level",
        "target",
        "simultaneous",
        "anytime",
    ]
    assert list(document) == [*names, "interval", "approximate", "warnings", "values"]
    assert (document["interval"], document["approximate"]) == ("clopper_pearson", False)
    assert RandomizedResponse.from_json(json.dumps(document["design"])) == SURVEY
    assert [document[name] for name in ("method", "reports", "missing", "unknown", "level")] == ["mle", 1000, 4, 2, 0.9]
    table = found.table(level=0.9)
    for i, row in enumerate(document["values"]):
        assert list(row) == COLUMNS
        assert [row[name] for name in row] == [table[name][i] for name in row]


def test_what_people_see() -> None:
    found = estimate(Tally(SURVEY, COUNTS, missing=4, unknown=2))
    lines = repr(found).splitlines()
    assert lines[0].endswith("1,000 reports among 3 answers, epsilon 1, 4 missing left out, 2 unknown left out")
    assert [line.split()[0] for line in lines[2:5]] == ["never", "once", "often"]
    assert lines[5:] == ["Warning: 2 invalid values were left out."]
    assert typeset(found).columns["share (%)"][0] == "81.59"
    many = repr(estimate(Tally(RandomizedResponse(500, epsilon=1), 1000 + np.arange(500) // 10)))
    assert "... and 480 more" in many
    long = RandomizedResponse(["x" * 300, "y"], epsilon=1)
    assert max(map(len, repr(estimate(Tally(long, [5, 6]))).splitlines())) < 130


def test_reports_that_cannot_have_gone_through_the_design_are_warned_of() -> None:
    reports = Tally(SURVEY, [900, 90, 10])  # noise alone gives each answer some 212
    with pytest.warns(UserWarning, match="do not seem to fit the design: an answer was reported fewer times") as caught:
        found = estimate(reports)
    assert caught[0].filename == __file__
    assert "\nWarning: the reports do not seem to fit the design" in found.text()
    assert len(found.to_dict()["warnings"]) == 1
    grouped = Tally(SURVEY, [COUNTS, [900, 90, 10], [0, 0, 0]], by=("g",), groups=((1,), (2,), (3,)))
    with pytest.warns(UserWarning, match="in some group"):
        estimate(grouped)
    with pytest.warns(UserWarning, match="more times"):
        estimate(Tally(RandomizedResponse(3, odds=(1, 4)), [900, 50, 50]))


def test_a_value_does_not_warn() -> None:
    survey = Tally(SURVEY, [900, 90, 10])
    value = estimated(survey)  # a warning would be an error
    with pytest.warns(UserWarning, match="do not seem to fit") as caught:
        warned = estimate(survey)
    assert value.warnings() == warned.warnings() == [str(caught[0].message)]
    assert_array_equal(value.shares, warned.shares)
    assert value._by_default
    assert warned._by_default


def test_limits_columns_and_doubts_are_computed_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    calls: list[str] = []

    def count(owner: Any, name: str) -> None:
        inner = getattr(owner, name)

        def counting(*given: Any) -> Any:
            calls.append(name)
            return inner(*given)

        monkeypatch.setattr(owner, name, counting)

    count(estimation, "limits")
    count(estimation, "fit_warning")
    count(Estimate, "_tabulated")
    count(Estimate, "_caution")
    result = estimate(Tally(SURVEY, COUNTS))
    result.save_page(tmp_path / "page.html")
    result.save_plot(tmp_path / "plot.svg")
    assert result.text()
    assert result.to_json()
    assert result.to_markdown()
    assert result._repr_html_()
    assert sorted(calls) == ["_caution", "_tabulated", "fit_warning", "limits"]
    result.text(level=0.9)  # other intervals have other limits and columns, and the same warnings
    assert sorted(calls) == ["_caution", "_tabulated", "_tabulated", "fit_warning", "limits", "limits"]


def test_nobody_damages_an_estimate_through_its_table() -> None:
    result = estimate(Tally(SURVEY, COUNTS))
    shares, before = result.shares.copy(), {name: column.copy() for name, column in result.table().items()}
    table = result.table()
    for column in table.values():
        with pytest.raises(ValueError, match="read-only"):
            column[:] = 0
    table["share"] = np.zeros_like(shares)  # the dictionary is the caller's own
    del table["low"]
    assert_array_equal(result.shares, shares)
    assert list(result.table()) == list(before)
    for name, column in result.table().items():
        assert_array_equal(column, before[name])
    frame = pytest.importorskip("pandas").DataFrame(result.table())  # and so are data frames
    frame["share"] *= 100
    frame.loc[0, "low"] = -1.0
    assert_array_equal(result.shares, shares)
    assert_array_equal(result.table()["low"], before["low"])


def test_reports_that_fit_are_not_warned_of() -> None:
    # One count tells everything, P(Bin(100, 1/4) <= c): 0.0111 at c = 15, 0.0054 at c = 14.
    survey = RandomizedResponse(["yes", "no"], odds=(3, 1))
    estimate(Tally(survey, [15, 85]))
    with pytest.warns(UserWarning, match=r"\(p = 0.005\)"):
        estimate(Tally(survey, [14, 86]))
    estimate(Tally(RandomizedResponse(2, odds=(1, 0)), [0, 100]))  # without noise everything fits


def test_estimate_of_a_channel_carries_its_certificate() -> None:
    found = estimate(Tally(KUK, [40, 38, 22]))
    assert found.certificate is not None
    assert found.certificate.excess < 1e-12
    assert found.certificate.unique
    assert found.log_likelihood == pytest.approx(-106.79351969693987, rel=1e-12)
    assert_allclose(estimate(Tally(KUK, [40, 38, 22]), method="ibu").shares, found.shares, atol=1e-3)
    grouped = estimate(tally([0, 1, 2, 0, 1, 1], KUK, by=list("aaabbb")))
    assert grouped.shares.shape == (2, 2)
    assert_allclose(grouped.shares[0], mle([1, 1, 1], KUK), atol=1e-12)
    weighted = tally([0, 1, 2], KUK, weights=[4.0, 3.8, 2.2])
    assert_allclose(estimate(weighted).shares, found.shares, atol=1e-10)


def test_an_estimate_from_sets_has_shares_and_intervals_but_no_likelihood() -> None:
    reports = Tally(SETS, [23, 15, 13, 6, 5], n=31, missing=2)
    found = estimate(reports)
    assert found.method == "inv_p"
    assert_array_equal(found.shares, np.array([55, 7, 0, 0, 0]) / 62)
    assert np.isnan(found.log_likelihood)
    assert found.certificate is None
    table = found.table()
    assert list(table) == COLUMNS
    assert_array_equal(table["reports"], [23, 15, 13, 6, 5])
    assert_allclose(table["people"], 31 * found.shares)
    # Each answer has a binomial count of its own, Bin(31, 1/3 + share/3): the interval of randomized response.
    low, high = clopper_pearson(reports.counts, np.array([31.0]), SETS, 0.95)
    assert_array_equal([table["low"], table["high"]], [low, high])
    assert "31 reports" in found.text()
    assert "2 missing left out" in found.text()
    document = json.loads(found.to_json())
    assert (document["reports"], document["interval"], document["approximate"]) == (31, "clopper_pearson", False)
    for method in ("inv", "inv_n", "inv_p"):
        shares = estimate(reports, method=method).shares
        assert_array_equal(shares, ESTIMATORS[method](reports.counts, SETS, n=31))
    grouped = estimate(Tally(SETS, [[23, 15, 13, 6, 5], [0] * 5], n=[31, 0], by=("g",), groups=((1,), (2,))))
    assert_allclose(grouped.shares[0], found.shares, atol=1e-15)
    assert np.isnan(grouped.shares[1]).all()


def test_json_holds_nothing_that_a_terminal_would_obey() -> None:
    design = RandomizedResponse(["a\x9b31m\u202e\x7f", "\u2066b", "naïve"], odds=(9, 1))
    survey = Tally(design, [9, 1, 1])
    for text in (design.to_json(), survey.to_json(), estimate(survey).to_json(), warner.check(survey).to_json()):
        assert not set(text) & set("\x7f\x9b\u202e\u2066")
        assert "naïve" in text or "domain" not in text
    assert design_from_json(design.to_json()).domain == design.domain
    assert json.loads(estimate(survey).to_json())["values"][0]["value"] == design.domain[0]


def test_a_search_that_ended_early_says_so_at_every_door(tmp_path: Path) -> None:
    whole = estimate(Tally(RandomizedResponse(["yes", "no"], odds=(3, 1)), [40, 60]))
    assert whole.certificate is not None
    assert whole.warnings() == []
    early = replace(whole, certificate=replace(whole.certificate, excess=1e-3, gap=0.0951))
    said = "the search for the most likely shares ended early: others may be more likely, by up to 0.096 nats"
    assert f"Warning: {said}." in typeset(early).notes
    assert json.loads(early.to_json())["warnings"] == [said]
    early.save_page(tmp_path / "page.html")
    assert said in (tmp_path / "page.html").read_text(encoding="utf-8")
    for certificate in (replace(whole.certificate, excess=1e-4, gap=0.01), replace(whole.certificate, gap=5.0)):
        assert replace(whole, certificate=certificate).warnings() == []  # no consequence; rounding
    assert replace(early, method="inv_n").warnings() == []  # was not to be the most likely


@pytest.mark.parametrize(("encoding", "brick"), [("utf-8", "█"), ("cp1252", "#"), ("ascii", "#")])
def test_an_estimate_can_be_printed_whatever_the_encoding(
    encoding: str, brick: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    sys.stdout.write(repr(estimate(Tally(RandomizedResponse(["a", "b", "c"], odds=(3, 1)), [60, 20, 20]))))
    sys.stdout.flush()
    assert f"  {brick * 24}\n" in written.getvalue().decode(encoding)


def test_names_cannot_play_tricks_with_a_terminal() -> None:
    design = RandomizedResponse(["a\x1b[31m", "b"], odds=(9, 1))
    found = estimate(Tally(design, [[90, 10]] * 2, by=("g",), groups=(("x\x1b",), ("y",))))
    for text in (
        found.commonest(1).text(),
        found.present().text(),
        found.compare("b", "a\x1b[31m").text(),
        found.text(),
    ):
        assert "\x1b" not in text


# The choice of an estimator


CLOSEST = "the smallest total error for a symmetric design with 20 answers or more"


def dominated(k: int, n: int) -> Tally:
    """One answer holds three quarters: there INVP is far better than the other closed forms."""
    design = RandomizedResponse(k, epsilon=2)
    truth = warner.simulate.zipf(k, 2.5)
    return Tally(design, warner.simulate.reports_of_population(truth, n, design, rng=np.random.default_rng(1)))


def test_auto_says_what_it_took_and_why() -> None:
    reports = dominated(19, 1000)
    found = estimate(reports, method="auto")
    assert found.method == "auto"
    assert [one.method for one in found.choices] == ["inv_p"]
    assert_array_equal(found.shares, warner.inv_p(reports.counts, reports.design))
    assert found.choices[0].errors["inv_n"] > found.choices[0].errors["inv_p"]
    assert found.text().splitlines()[0].startswith("Estimated shares (auto: inv_p) from")
    assert "Auto chose inv_p; predicted squared errors (orders of magnitude): mle " in found.text()
    assert json.loads(found.to_json())["choices"][0]["method"] == "inv_p"


@pytest.mark.parametrize("design", [RandomizedResponse(20, epsilon=2), UnaryEncoding(20, epsilon=1)])
def test_auto_is_shrink_for_twenty_answers_of_a_symmetric_design(design: Any) -> None:
    n, rng, truth = np.array([500, 300, 0]), np.random.default_rng(1), warner.simulate.zipf(20, 1)
    rows = np.array([warner.simulate.reports_of_population(truth, int(one), design, rng=rng) for one in n])
    found = estimate(Tally(design, rows[0], n=500), method="auto")
    assert found.choices == (Choice("shrink", {}),)
    assert_array_equal(found.shares, warner.shrink(rows[0], design, n=500))
    assert found.text().splitlines()[0].startswith("Estimated shares (auto: shrink) from")
    assert found.text().endswith(f"Auto chose shrink: {CLOSEST}.")
    assert json.loads(found.to_json())["choices"] == [{"method": "shrink", "errors": {}}]
    together = estimate(Tally(design, rows, n=n, by=("g",), groups=((1,), (2,), (3,))), method="auto")
    assert len(together.choices) == 2
    assert np.isnan(together.shares[2]).all()


def test_the_default_is_the_closest_that_we_know_and_says_why() -> None:
    sets, few = UnaryEncoding(20, epsilon=1), UnaryEncoding(19, epsilon=1)
    support = np.arange(20) + 130
    for many in (dominated(20, 1000), Tally(sets, support, n=500)):
        found = estimate(many)
        assert found.method == "shrink"
        assert found._by_default
        assert_array_equal(found.shares, estimate(many, method="shrink").shares)
        assert typeset(found).notes[-1] == f"The default here is shrink: {CLOSEST}."
        assert json.loads(found.to_json())["reason"] == CLOSEST
        asked = estimate(many, method="shrink")
        assert "the default" not in asked.text()
        assert "reason" not in json.loads(asked.to_json())
    named = estimate(dominated(19, 1000))
    assert named.method == "mle"
    assert "the default" not in named.text()
    supported = estimate(Tally(few, support[:19], n=500))
    assert supported.method == "inv_p"
    assert "The default here is inv_p: a report is counted for several answers" in supported.text()
    # The likelihood of a histogram of reports is known: it is not taken for another reason, and that is said.
    hadamard = HadamardResponse(list("abc"), epsilon=1)
    kept = tally(hadamard.randomize(["a", "b", "c"] * 40), hadamard)
    assert kept.has_likelihood
    assert "mle can be much less accurate" in estimate(kept)._reason()
    assert "no likelihood" not in estimate(kept).text()
    groups = Tally(sets, [support, support], n=np.array([500, 500]), by=("g",), groups=((1,), (2,)))
    assert (
        estimate(groups)
        ._reason()
        .startswith("for groups, shrink takes about 250 times as long as mle, and a report is counted")
    )
    assert estimate(Tally(KUK, [30, 40, 30])).method == "mle"
    alike = warner.pool([Tally(RandomizedResponse(20, epsilon=epsilon), np.arange(20) + 20) for epsilon in (1, 2)])
    assert estimate(alike).method == "mle"


def test_a_share_outside_its_interval_says_why_under_its_estimator() -> None:
    # One answer stands out of a thousand by luck: shrink believes that it is noise.
    counts = np.random.default_rng(1).poisson(10, 1000)
    counts[0] = 22
    tally = Tally(RandomizedResponse(1000, epsilon=1), counts)
    assert estimate(tally).table()["outside"][0]
    assert "* outside its own interval: shrink pulls every share toward usual values" in estimate(tally).text()
    assert "* outside its own interval: the bias of this estimator" in estimate(tally, method="mle").text()


def test_auto_is_mle_where_all_are_equal() -> None:
    found = estimate(Tally(SURVEY, [480, 300, 220]), method="auto")
    assert found.choices[0].method in {"mle", "inv_p", "inv_n"}
    big = estimate(Tally(SURVEY, [480_000, 300_000, 220_000]), method="auto")  # no survey near these reaches a border
    assert big.choices[0].method == "mle"
    assert len(set(big.choices[0].errors.values())) == 1 or max(big.choices[0].errors.values()) == pytest.approx(
        min(big.choices[0].errors.values()), rel=1e-9
    )


def test_auto_chooses_for_each_group_and_leaves_out_the_empty_one() -> None:
    reports, rng = dominated(19, 1000), np.random.default_rng(2)
    flat = warner.simulate.reports_of_population(np.full(19, 1 / 19), 1000, reports.design, rng=rng)
    groups = ((1,), (2,), (3,))
    found = estimate(
        Tally(reports.design, [reports.counts, np.zeros(19, int), flat], by=("g",), groups=groups), method="auto"
    )
    assert [one.method for one in found.choices] == ["inv_p", "inv_n"]
    assert_allclose(found.shares[0], warner.inv_p(reports.counts, reports.design), atol=1e-15)
    assert np.isnan(found.shares[1]).all()
    assert_allclose(found.shares[2], warner.inv_n(flat, reports.design), atol=1e-15)
    assert "Auto chose inv_p in 1, inv_n in 1 of 2 groups" in found.text()
    assert "group by group: mle" in found.text()
    whole = estimate(Tally(reports.design, [reports.counts, flat], by=("g",), groups=groups[::2]), method="auto")
    assert whole.certificate is not None
    assert_array_equal(whole.shares, found.shares[[0, 2]])


def test_auto_can_be_repeated_and_seeded() -> None:
    reports = Tally(SURVEY, COUNTS)
    first, second = (estimate(reports, method="auto").choices for _ in range(2))
    assert first == second
    seeded = estimate(reports, method="auto", rng=np.random.default_rng(5)).choices
    assert seeded != first
    assert seeded == estimate(reports, method="auto", rng=np.random.default_rng(5)).choices


def test_auto_for_groups_of_a_channel_with_other_reports() -> None:
    found = estimate(Tally(KUK, [[30, 40, 30], [1, 20, 79]], by=("g",), groups=((1,), (2,))), method="auto")
    assert found.shares.shape == (2, 2)
    assert_allclose(found.shares.sum(axis=-1), 1)


def test_large_counts_are_written_in_full() -> None:
    big = Tally(RandomizedResponse(["yes", "no"], odds=(9, 1)), [12_345_678, 98_765_432])
    assert "12,345,678 'yes'" in repr(big)
    assert "  12,345,678 of 111,111,110  " in repr(estimate(big))
    assert '<td align="right">12,345,678 of 111,111,110</td>' in estimate(big)._repr_html_()


def test_what_notebooks_see() -> None:
    design = RandomizedResponse(["<script>", "b & c"], epsilon=1)
    page = estimate(Tally(design, [60, 40]))._repr_html_()
    assert "&lt;script&gt;" in page
    assert "b &amp; c" in page
    assert "<script>" not in page


@pytest.mark.parametrize(
    ("call", "error", "complaint"),
    [
        (
            lambda: estimate(Tally(SURVEY, COUNTS), method="bayes"),
            ValueError,
            f"one of {', '.join(METHODS)}, auto, or a function",
        ),
        (
            lambda: estimate(Tally(SURVEY, [0, 0, 0], missing=7)),
            ValueError,
            r"at least one report.*\(7 were missing, 0",
        ),
        (lambda: estimate(Tally(SURVEY, COUNTS)).table(level=95), ValueError, "level must be between 0 and 1"),
        (lambda: estimate(Tally(SURVEY, COUNTS)).to_frame("excel"), ValueError, "one of pandas, polars, pyarrow"),
        (
            lambda: estimate(Tally(RandomizedResponse(2, odds=(1, 1)), [1, 2])),
            ValueError,
            "must have an epsilon above 0",
        ),
        (lambda: estimate([1, 2, 3]), TypeError, "tally must be a Tally or a Pool, but got list"),  # type: ignore[arg-type]
        (
            lambda: estimate(Tally(SETS, [23, 15, 13, 6, 5], n=31), method="mle"),
            TypeError,
            "needs the reports themselves",
        ),
    ],
)
def test_bad_input(call: Any, error: type[Exception], complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        call()


def test_a_missing_group_is_not_shown_as_a_group_called_none() -> None:
    counts = [[30, 10, 10], [20, 20, 10]]
    groups = (("None",), (None,))
    found = estimate(Tally(RandomizedResponse(["a", "b", "c"], odds=(3, 1)), counts, by=("g",), groups=groups))
    rows = [line.split()[:2] for line in found.text().splitlines()[2:]]
    assert rows[::3] == [["None", "a"], ["(missing)", "a"]]
    assert found.compare("a", between=("None", None)).text().startswith("'a' in None against 'a' in (missing)")


def test_normalised_weights_are_shown_with_their_digits() -> None:
    survey = RandomizedResponse(["yes", "no"], odds=(3, 1))
    weighted = estimate(tally(["yes", "no"] * 300, survey, weights=[1 / 512] * 600))
    assert "from 1.2 weighted reports" in weighted.text()
    assert typeset(weighted).columns["reports"] == ["0.586 of 1.2"]
    assert typeset(weighted).columns["share (%)"] == ["50.00"]
    assert "weights count as 600.0 reports" in weighted.text()
    rare = tally(["yes"] + ["no"] * 599, survey, weights=[1 / 600] * 600)
    assert "0.00167 'yes'" in repr(rare)
    with pytest.raises(ValueError, match="rescale weights that are too small"):
        tally(["yes", "no"], survey, weights=[1e-200, 1e-200])
