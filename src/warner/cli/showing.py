"""`warner show` explains a design in plain words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warner.designs import load_design


def show(design: Annotated[Path, typer.Argument(help="A design file.")]) -> None:
    """Explain a design in plain words."""
    loaded = load_design(design)
    typer.echo(loaded.in_words())
    typer.echo(f"Fingerprint, the same on both sides if the design is: {loaded.fingerprint()}")
