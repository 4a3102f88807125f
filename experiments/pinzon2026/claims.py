"""Claims of the paper, each with the measurement and a verdict.

Every verdict is computed from the results in the folder; nothing is taken from the paper but its statements.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from experiments.pinzon2026.arithmetic_claims import arithmetic_claims
from experiments.pinzon2026.bias_claims import bias_claims, bias_finding
from experiments.pinzon2026.iteration_claims import iteration_claims
from experiments.pinzon2026.misprints import MISPRINTS, MISPRINTS_NOTE
from experiments.pinzon2026.ranking_claims import combination_findings, plain_inversion_finding, ranking_claims
from experiments.pinzon2026.real_claims import real_claims
from experiments.pinzon2026.speed_claims import growth_claims, race_claims, solver_findings
from experiments.pinzon2026.theory_claims import theory_claims
from experiments.pinzon2026.timing import Timings
from experiments.pinzon2026.verdicts import CORRECTED, FAILS, HOLDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from experiments.pinzon2026.grid import Grid
    from experiments.pinzon2026.iteration import Descent, Trajectory
    from experiments.pinzon2026.real import Real
    from experiments.pinzon2026.verdicts import Claim


@dataclass(frozen=True)
class ExperimentResults:
    """All results that the claims are judged by; what is empty leaves its claims out.

    Attributes
    ----------
    grid : dict
        What the estimators did, in each configuration of the grid.
    real : dict
        The same, by dataset.
    trajectories : mapping
        How IBU came near, in each setting.
    checks : mapping
        The numbers that each check of a theorem gave.
    timings : Timings
        How long it took.
    """

    grid: Grid = field(default_factory=dict)
    real: Real = field(default_factory=dict)
    trajectories: Mapping[Descent, Trajectory] = field(default_factory=dict)
    checks: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    timings: Timings = field(default_factory=Timings)


def paper_claims(evidence: ExperimentResults) -> list[Claim]:
    """Judge every statement that the evidence has something to say on."""
    return [
        *ranking_claims(evidence.grid),
        *bias_claims(evidence.grid),
        *real_claims(evidence.real),
        *theory_claims(evidence.checks),
        *growth_claims(evidence.timings.growth),
        *iteration_claims(evidence.trajectories),
        *race_claims(evidence.timings.races),
        *arithmetic_claims(),
    ]


def further_findings(evidence: ExperimentResults) -> list[Claim]:
    """Measure what the paper does not say, but its readers may want to know."""
    findings: list[Claim] = []
    if evidence.grid:
        findings += [plain_inversion_finding(evidence.grid), bias_finding(evidence.grid)]
    return [*findings, *combination_findings(evidence.grid), *solver_findings(evidence.timings.races)]


def markdown(claims: list[Claim], findings: list[Claim], note: str) -> str:
    """Write the claims as a Markdown page."""
    counts = {word: sum(claim.verdict == word for claim in claims) for word in (HOLDS, CORRECTED, FAILS)}
    summary = ", ".join(
        f"{number} {word.replace('holds', 'hold').replace('does not', 'do not')}" for word, number in counts.items()
    )
    lines = [
        "# The claims of the paper, checked",
        "",
        "C. A. Pinzón et al., *Estimating the True Distribution of Data Collected with Randomized Response*, 2026.",
        f"{len(claims)} statements: {summary}.",
        "",
        note,
        "",
        "| statement | where | measured | verdict |",
        "| --- | --- | --- | --- |",
        *(_row(claim.statement, claim.place, claim.measured, f"**{claim.verdict}**") for claim in claims),
    ]
    if findings:
        lines += ["", "## Beyond the paper", "", "| question | measured | answer |", "| --- | --- | --- |"]
        lines += [_row(finding.statement, finding.measured, f"**{finding.verdict}**") for finding in findings]
    lines += ["", "## Misprints", "", MISPRINTS_NOTE, ""]
    lines += [f"- {place}: {text}" for place, text in MISPRINTS]
    return "\n".join(lines)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
