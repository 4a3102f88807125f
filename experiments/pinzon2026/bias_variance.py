"""Bias and variance apart: the overview and the complete results once more, for the two parts of the squared error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.pinzon2026 import complete, overview

if TYPE_CHECKING:
    from experiments.pinzon2026.drawing import Figures
    from experiments.pinzon2026.grid import Grid, ZipfSurvey
    from experiments.pinzon2026.scale import Scale

ERROR_PARTS = ("bias", "variance")


def wanted(scale: Scale) -> list[ZipfSurvey]:
    """List the configurations that the figures need."""
    return sorted({*overview.wanted(scale), *complete.wanted(scale)})


def figures(grid: Grid, scale: Scale) -> Figures:
    """Draw squared bias and variance both ways, and their grids of panels."""
    return overview.figures(grid, scale, ERROR_PARTS) | complete.figures(grid, scale, ERROR_PARTS)
