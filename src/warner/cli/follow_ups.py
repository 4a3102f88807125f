"""Follow-up questions to `warner estimate`: means, quantiles, totals, comparisons, common answers, who is there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from warner.cli.numbers import values_from_text
from warner.designs.labels import from_text

if TYPE_CHECKING:
    from warner.designs.labels import Labels
    from warner.documents import Document
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
            help="Compare the answer of --compare, or the means of --mean, between two groups, with --by: as a,b, or "
            "each after a --between of its own."
        ),
    ] = None
    test: Annotated[str, typer.Option(help="The exact test for --between: barnard or fisher.")] = "barnard"
    commonest: Annotated[
        int | None,
        typer.Option(help="Name the answers that are certainly among the COUNT most common.", metavar="COUNT"),
    ] = None
    present: Annotated[bool, typer.Option("--present", help="Name the answers that somebody certainly holds.")] = False
    mean: Annotated[bool, typer.Option("--mean", help="Give the mean of answers that are numbers.")] = False
    standard_deviation: Annotated[
        bool, typer.Option("--standard-deviation", help="Give the standard deviation of answers that are numbers.")
    ] = False
    median: Annotated[bool, typer.Option("--median", help="Give the median of answers that are numbers.")] = False
    quantile: Annotated[
        list[float] | None,
        typer.Option(help="Give a quantile, such as 0.9, of answers that are numbers; may be given more than once."),
    ] = None
    quantile_method: Annotated[
        str | None,
        typer.Option(
            help="With --median and --quantile: smooth gives approximate intervals, narrower on a fine grid, which "
            "assume that neighbouring numbers are about equally common. If not given, nothing is assumed."
        ),
    ] = None
    above: Annotated[
        list[float] | None,
        typer.Option(help="Give the share of people above this number; may be given more than once."),
    ] = None
    below: Annotated[
        list[float] | None,
        typer.Option(help="Give the share of people below this number; may be given more than once."),
    ] = None
    within: Annotated[
        list[str] | None,
        typer.Option(
            help="Give the share of people from one number to another, both included, as 18,25; may be given more than "
            "once.",
            metavar="LEAST,MOST",
        ),
    ] = None
    totals: Annotated[
        bool,
        typer.Option(
            "--totals",
            help="Give the number of people with each answer, or with --values the total of a number: from "
            "--population, or from weights that say how many people a report stands for.",
        ),
    ] = False
    population: Annotated[
        list[float] | None,
        typer.Option(
            help="The number of all people, for --totals; with --by once for each group, in their order.",
            metavar="NUMBER",
        ),
    ] = None
    values: Annotated[
        str | None,
        typer.Option(
            help="The number that each answer stands for, such as never=0,once=1, for means, quantiles, shares beyond "
            "a number and --totals."
        ),
    ] = None

    @property
    def asked(self) -> bool:
        """Whether there is anything to answer."""
        return bool(self.about_answers) or self.about_numbers or self.totals

    @property
    def about_numbers(self) -> bool:
        """Whether there is anything to answer about the numbers that answers are or stand for."""
        beyond = bool(self.above or self.below or self.within)
        return self.mean or self.standard_deviation or self.median or bool(self.quantile) or beyond

    @property
    def about_answers(self) -> list[str]:
        """The options that ask about answers, which no table of quantities has rows for."""
        given = {"--compare": self.compare, "--commonest": self.commonest is not None, "--present": self.present}
        return [option for option, asked in given.items() if asked]

    def refuse_contradictions(self) -> None:
        """Refuse options that need others."""
        if self.between and not (self.compare or self.mean):
            raise ValueError("--between needs --compare with the answer to compare, or --mean")
        if self.quantile_method is not None and not (self.median or self.quantile):
            raise ValueError("--quantile-method needs --median or --quantile")
        if self.population and not self.totals:
            raise ValueError("--population needs --totals, which it is the number of people of")
        if self.values is not None and not (self.about_numbers or self.totals):
            raise ValueError(
                "--values needs --mean, --standard-deviation, --median, --quantile, --above, --below, --within or "
                "--totals"
            )

    def answered(
        self, estimate: Estimate, level: float, target: str, *, anytime: bool = False
    ) -> dict[str, Result | list[Result]]:
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
        return answers | self._about_numbers(estimate, {"level": level, "target": target}, groups, anytime=anytime)

    def _about_numbers(
        self, estimate: Estimate, asked: Document, groups: tuple[str, str] | None, *, anytime: bool
    ) -> dict[str, Result | list[Result]]:
        values = None if self.values is None else values_from_text(self.values, estimate.tally.domain)
        answers: dict[str, Result | list[Result]] = {}
        if self.mean:
            answers["mean"] = estimate.mean(values, anytime=anytime, **asked)
        if self.standard_deviation:
            answers["standard_deviation"] = estimate.standard_deviation(values, **asked)
        if self.mean and groups is not None:
            answers["difference"] = estimate.compare_means(groups, values, **asked)
        if taus := [0.5] * self.median + (self.quantile or []):
            how = {"anytime": anytime, "method": self.quantile_method, **asked}
            try:
                answers["quantiles"] = [estimate.quantile(tau, values, **how) for tau in taus]
            except ValueError as error:  # --method is that of the shares
                raise ValueError(re.sub(r"^method\b", "quantile_method", str(error))) from None
        beyond: list[dict[str, Any]] = [{"above": number} for number in self.above or ()]
        beyond += [{"below": number} for number in self.below or ()]
        beyond += [{"within": _two_numbers(text)} for text in self.within or ()]
        if beyond:
            answers["shares"] = [estimate.interval(values=values, anytime=anytime, **one, **asked) for one in beyond]
        if self.totals:
            people = self.population[0] if self.population and len(self.population) == 1 else self.population
            answers["totals"] = estimate.totals(people, values, level=asked["level"])
        return answers


def _two_numbers(text: str) -> tuple[float, float]:
    """Read `18,25` as two numbers."""
    try:
        least, most = map(float, text.split(","))
    except ValueError:
        raise ValueError(f"--within must be two numbers, as 18,25, but got {text!r}") from None
    return least, most


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
