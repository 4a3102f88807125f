"""What `warner estimate` may be asked besides the shares: comparisons, the most common answers, who is there at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from warner.designs.labels import from_text

if TYPE_CHECKING:
    from warner.designs.labels import Labels
    from warner.estimation import Estimate
    from warner.results import Result


class FollowUps(NamedTuple):
    """What is asked besides the shares."""

    compare: Annotated[
        list[str] | None, typer.Option(help="Compare two answers, as a,b; may be given more than once.")
    ] = None
    between: Annotated[
        list[str] | None,
        typer.Option(
            help="Compare the answer of --compare between two groups, with --by: as a,b, or each after a --between of "
            "its own."
        ),
    ] = None
    test: Annotated[str, typer.Option(help="The exact test for --between: barnard or fisher.")] = "barnard"
    commonest: Annotated[
        int | None,
        typer.Option(help="Name the answers that are certainly among the COUNT most common.", metavar="COUNT"),
    ] = None
    present: Annotated[bool, typer.Option("--present", help="Name the answers that somebody certainly holds.")] = False

    @property
    def asked(self) -> bool:
        """Whether there is anything to answer."""
        return bool(self.compare) or self.commonest is not None or self.present

    def answered(self, estimate: Estimate, level: float, target: str) -> dict[str, Result | list[Result]]:
        """Ask the estimate; the answers are under their names in JSON."""
        groups = _groups(self.between, estimate.tally.group_names()) if self.between else None
        pairs = [_pair(text, estimate.tally.domain, groups) for text in self.compare or ()]
        answers: dict[str, Result | list[Result]] = {}
        if pairs:
            answers["comparisons"] = [
                estimate.compare(*labels, between=groups, level=level, target=target, test=self.test)
                for labels, groups in pairs
            ]
        if self.commonest is not None:
            answers["top"] = estimate.commonest(self.commonest, level=level, target=target)
        if self.present:
            answers["present"] = estimate.present(level=level)
        return answers


def _groups(between: list[str], names: list[str]) -> tuple[str, str]:
    """Read two groups: given one by one, exactly; or as `a,b`, where either may itself hold commas and spaces."""
    if len(between) == 2:
        return between[0], between[1]
    parts = between[0].split(",")
    cuts = [(",".join(parts[:i]), ",".join(parts[i:])) for i in range(1, len(parts))]
    stripped = [(first.strip(), second.strip()) for first, second in cuts]
    known = [pair for pair in dict.fromkeys([*cuts, *stripped]) if all(name in names for name in pair)]
    if len(between) > 2 or (len(cuts) != 1 and len(known) != 1):
        raise ValueError(
            f"--between must name two groups, as a,b or each after its own --between, but got {', '.join(between)!r}"
        )
    return (known or stripped)[0]


def _pair(text: str, domain: Labels, between: tuple[str, str] | None) -> tuple[tuple[Any, ...], Any]:
    """Read `a,b` as two answers, which may hold commas themselves; or one answer, and two groups."""
    if between is not None:
        return tuple(from_text([text], domain)), between
    parts = text.split(",")
    cuts = [(",".join(parts[:i]).strip(), ",".join(parts[i:]).strip()) for i in range(1, len(parts))]
    read = [tuple(from_text(list(cut), domain)) for cut in cuts]
    known = [pair for pair in read if all(label in domain for label in pair)]
    if len(cuts) != 1 and len(known) != 1:
        raise ValueError(f"--compare must name two answers, as a,b, but got {text!r}")
    return (known or read)[0], None
