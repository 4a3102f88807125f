"""Run the examples of pages, and copy the figures that they save to `docs/images`.

    python docs/make_figures.py start/quickstart how-to/regression

A figure is copied if the page shows it as `images/NAME`.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl

DOCS = Path(__file__).resolve().parent


def main(names: list[str]) -> None:
    """Run each page in a folder of its own, with the files of the examples."""
    mpl.rc_file(DOCS / "figures.mplstyle")
    mpl.use("Agg")
    for name in names:
        page = DOCS / f"{name}.md"
        with tempfile.TemporaryDirectory() as folder:
            for file in ("cheating.csv", "survey.json"):
                shutil.copy(DOCS.parent / "examples" / file, folder)
            os.chdir(folder)
            doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
            for figure in dict.fromkeys(re.findall(r"images/([\w-]+\.(?:png|svg))", page.read_text(encoding="utf-8"))):
                if Path(figure).exists():
                    shutil.copy(figure, DOCS / "images")
            os.chdir(DOCS)


if __name__ == "__main__":
    main(sys.argv[1:])
