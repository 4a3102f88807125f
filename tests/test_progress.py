"""Messages about long computations: none of short ones, counts of steps of long ones."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from cases import DICE
from warner import progress, regress
from warner.progress import steps

if TYPE_CHECKING:
    import pytest


def test_short_computations_log_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, progress.LOGGER):
        assert list(steps([3, 1, 2], "sums")) == [3, 1, 2]
    assert not caplog.records


def test_long_computations_log_how_many_steps_are_done(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = iter([0.0, 1.0, 2.5, 3.0, 4.6])
    monkeypatch.setattr(progress, "monotonic", lambda: next(seconds))
    with caplog.at_level(logging.INFO, progress.LOGGER):
        list(steps("abcd", "sums"))
    assert caplog.messages == ["sums: 1 of 4", "sums: 3 of 4"]


def test_regressions_log_their_starts_and_intervals(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN", 0.0)
    data = {"answer": ["yes", "no", "no"] * 60, "x": [1.0, 2.0, 3.0, 4.0, 5.5] * 36}
    with caplog.at_level(logging.INFO, progress.LOGGER):
        fit = regress("answer ~ x", data, DICE)
        fit.table(interval="profile")
        fit.margins(["x"], interval="profile")
        fit.predict({"x": [0.0, 1.0]})
    assert "starts: 0 of 6" in caplog.messages
    assert "confidence intervals: 1 of 2" in caplog.messages
    assert "marginal effects: 0 of 1" in caplog.messages
    assert "predictions: 1 of 2" in caplog.messages
