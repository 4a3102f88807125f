"""One HTML page with all figures, the claims, the settings and the running time. It loads nothing from anywhere."""

from __future__ import annotations

import base64
import platform
from dataclasses import asdict
from datetime import UTC, datetime
from html import escape
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from experiments.pinzon2026.misprints import MISPRINTS, MISPRINTS_NOTE
from warner.documents import save_text
from warner.output.pages import STYLE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from _typeshed import DataclassInstance

    from experiments.pinzon2026.scale import Scale
    from experiments.pinzon2026.verdicts import Claim

LIBRARIES = ("warner", "numpy", "scipy", "pyarrow", "joblib", "distributed", "matplotlib")
SECTIONS = {
    "overview-mse": "Overview: mean squared error",
    "overview-nll": "Overview: negative log-likelihood",
    "real": "Real data",
    "ibu": "MLE* against IBU",
    "overview-bias": "Overview: squared bias",
    "overview-variance": "Overview: variance",
    "complete-mse": "Complete results: mean squared error",
    "complete-nll": "Complete results: negative log-likelihood",
    "complete-bias": "Complete results: squared bias",
    "complete-variance": "Complete results: variance",
}
CLASS_OF_VERDICT = {
    "holds": "good",
    "yes": "good",
    "mostly": "fair",
    "holds with a correction": "fair",
    "does not hold": "poor",
    "no": "poor",
}
MORE_STYLE = """
body { max-width: 76rem; }
figure img { display: block; width: 100%; height: auto; background: #fff; border-radius: 4px; }
figcaption { color: var(--soft); max-width: 62rem; margin-top: .4rem; }
.claims td, .claims th { white-space: normal; text-align: left; vertical-align: top; overflow-wrap: break-word; }
.claims th { padding: .45rem .7rem; }
.claims { font-size: .93rem; }
.verdicts td:last-child { min-width: 7rem; font-weight: 600; }
.wide { max-height: none; }
.good { color: #00785a; } .fair { color: #9a5b00; } .poor { color: #b3392b; }
@media (prefers-color-scheme: dark) { .good { color: #35c99c; } .fair { color: #f0b153; } .poor { color: #ff8a75; } }
"""


TOY_REPRODUCTION_NOTE = (
    "This run has other settings than the published experiments, such as fewer configurations, answers or respondents: "
    "its verdicts are not about the paper."
)


def write(
    folder: Path,
    *,
    captions: Mapping[str, str],
    scale: Scale,
    seconds: Mapping[str, float],
    claims: list[Claim],
    findings: list[Claim],
    notes: list[str],
) -> Path:
    """Write the page from what is in the folder, and give its path."""
    parts = [_opening(scale, notes)]
    if claims:
        parts.append("<h2>The claims</h2>" + _table(claims))
        if findings:
            parts[-1] += "<h2>Beyond the paper</h2>" + _table(findings)
        parts.append(_misprints())
    for prefix, title in SECTIONS.items():
        names = [name for name in captions if name.startswith(prefix)]
        if names:
            parts.append(f"<h2>{title}</h2>" + "".join(embedded(folder, name, captions[name]) for name in names))
    parts.append(settings_and_versions(scale, seconds))
    return write_page(folder, "The paper, reproduced", parts)


def write_page(folder: Path, title: str, parts: list[str]) -> Path:
    """Write a page of these parts, in the style of all pages, and give its path."""
    body = "\n".join(parts)
    target = folder / "index.html"
    save_text(
        target,
        f"<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        f"<title>{title}</title>\n<style>{STYLE}{MORE_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>",
    )
    return target


def _opening(scale: Scale, notes: list[str]) -> str:
    listed = "".join(f"<li>{escape(note)}</li>" for note in notes)
    left_out = f"<p>What is missing on this page:</p><ul>{listed}</ul>" if notes else ""
    return (
        "<h1>Estimating the true distribution of data collected with randomized response, reproduced</h1><p "
        "class='facts'>The evaluation of C. A. Pinzón, E. ElSalamouny, L. Massot, A. Miller, H. H. Arcolezi and C. "
        "Palamidessi (AAAI 2026), computed anew: each statement that can be checked, and every figure.</p>"
        f"{f'<p><strong>{TOY_REPRODUCTION_NOTE}</strong></p>' if scale.toy else ''}<p>Each "
        "configuration has one truth, the realised histogram of its people, which is randomized afresh for each of "
        f"{scale.seeds} seeds. <em>Mean squared error</em> in the figures is a mean over the K answers, as in the "
        "published figures; squared bias and variance are sums over the answers. Figures stand beside this page as "
        f"PNG and SVG, all numbers as Parquet.</p>{left_out}"
    )


def _table(claims: list[Claim]) -> str:
    rows = "".join(
        f"<tr><td>{escape(claim.statement)}{_place(claim.place)}</td><td>{escape(claim.measured)}</td><td "
        f"class='{CLASS_OF_VERDICT.get(claim.verdict, '')}'>{escape(claim.verdict)}</td></tr>"
        for claim in claims
    )
    heads = "<th scope='col'>statement</th><th scope='col'>measured</th><th scope='col'>verdict</th>"
    table = f"<table class='claims verdicts'><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    return f"<div class='wide'>{table}</div>"


def _misprints() -> str:
    rows = "".join(f"<li>{escape(place)}: {escape(text)}</li>" for place, text in MISPRINTS)
    return f"<h2>Misprints</h2><p>{escape(MISPRINTS_NOTE)}</p><ul>{rows}</ul>"


def _place(place: str) -> str:
    return f"<br><span class='note'>{escape(place)}</span>" if place else ""


def embedded(folder: Path, name: str, caption: str) -> str:
    """Write a figure of the folder into the page itself, with its caption."""
    content = base64.b64encode((folder / "figures" / f"{name}.png").read_bytes()).decode()
    return (
        f"<figure id='{name}'><img loading='lazy' alt='{escape(caption, quote=True)}' "
        f"src='data:image/png;base64,{content}'><figcaption>{escape(caption)}</figcaption></figure>"
    )


def settings_and_versions(scale: DataclassInstance, seconds: Mapping[str, float]) -> str:
    """Write what it was made with: the settings, the running time and the versions."""
    settings = {name.replace("_", " "): _setting(value) for name, value in asdict(scale).items()}
    total = sum(seconds.values())
    times = {name: f"{taken:,.1f} s" for name, taken in seconds.items()} | {"together": f"{total:,.1f} s"}
    versions = {name: _version(name) for name in LIBRARIES} | {
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
    }
    return "".join(
        f"<h2>{title}</h2><dl>"
        + "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in lines.items())
        + "</dl>"
        for title, lines in (
            ("Settings", settings),
            ("Running time, over all runs of this folder", times),
            ("Versions", versions),
        )
    )


def _setting(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(_setting(entry) for entry in value)
    return value if isinstance(value, str) else f"{value:,}"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
