"""The face of the project: what is public, what it costs to import, what the files beside the code say."""

from __future__ import annotations

import importlib.metadata
import inspect
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import warner

ROOT = Path(__file__).parent.parent

PUBLIC = {
    "warner": [
        "Certificate",
        "Channel",
        "ChannelOperator",
        "Check",
        "Estimate",
        "Fit",
        "Plan",
        "RandomizedResponse",
        "Tally",
        "certificate",
        "channel_mle",
        "check",
        "designs",
        "estimate",
        "honesty",
        "ibu",
        "inv",
        "inv_n",
        "inv_p",
        "load_design",
        "metrics",
        "mle",
        "plan",
        "pool",
        "simulate",
        "tally",
    ],
    "Channel": [
        "channel",
        "coarsened",
        "domain",
        "epsilon",
        "from_json",
        "in_words",
        "inputs",
        "k",
        "load",
        "outputs",
        "procedure",
        "randomize",
        "restricted",
        "save",
        "shown_epsilon",
        "then",
        "to_json",
        "total",
        "weights",
    ],
    "RandomizedResponse": [
        "channel",
        "coarsened",
        "domain",
        "epsilon",
        "from_json",
        "in_words",
        "k",
        "load",
        "odds",
        "outputs",
        "p",
        "q",
        "randomize",
        "restricted",
        "save",
        "shown_epsilon",
        "then",
        "to_json",
        "total",
    ],
    "Tally": [
        "backend",
        "by",
        "counts",
        "design",
        "effective",
        "from_json",
        "groups",
        "load",
        "missing",
        "reports",
        "save",
        "scaled",
        "squares",
        "to_json",
        "unknown",
    ],
    "Estimate": [
        "certificate",
        "choices",
        "compare",
        "design",
        "interval",
        "log_likelihood",
        "method",
        "name",
        "plot",
        "present",
        "shares",
        "table",
        "tally",
        "text",
        "to_dict",
        "to_frame",
        "to_json",
        "top",
    ],
    "Check": [
        "design",
        "epsilon_at_least",
        "fakes",
        "fits",
        "g2",
        "group_fits",
        "level",
        "misfits",
        "misfits_alone",
        "moved_by",
        "overall_p_value",
        "p_g2",
        "p_min",
        "p_value",
        "simulations",
        "tally",
        "text",
        "to_json",
    ],
    "Plan": [
        "advice",
        "delta",
        "design",
        "epsilon",
        "error",
        "errors",
        "found",
        "grid_epsilons",
        "grid_text",
        "half_width",
        "level",
        "people",
        "plot",
        "population",
        "power",
        "share",
        "shuffled_epsilon",
        "simultaneous",
        "smallest_share",
        "standard_error",
        "table",
        "target",
        "text",
        "to_json",
        "wanted",
        "worst_case",
    ],
    "designs": [
        "crosswise",
        "disguised",
        "forced_response",
        "kuk",
        "mangat",
        "mangat_singh",
        "mirrored",
        "triangular",
        "unrelated_question",
        "warner",
    ],
    "honesty": [
        "anchored_crosswise",
        "cheating_detection",
        "sensitivity",
        "stochastic_lie_detector",
        "unrelated_question",
    ],
    "metrics": [
        "kl_divergence",
        "negative_log_likelihood",
        "squared_error_mean",
        "squared_error_sum",
        "total_variation",
    ],
    "simulate": ["reports_of_people", "reports_of_population", "seeded_by", "uniform", "zipf"],
}


def test_the_public_names_are_frozen() -> None:
    assert warner.__all__ == PUBLIC["warner"]
    survey = warner.RandomizedResponse(2, epsilon=1)
    tally = warner.Tally(survey, [1, 2])
    channel = warner.Channel([[1, 0], [0, 1]], 2, 2)
    planned = warner.plan(survey, people=9)
    for value in (survey, channel, tally, warner.estimate(tally), warner.check(tally), planned):
        assert [name for name in dir(value) if not name.startswith("_")] == PUBLIC[type(value).__name__]
    for module in (warner.surveys, warner.noncompliance, warner.metrics, warner.simulate):
        short = module.__name__.removeprefix("warner.")
        own = [
            name
            for name, value in inspect.getmembers(module, inspect.isfunction)
            if value.__module__ == module.__name__
        ]
        assert [name for name in own if not name.startswith("_")] == PUBLIC[short]


def test_everything_public_is_documented() -> None:
    for name in warner.__all__:
        assert len(getattr(warner, name).__doc__) > 40


def test_importing_is_cheap() -> None:
    code = "import sys, warner; print([m for m in ('scipy.stats', 'matplotlib', 'pandas') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_versions_agree() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert warner.__version__ == declared == importlib.metadata.version("warner")
    assert f"## {declared}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_citation_names_the_paper() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == warner.__version__
    paper = citation["references"][0]
    assert paper["title"] == "Estimating the True Distribution of Data Collected with Randomized Response"
    assert [author["family-names"] for author in paper["authors"]][:2] == ["Pinzón", "ElSalamouny"]


def test_the_types_are_shipped() -> None:
    assert (Path(warner.__file__).parent / "py.typed").exists()


def test_the_example_runs_and_draws(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the example draws with Matplotlib, which is not installed")
    script = ROOT / "examples" / "drinking_survey.py"
    done = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True, check=True)
    assert "every week" in done.stdout
    assert (tmp_path / "drinking_survey.png").read_bytes().startswith(b"\x89PNG")
