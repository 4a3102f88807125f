"""Write the gallery: run each script of `examples/gallery`, and write its figure, its page and the list of all.

python docs/make_gallery.py
"""

from __future__ import annotations

import ast
import os
import runpy
import shutil
import tempfile
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

DOCS = Path(__file__).resolve().parent
FOLDER = DOCS / "gallery"
SCRIPTS = DOCS.parent / "examples" / "gallery"
HERO = "true_shares"  # of the landing page and the README, which has no style sheet for dark pages
GUIDES = {  # in the order of the gallery, with the guide of each
    "true_shares": "start/quickstart",
    "dice_survey": "tutorials/dice-survey",
    "sample_size": "how-to/sample-size",
    "epsilon_odds": "explanation/privacy",
    "crosswise_and_direct": "tutorials/dice-survey",
    "weekly_trend": "how-to/groups-and-trends",
    "regions": "how-to/groups-and-trends",
    "incomes": "how-to/numeric-answers",
    "regression_by_age": "how-to/regression",
    "noncompliance": "how-to/noncompliance",
    "mechanisms": "explanation/choosing-a-mechanism",
    "failing_check": "how-to/failed-check",
}


def heading(name: str) -> tuple[str, str]:
    """Return the title and the sentence of a script, which its docstring holds."""
    docstring = ast.get_docstring(ast.parse((SCRIPTS / f"{name}.py").read_text(encoding="utf-8")))
    title, _, sentence = str(docstring).partition(": ")
    return title, f"{sentence[0].upper()}{sentence[1:]}"


def draw(name: str, folder: Path) -> Path:
    """Run a script in a folder, and return its figure."""
    shutil.copy(DOCS.parent / "examples" / "cheating.csv", folder)
    before = Path.cwd()
    os.chdir(folder)
    try:
        with mpl.rc_context({"backend": "Agg"}, DOCS / "figures.mplstyle"):
            runpy.run_path(str(SCRIPTS / f"{name}.py"))
            plt.close("all")
    finally:
        os.chdir(before)
    return folder / f"{name}.png"


def darkened(figure: Path) -> Path:
    """Write a figure for dark pages beside it: lightness is reversed, hues stay. Return its path."""
    picture = plt.imread(figure)[:, :, :3]
    reversed_lightness = picture + 1 - picture.max(axis=2, keepdims=True) - picture.min(axis=2, keepdims=True)
    path = figure.with_stem(f"{figure.stem}_dark")
    plt.imsave(path, 0.07 + 0.93 * reversed_lightness.clip(0, 1))
    return path


def page(name: str) -> str:
    """Return the page of a script."""
    title, sentence = heading(name)
    return f"""# {title}

{sentence}

![{sentence}](images/{name}.png)

```{{literalinclude}} ../../examples/gallery/{name}.py
:language: python
```

See [](../{GUIDES[name]}.md).
"""


def index() -> str:
    """Return the list of all scripts, with their figures."""
    cards = [f"- [![{heading(name)[1]}](images/{name}.png)]({name}.md)\n  {heading(name)[0]}" for name in GUIDES]
    lines = ["# Gallery", "", "Each figure comes with the complete script that draws it.", "", "{.cards}", *cards, ""]
    return "\n".join([*lines, "```{toctree}", ":hidden:", "", *GUIDES, "```", ""])


def pages() -> dict[str, str]:
    """Return all pages by their names."""
    return {"index.md": index(), **{f"{name}.md": page(name) for name in GUIDES}}


if __name__ == "__main__":
    (FOLDER / "images").mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    for name in GUIDES:
        with tempfile.TemporaryDirectory() as folder:
            figure = draw(name, Path(folder))
            shutil.copy(figure, FOLDER / "images")
            if name == HERO:
                shutil.copy(darkened(figure), FOLDER / "images")
