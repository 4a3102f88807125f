"""The example survey, collected: simulated respondents in a real browser, and pictures of what they and you see.

Run by ``make collect``. It needs Chromium, and Playwright to drive it. The first respondents click through the page;
the others use the page's own script to draw and send, which is the same but for the clicks.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

CLICKED, SIMULATED = 40, 1000  # respondents
SHARES = {"often": [0.55, 0.2, 0.15, 0.07, 0.03], "licence": [0.3, 0.7]}  # true shares of the simulated respondents
EXAMPLES = Path(__file__).parent
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
SEND = """async ([script, place, choices]) => {
  const { opened, body, deliver } = await import(script);
  const { survey } = JSON.parse(document.getElementById("warner-survey").textContent);
  const asked = await opened(survey);
  for (const [groups, answers] of choices) await deliver(`${place}/report`, body(asked, answers, groups));
}"""


def main() -> None:
    """Collect the example survey, and say where the pictures are."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sys.exit("make collect needs Playwright: pip install playwright")
    if chromium is None:
        sys.exit("make collect needs Chromium, which is not installed: apt install chromium")
    demo = Path("demo")
    demo.mkdir(exist_ok=True)
    for old in demo.glob("collected.db*"):
        old.unlink()
    command = [sys.executable, "-m", "warner", "collect", str(EXAMPLES / "survey.json"), "--rate", "0"]
    command += ["--database", str(demo / "collected.db"), "--port", "0", "--dashboard-port", "0"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
        sync_playwright() as playwright,
    ):
        try:
            survey, dashboard = _addresses(server)
            browser = playwright.chromium.launch(executable_path=chromium, args=OPTIONS)
            _collect(browser, survey, dashboard, demo)
            browser.close()
        finally:
            server.terminate()
    for name in (
        "page",
        "thanks",
        "dashboard-0",
        "dashboard-40",
        "dashboard-1000",
        "dashboard-closed",
        "phone",
        "dark",
    ):
        print(f"demo/collect-{name}.png")
    print("The counts are in demo/collected.db: warner estimate demo/collected.db --question often")


def _addresses(server: subprocess.Popen[str]) -> tuple[str, str]:
    """Read from what the command prints where the survey and the dashboard are."""
    found: dict[str, str] = {}
    for line in server.stdout or ():
        if match := re.match(r"(survey|dashboard)\s+(http\S+)", line):
            found[match[1]] = match[2]
        if len(found) == 2:
            return found["survey"], found["dashboard"]
    sys.exit("the survey could not be started")


def _collect(browser: Any, survey: str, dashboard: str, demo: Path) -> None:
    people = random.Random(1965)  # noqa: S311 - simulated respondents have no secrets
    watching = browser.new_page(viewport={"width": 1000, "height": 900})
    watching.goto(dashboard)
    watching.wait_for_load_state("networkidle")
    _picture(watching, demo, "dashboard-0")
    for number in range(CLICKED):
        _answer(browser, survey, people, demo if number == 0 else None)
    watching.wait_for_timeout(3000)
    _picture(watching, demo, "dashboard-40")
    page = browser.new_page()
    page.goto(survey)
    script = page.locator("script[type=module]").get_attribute("src")
    choices = [_held(people) for _ in range(SIMULATED - CLICKED)]
    page.evaluate(SEND, [script, survey, choices])
    page.close()
    watching.wait_for_timeout(3000)
    _picture(watching, demo, "dashboard-1000")
    for name, options in (
        ("phone", {"viewport": {"width": 320, "height": 640}}),
        ("dark", {"color_scheme": "dark", "viewport": {"width": 800, "height": 900}}),
    ):
        page = browser.new_page(**options)
        page.goto(survey)
        page.wait_for_selector("input")
        _picture(page, demo, name)
        page.close()
    watching.on("dialog", lambda dialog: dialog.accept())
    _close(watching)
    _picture(watching, demo, "dashboard-closed")


def _held(people: random.Random) -> tuple[list[int], list[int]]:
    """Invent a person: a region, the answer to the first question, and what the second makes of two answers."""
    often = people.choices(range(5), SHARES["often"])[0]
    licence, born = people.random() < SHARES["licence"][0], people.random() < 0.25
    return [people.randrange(2)], [often, int(licence != born)]


def _answer(browser: Any, survey: str, people: random.Random, demo: Path | None) -> None:
    """Answer as a person does, by clicking."""
    page = browser.new_page(viewport={"width": 800, "height": 900})
    page.goto(survey)
    page.wait_for_selector("input")
    groups, answers = _held(people)
    for field, choice in zip(page.locator("fieldset").all(), [*groups, *answers], strict=True):
        field.locator("label").nth(choice).click()
    if demo is not None:
        _picture(page, demo, "page")
    page.locator("button", has_text="Randomize and send").or_(page.locator("button[type=submit]")).first.click()
    page.wait_for_selector("text=Thank you")
    if demo is not None:
        _picture(page, demo, "thanks")
    page.close()


def _close(page: Any) -> None:
    page.locator("button", has_text="Close").first.click()
    page.wait_for_timeout(500)
    confirm = page.locator("dialog button", has_text="Close")
    if confirm.count():
        confirm.first.click()
    page.wait_for_timeout(3000)


def _picture(page: Any, demo: Path, name: str) -> None:
    page.screenshot(path=demo / f"collect-{name}.png", full_page=True)


if __name__ == "__main__":
    main()
