"""`warner compare`: two samples of different people, from their saved tallies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cli.shell import run
from warner import RandomizedResponse, Tally, surveys
from warner.inference.sample_comparisons import compare_samples

if TYPE_CHECKING:
    from cli.shell import Prompt

DIRECT = Tally(RandomizedResponse(["yes", "no"], odds=(1, 0)), [20, 380])
DICE = Tally(surveys.forced_response(truth="3/4", yes="1/6"), [160, 440])


def test_two_samples_in_every_form(prompt: Prompt) -> None:
    DIRECT.save(prompt.folder / "direct.json")
    DICE.save(prompt.folder / "dice.json")
    asked = ("compare", "dice.json", "direct.json", "--answer", "yes", "--level", "0.9")
    found = compare_samples(DICE, DIRECT, "yes", level=0.9, names=("dice", "direct"))
    assert prompt.prints(*asked) == f"{found.text()}\n"
    assert json.loads(prompt.prints(*asked, "--json", "-o", "x.txt"))["p_value"] == found.p_value
    assert (prompt.folder / "x.txt").read_text() == f"{found.text()}\n"


def saved_days(prompt: Prompt) -> tuple[Tally, Tally]:
    """Save the tallies of two days, by country; the share of A changes."""
    browser = RandomizedResponse(["A", "B", "C"], odds=(6, 1))
    groups = (("FR",), ("IT",))
    days = [[[300, 150, 100], [200, 150, 100]], [[215, 150, 135], [215, 150, 135]]]
    tallies = [Tally(browser, counts, by=("country",), groups=groups) for counts in days]
    for name, counted in zip(("mon", "tue"), tallies, strict=True):
        counted.save(prompt.folder / f"{name}.json")
    return tallies[0], tallies[1]


def test_all_answers_of_two_days_in_every_form(prompt: Prompt) -> None:
    one, two = saved_days(prompt)
    asked = ("compare", "mon.json", "tue.json")
    found = compare_samples(one.aggregate(), two.aggregate(), names=("mon", "tue"))
    assert found.changed.tolist() == [True, False, True]
    assert prompt.prints(*asked) == f"{found.text()}\n"
    assert prompt.prints(*asked, "--rows", "1") == f"{found.text(rows=1)}\n"
    assert json.loads(prompt.prints(*asked, "--json", "-o", "x.json")) == found.to_dict()
    assert json.loads((prompt.folder / "x.json").read_text())["changed"] == ["A", "C"]
    discovery = compare_samples(one.aggregate(), two.aggregate(), names=("mon", "tue"), correction="bh", level=0.9)
    assert prompt.prints(*asked, "--correction", "bh", "--level", "0.9") == f"{discovery.text()}\n"
    mon, tue = (day.filter(country="FR").aggregate() for day in (one, two))
    french = compare_samples(mon, tue, names=("mon", "tue"))
    assert prompt.prints(*asked, "--where", "country=FR") == f"{french.text()}\n"


def test_two_groups_of_one_tally(prompt: Prompt) -> None:
    one, _ = saved_days(prompt)
    asked = ("compare", "mon.json", "--between")
    assert prompt.prints(*asked, "FR,IT") == f"{compare_samples(one, between=('FR', 'IT')).text()}\n"
    alone = compare_samples(one, answer="A", between=("FR", "IT"))
    assert prompt.prints(*asked, "FR", "--between", "IT", "--answer", "A", "--by", "country") == f"{alone.text()}\n"


def test_the_exit_code_is_an_alert_if_a_share_changed(prompt: Prompt) -> None:
    saved_days(prompt)
    days = ("compare", "mon.json", "tue.json")
    for more, code in (
        ((), 0),
        (("--exit-code",), 1),
        (("--exit-code", "--answer", "A"), 1),
        (("--exit-code", "--answer", "B"), 0),
        (("--exit-code", "--where", "country=IT", "--level", "0.9999"), 0),
    ):
        result = run(prompt.folder, *days, *more)
        assert (result.returncode, bool(result.stdout)) == (code, True), more


def test_wrong_samples(prompt: Prompt) -> None:
    DIRECT.save(prompt.folder / "direct.json")
    DICE.save(prompt.folder / "dice.json")
    saved_days(prompt)
    asked = ("compare", "dice.json", "direct.json")
    assert "but got 'Yess'; did you mean 'yes'?" in prompt.complains(*asked, "--answer", "Yess")
    assert "would be lost" in prompt.complains(*asked, "--answer", "yes", "-o", "direct.json")
    assert "a tally must say" in prompt.complains("compare", "survey.json", "direct.json", "--answer", "yes")
    assert "must be of different respondents, but both are" in prompt.complains("compare", "dice.json", "dice.json")
    assert "give two tallies, or one and --between" in prompt.complains("compare", "dice.json")
    assert "give two tallies, or one and --between" in prompt.complains(*asked, "--between", "a,b")
    assert "--by needs --between" in prompt.complains("compare", "mon.json", "tue.json", "--by", "country")
    assert "--by must name groups of the tally" in prompt.complains(
        "compare", "mon.json", "--by", "day", "--between", "a,b"
    )
    assert "country must be one of the tally's values, 'FR', 'IT', but got 'XX'" in prompt.complains(
        "compare", "mon.json", "tue.json", "--where", "country=XX"
    )
    assert '--correction must be "holm" or "bh"' in prompt.complains(*asked, "--correction", "none")
    assert "there is no group XX" in prompt.complains("compare", "mon.json", "--between", "FR,XX")
    rows = "school,answer\n" + "".join(f"{i % 9},{'yes' if i % 3 else 'no'}\n" for i in range(90))
    for name in ("one", "two"):
        (prompt.folder / f"{name}.csv").write_text(rows)
        prompt.prints(
            *("tally", f"{name}.csv", "--column", "answer", "--clusters", "school", "-o", f"{name}.json"),
            *("--domain", "yes,no", "--epsilon", "1"),
        )
    complaint = prompt.complains("compare", "one.json", "two.json")
    assert "samples with strata, clusters or replicate weights are compared in one answer: name it" in complaint
    assert "between=" not in complaint
    assert "against 'yes' in two" in prompt.prints("compare", "one.json", "two.json", "--answer", "yes")
