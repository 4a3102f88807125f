"""Gallery: every script is short, runs, and draws the figure of its page."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from types import ModuleType

pytest.importorskip("matplotlib", reason="drawing is an extra, and not installed")
pytest.importorskip("formulaic", reason="regression is an extra, and not installed")

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples" / "gallery").glob("*.py"))


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_gallery", ROOT / "docs" / "make_gallery.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pages_of_the_gallery_are_made_from_its_scripts(gallery: ModuleType) -> None:
    assert sorted(gallery.GUIDES) == [script.stem for script in SCRIPTS]
    assert len(SCRIPTS) == 12
    made = {page.name: page.read_text(encoding="utf-8") for page in gallery.FOLDER.glob("*.md")}
    assert made == gallery.pages(), "run python docs/make_gallery.py"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_scripts_are_short_and_draw_the_figure_of_their_page(script: Path, gallery: ModuleType, tmp_path: Path) -> None:
    from matplotlib.image import imread

    assert len(script.read_text(encoding="utf-8").splitlines()) <= 15
    drawn = imread(gallery.draw(script.stem, tmp_path))
    shown = imread(gallery.FOLDER / "images" / f"{script.stem}.png")
    assert shown.shape == drawn.shape
    # Versions of Matplotlib may smooth edges otherwise; another figure differs by more.
    assert np.abs(shown - drawn).mean() < 0.02, "run python docs/make_gallery.py"
    assert drawn[:, :, :3].std() > 0.05  # not empty
