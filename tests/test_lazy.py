"""Libraries are loaded when they are first used."""

from __future__ import annotations

import sys

from warner.lazy import on_first_use


def test_a_library_is_loaded_when_something_of_it_is_asked_for() -> None:
    sys.modules.pop("colorsys", None)
    module = on_first_use("colorsys")
    assert "colorsys" not in sys.modules
    assert module.rgb_to_hls(0, 0, 0) == (0, 0, 0)
    assert "rgb_to_hls" in vars(module)  # and not asked for again
    assert "colorsys" in sys.modules
