"""Plans: the number of respondents, or the epsilon, that a survey needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warner import PowerPlan, SplitPlan
from warner import plan as planned
from warner.cli.delivering import deliver_text, refuse_overwriting
from warner.cli.designing import is_open, name_of, open_domain
from warner.cli.options import DesignGiven, number_or_column
from warner.cli.sources import Source
from warner.cli.values import arguments, generator, labels_in, number_grid, two_numbers, values_from_text
from warner.designs import OpenDomain, load_design
from warner.designs.labels import Labels, canonical, from_text
from warner.reports.options import Columns, Input

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.cli import commands
    from warner.reports.tallies import Pool, Tally

# Options that are arguments of `warner.plan` as they are
PLANNED_ALIKE = (
    "epsilon", "people", "half_width", "error", "share", "level", "simultaneous", "power", "population",
    "design_effect", "delta", "reference", "coefficient", "covariate", "alternative",
)  # fmt: skip
NOT_OF_OPEN_DOMAINS = (
    "mechanism", "quantity", "values", "half_width", "error", "answer", "simultaneous", "population", "pilot", "column",
    "design_effect", "delta", "seed", "lower", "upper", "plot", "mechanism_plot", "reference", "shares", "coefficient",
    "covariate", "other_design", "alternative",
)  # fmt: skip


def plan(options: commands.Plan) -> None:
    inputs = {"the list of answers": options.domain_file, "the design": options.design, "the pilot": options.pilot}
    inputs |= {"the population": options.population, "the other design": options.other_design}
    outputs = {"--output": options.output, "--plot": options.plot, "--mechanism-plot": options.mechanism_plot}
    refuse_overwriting(inputs, outputs)
    has_open_answers = is_open(options)
    answers = _answers(options, open_domain(options))
    if isinstance(answers, OpenDomain):
        defaults = {"quantity": "shares", "simultaneous": False}
        for name in ("epsilon", *NOT_OF_OPEN_DOMAINS):
            if getattr(options, name) != defaults.get(name) and not (has_open_answers and name == "epsilon"):
                option = {"lower": "from", "upper": "to"}.get(name, name).replace("_", "-")
                raise ValueError(f"--{option} is not for an open domain; give --people or --share, --level and --power")
        _deliver(planned(answers, **arguments(options, "people", "share", "level", "power")), options)
        return
    reports = _pilot(options)
    converted: Any = {
        "mechanism": None if options.mechanism is None else name_of(options.mechanism),
        "answer": None if options.answer is None else from_text([options.answer], _labels(answers))[0],
        "pilot": reports,
        "rng": generator(options.seed),
        "quantity": number_or_column(options.quantity),
        "values": None if options.values is None else values_from_text(options.values, _labels(answers)),
        "shares": None if options.shares is None else two_numbers("--shares", options.shares, "0.3,0.1"),
        "other_design": None if options.other_design is None else load_design(options.other_design),
    }
    result: Any = planned(None if reports else answers, **arguments(options, *PLANNED_ALIKE), **converted)
    if isinstance(result, SplitPlan) and (options.plot or options.mechanism_plot or options.grid):
        raise ValueError("--plot, --mechanism-plot and --grid are for one question")
    if isinstance(result, PowerPlan) and options.mechanism_plot is not None:
        raise ValueError("--mechanism-plot is not available for a test; --plot shows the power of other sample sizes")
    if options.plot is not None:
        result.save_plot(options.plot)
    if isinstance(result, PowerPlan | SplitPlan):
        _deliver(result, options)
        return
    compared = result.mechanisms
    if options.mechanism_plot is not None:
        if compared is None:
            raise ValueError(
                "--mechanism-plot needs a symmetric design, such as randomized response, and a finite epsilon"
            )
        compared.save_plot(options.mechanism_plot)
    _deliver(result, options, () if compared is None else (compared.text(),))


def _deliver(result: Any, options: commands.Plan, tables: Sequence[str] = ()) -> None:
    texts = [result.text(), *tables, *([result.grid_text()] if options.grid else [])]
    deliver_text(result.to_json() if options.as_json else "\n\n".join(texts), options.output)


def _answers(options: commands.Plan, domain: OpenDomain | None) -> Any:
    """Return the possible answers, their number or the design; raise an error unless exactly one is given."""
    numbers = None if domain is not None else number_grid(options.lower, options.upper, options.step)
    ways: dict[str, Any] = {"--size": options.size, "--from and --to": numbers, "--domain-file": options.domain_file}
    ways |= {"--design": options.design, "--letters, --bytes or --bits": domain}
    named = [way for way, value in ways.items() if value is not None]
    if len(named) != 1:
        got = " and ".join(named) or "none"
        raise ValueError(
            f"give the possible answers in one way (--size, --from and --to, --domain-file or --design), but got {got}"
        )
    if domain is not None or numbers is not None:
        return domain or numbers
    if options.design is not None:
        return load_design(options.design)
    return options.size if options.domain_file is None else labels_in(options.domain_file)


def _pilot(options: commands.Plan) -> Tally | Pool | None:
    if options.pilot is None:
        return None
    if options.design is None:
        raise ValueError("--pilot needs --design, the design of its reports")
    given = DesignGiven((str(options.design),))
    with Source([options.pilot], Input(Columns(column=options.column))).tallied(given) as pilot:
        return pilot


def _labels(answers: Any) -> Labels:
    """Return the labels of a design, a list of answers, or a number of them."""
    return getattr(answers, "domain", None) or canonical(answers)
