"""Text of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warner.designs.facts import full_symmetry
from warner.estimators import UNBIASED
from warner.planning.number_precision import SMALLEST_EPSILON
from warner.planning.precision import in_units, with_article
from warner.text import certainties, counted, enumerated, level_text, points, quoted, rounded_up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.designs.contract import Design, Device
    from warner.planning.plans import Plan
    from warner.planning.power import PowerPlan
    from warner.planning.tradeoffs import Tradeoff


PUBLISHED_EPSILONS = (1.1, 2.6)  # range in the table of docs/how-to/sample-size.md


def sentences(plan: Plan) -> Iterator[str]:
    """Sentences of a plan of shares; the first one answers the question."""
    yield " ".join([solution(plan), *_usual(plan)])
    yield design_sentence(plan.design)
    yield _interval(plan)
    yield from design_effect(plan)
    if plan.error < float("inf"):
        population = "the worst population" if plan.population is None else "this population"
        yield (
            f"Error of the unbiased shares (inv), as a root mean square over the answers: {capped(plan.error)} (for "
            f"{population}). The error of inv_p is never larger; mle and inv_n have no such guarantee."
        )
    yield _smallest_share(plan)
    if plan.errors:
        errors = ", ".join(f"{name} {100 * error:.3g}" for name, error in plan.errors.items())
        simulated = [name for name in plan.errors if name != UNBIASED]
        sources = [f"{UNBIASED} by its formula"] * (UNBIASED in plan.errors)
        sources += [f"{enumerated(simulated)} from simulated surveys, to a few percent"] * bool(simulated)
        yield f"Predicted errors in percentage points: {errors} ({', '.join(sources)})."
    if plan.shuffled_epsilon is not None:
        yield shuffled_sentence(plan.design, plan.shuffled_epsilon, plan.delta)
    yield from plan.advice


def solution(plan: Tradeoff) -> str:
    """Sentence that answers the question of a plan."""
    question, people = plan.question, counted(plan.people, "respondent", "respondents")
    about = question.about if question.share_asked is None else f" for a share of {share_text(question.share_asked)}"
    epsilon, measure = f"epsilon {plan.design.shown_epsilon()}", with_article(plan.measure)
    if plan.solved_for == "people":
        verb = "is" if plan.people == 1 else "are"
        return f"{people} {verb} needed for {measure} of {question.amount(plan.goal)}{about} at {epsilon}."
    if plan.solved_for == "epsilon":
        searched = plan.epsilon > SMALLEST_EPSILON
        smallest = "the smallest" if searched else "enough, and the smallest that is considered,"
        verb = "reaches" if plan.people == 1 else "reach"
        goal = f"{measure} of {question.amount(plan.goal)}{about}"
        return f"E{epsilon[1:]} is {smallest} with which {people} {verb} {goal}."
    verb = "gives" if plan.people == 1 else "give"
    reached = getattr(plan, plan.measure)
    if question.numbers is not None:
        nothing = ": nothing can be learned about it" if 2 * reached >= question.numbers.width else ""
        return f"{people} at {epsilon} {verb} {measure} of {in_units(reached)}{question.about}{nothing}."
    nothing = ": nothing can be learned about a single answer" if reached >= 1 and plan.measure == "half_width" else ""
    return f"{people} at {epsilon} {verb} {measure} of {capped(reached)}{about}{nothing}."


def _usual(plan: Plan) -> Iterator[str]:
    if plan.usual is not None:
        enough = f"{counted(plan.usual.people, 'respondent is', 'respondents are')} enough"
        if plan.solved_for != "people":
            enough = f"it is {capped(plan.usual.half_width)}"
        yield f"For an answer with a true share of {share_text(plan.usual.share)}, {enough}."


def design_sentence(design: Design, of: str = "Design") -> str:
    happens = ""
    if (symmetry := full_symmetry(design.law)) is not None:
        truth = "the truth is reported" if design.law.exclusive else "a report names the true answer"
        happens = f"; {truth} with probability {float(symmetry.p):.4g}, each other answer with {symmetry.base:.4g}"
    name = getattr(design, "name", "") or design.mechanism  # a survey design has a name
    return f"{of}: {name}, {design.k:,} answers, epsilon {design.shown_epsilon()}{happens}."


def epsilon_sentence(design: Device) -> str:
    """Sentence on the largest probability after a report, and on the epsilons of published surveys."""
    epsilon = design.epsilon
    means = f"{certainties(epsilon)}." if epsilon < float("inf") else "a report can show an answer with certainty."
    low, high = PUBLISHED_EPSILONS
    return f"What epsilon means: {means} Published surveys used epsilons from {low} to {high} for a question."


def _interval(plan: Plan) -> str:
    about = "an answer" if plan.answer is None else f"the answer {quoted(plan.answer)}"
    if not plan.worst_case:
        case = "as given" if plan.question.share is not None else "as in the population"
    else:
        case = "the worst case" if plan.population is None else "the widest interval in the population"
    intervals = "all intervals together" if plan.simultaneous else "each interval"
    return (
        f"Interval: ± {capped(plan.half_width)} for {about} with a true share of {share_text(plan.share)} ({case}), at "
        f"a confidence level of {level_text(plan.level)} for {intervals}; standard error {capped(plan.standard_error)}."
    )


def design_effect(plan: Tradeoff | PowerPlan) -> Iterator[str]:
    effect = plan.question.effect
    if effect is not None:
        drawn = "as given" if effect.pilot is None else "the sample is drawn like the pilot"
        yield (
            f"Design effect: {plan.design_effect:.3g} ({drawn}); the required sample size is that many times the "
            "size of a simple random sample."
        )


def _smallest_share(plan: Plan) -> str:
    power = level_text(plan.power)
    if plan.smallest_share > 1:
        return f"Smallest share: no answer, however common, stands out from the noise with probability {power}."
    about = "an answer"
    if plan.answer is not None and plan.design.law.symmetry is None:
        about = f"the answer {quoted(plan.answer)}"
    return (
        f"Smallest share: {about} stands out from the noise with probability {power} if "
        f"its true share is {share_text(plan.smallest_share)}."
    )


def shuffled_sentence(design: Design, central: float, delta: float | None) -> str:
    if central == design.epsilon:
        return f"Shuffled reports: no better than epsilon {design.shown_epsilon()} can be proven at delta {delta:g}."
    return (
        "Shuffled reports: if an honest shuffler mixes them, all of them together have a central epsilon of at most "
        f"{rounded_up(central, 4)} at delta {delta:g} (proven with the privacy blanket)."
    )


def capped(difference: float) -> str:
    """Difference in percentage points, or "more than 100".

    >>> capped(0.03), capped(12_500.0)
    ('3 percentage points', 'more than 100 percentage points')
    """
    return points(difference) if difference <= 1 else "more than 100 percentage points"


def share_text(share: float) -> str:
    """Share in percent with three significant digits."""
    return f"{100 * share:.3g} %"
