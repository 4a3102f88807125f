r"""regress, Regression: dependence of the true answers on covariates.

The likelihood of the reports is maximized: :math:`\sum_n w_n \log \sum_k L_{nk}\,\theta_k(x_n; b)`, with L the
probability of the report after each answer. Assumptions: given the true answer, a report depends on nothing else,
and respondents are independent of each other unless there are clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import starmap
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.inference.means import THEMSELVES, values_of
from warner.regression.adaptive_quadrature import RandomIntercepts
from warner.regression.data import model_data
from warner.regression.descriptions import interval_heading, paper_notes, quantity, sentences, subject
from warner.regression.families import check_options, linear_mean, specified, without_random_intercepts
from warner.regression.infinite_estimates import infinite_estimates
from warner.regression.likelihood import Likelihood
from warner.regression.linear import least_squares
from warner.regression.maxima import (
    Start,
    all_starts,
    maximum_likelihood,
    penalised_maximum,
    refuse_dependent,
    refuse_too_few,
    refuse_unidentified,
)
from warner.regression.mixed_models import (
    LARGEST_SPREAD,
    group_effects,
    group_notes,
    mixed_covariance,
    mixed_maximum,
    refuse_mixed,
    spread_between,
    with_effects,
)
from warner.regression.model_checks import check_model
from warner.regression.model_tests import criteria, nested_model_test, sensitivity_to_cheating, term_tests
from warner.regression.predictions import marginal_effects, predict_shares
from warner.regression.profiles import coefficient_limits, warn_of_better_optimum
from warner.regression.standard_errors import (
    checked_errors,
    clustered,
    coefficient_names,
    coefficient_notes,
    covariance,
    floor_of_strata,
)
from warner.regression.variance_floors import floor_notes, refuse_drawn_alone
from warner.reports.options import Columns, Reading, Sample
from warner.reports.samples import effective_number
from warner.results import Column, Estimates, Limits, StandardErrors, TableResult, coefficients
from warner.text import printable
from warner.typesetting import Printed, labels, plain_table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes

    from warner.arrays import Array, Label
    from warner.designs.contract import Design
    from warner.designs.exact import Number
    from warner.documents import Document
    from warner.regression.data import ModelData
    from warner.regression.families import Specification
    from warner.regression.infinite_estimates import InfiniteEstimate, Infinity
    from warner.regression.maxima import Maximum, Optimum
    from warner.regression.mixed_models import RandomEffects, Spread
    from warner.regression.model_checks import ModelCheck
    from warner.regression.model_tests import Criteria, ModelTests, RegressionSensitivity
    from warner.regression.predictions import Margins, Prediction
    from warner.regression.standard_errors import ClusterRobust
    from warner.regression.variance_floors import Floor
    from warner.reports.options import Codes, Conditions


@dataclass(frozen=True, eq=False, repr=False)
class Regression(TableResult):
    """Fitted regression: coefficients, standard errors, and how they were found."""

    model_data: ModelData  #: The data, with the terms of the model, and the respondents left out.
    specification: Specification  #: Which coefficients there are, and how shares follow from them.
    #: The estimates, in the order of ``specification.coefficients``; infinite, or NaN, where there is no finite one.
    coefficients: Array
    #: Coefficients that are all finite, and as good as the estimates, at which shares are evaluated. With random
    #: intercepts, the standard deviation of effects comes last.
    finite_coefficients: Array
    covariance: Array  #: Covariances of the estimates; NaN where they are not finite.
    errors: str  #: The kind of standard errors.
    penalty: str | None = None  #: "jeffreys" for a penalized estimate.
    log_likelihood: float | None = None  #: At the estimates; None for a linear model.
    gap: float = 0.0  #: What this maximum of the likelihood can still gain.
    #: All maxima that were found, the best first, with their log-likelihoods and how many starts ended there.
    optima: tuple[Optimum, ...] = ()
    tried: int = 0  #: The number of starts.
    rivals: tuple[Array, ...] = ()  #: The coefficients of the other maxima, the best first.
    #: The extent of the search, "proven" if no other coefficients have a higher likelihood, by proof; "first" if the
    #: first starts agreed; else "all".
    search: str = "all"
    infinity: Infinity | None = None  #: Which estimates lie at infinity.
    clustered: ClusterRobust | None = None  #: How errors and degrees of freedom follow from clusters of respondents.
    floor: Floor | None = None  #: Least covariances of the coefficients in strata of respondents who were drawn alone.
    starts: tuple[Array, ...] = ()  #: Where Newton's method began; empty if other starts than the usual were asked for.
    without_effects: float | None = None  #: With random intercepts, the largest log-likelihood without them.
    nodes: int = 0  #: Of the quadrature over the effects of groups; 0 without random intercepts.
    doubling: float = 0.0  #: By how much twice as many nodes change the log-likelihood.

    @property
    def people(self) -> int:
        """Number of respondents whose reports were used."""
        return self.model_data.observations.n

    @property
    def dropped(self) -> int:
        """Number of respondents left out: for a missing value, an invalid report or a weight of zero."""
        return self.model_data.missing + self.model_data.unknown + self.model_data.weightless

    @cached_property
    def likelihood(self) -> Likelihood:
        """Log-likelihood as a function of the coefficients."""
        rows, family, mapping = self.model_data.observations, self.specification.family, self.specification.mapping
        if self.model_data.groups is None:
            return Likelihood(rows, family, mapping)
        assert mapping is not None
        return RandomIntercepts(rows, family, mapping[:, :-1], self.model_data.groups.of_row, self.nodes)

    @cached_property
    def profile_likelihood(self) -> Likelihood:
        """Likelihood for profiles: its quadrature has the nodes that the largest likely spread requires."""
        if not isinstance(self.likelihood, RandomIntercepts):
            return self.likelihood
        return self.likelihood.for_spread(min(self.spread().high, LARGEST_SPREAD))

    @cached_property
    def effective(self) -> float | None:
        """Number of direct answers with the same information; None for linear models."""
        if self.log_likelihood is None:
            return None
        people = self.model_data.observations
        total = float(people.weight.sum())
        worth = float(effective_number(total, people.square.sum())) / total if people.sampling.weighted else 1.0
        return self.likelihood.effective(self.finite_coefficients) * worth

    @property
    def standard_errors(self) -> Array:
        """Standard error of each coefficient; NaN where it lies at infinity."""
        variance = np.diag(self.covariance)
        if self.floor is not None:
            variance = np.where(np.abs(variance) <= self.floor.rounding[: len(variance)], 0.0, variance)
        return np.sqrt(variance)

    @cached_property
    def freedom(self) -> Array | None:
        """Degrees of freedom of Student's t of each coefficient; None without clusters, for the normal distribution."""
        each = np.eye(len(self.finite_coefficients))
        return None if self.clustered is None else self.clustered.accuracy(each).freedom

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Warnings on intervals and p-values where reports carry little information, or clusters are few or unequal."""
        notes = (*coefficient_notes(self), *group_notes(self))
        if self.clustered is None:
            floored = self.accuracy(np.eye(len(self.finite_coefficients))).floored()[: len(self.coefficients)]
            names = zip(coefficient_names(self), floored & np.isfinite(self.coefficients), strict=True)
            return (*notes, *floor_notes([name for name, which in names if which]))
        return (*notes, *self.clustered.notes(coefficient_names(self), np.isfinite(self.coefficients)))

    def accuracy(self, slopes: Array) -> StandardErrors:
        """Return standard errors and degrees of freedom of quantities with these derivatives, (..., coefficients)."""
        if self.clustered is not None:
            return self.clustered.accuracy(slopes)
        variance = np.einsum("...i,ij,...j->...", slopes, self.finite_covariance, slopes)
        floor = None if self.floor is None else self.floor.errors(slopes, variance)
        return StandardErrors(np.sqrt(np.maximum(variance, 0.0)), None, floor)

    def raised(self, contrasts: Array) -> Array:
        """Return the covariances of contrasts, the columns of an array, at least those of the floor."""
        if self.clustered is not None:
            return self.clustered.raised(contrasts)
        covariance = contrasts.T @ self.finite_covariance @ contrasts
        return covariance if self.floor is None else self.floor.turned(contrasts).raised(covariance)

    @cached_property
    def finite_covariance(self) -> Array:
        """Covariances at `finite_coefficients`, without the directions in which the likelihood is flat."""
        if self.clustered is not None:
            return self.clustered.covariance
        if self.model_data.groups is not None and isinstance(self.likelihood, RandomIntercepts):
            return mixed_covariance(self.likelihood, self.finite_coefficients)
        if self.infinity is None:
            return self.covariance
        return covariance(self.likelihood, self.finite_coefficients, self.errors, flat=True)

    @cached_property
    def infinite(self) -> tuple[InfiniteEstimate, ...]:
        """Coefficients that have no finite estimate, with reasons in words."""
        return infinite_estimates(self)

    @cached_property
    def profile_starts(self) -> tuple[Array, ...]:
        """Starting points from which confidence limits by profiles are tried as well."""
        return self.starts or tuple(start.coefficients for start in all_starts(self.likelihood))

    def limits(self, level: float = 0.95, interval: str = "auto") -> Limits:
        """Return the interval of each coefficient; warn if a better optimum was found on the way."""
        limits, better = self._intervals(level, interval)
        warn_of_better_optimum(self, better)
        return limits

    def _intervals(self, level: float, interval: str) -> tuple[Limits, Array | None]:
        if (level, interval) not in self._limits:
            self._limits[level, interval] = coefficient_limits(self, level, interval)
        return self._limits[level, interval]

    @cached_property
    def _limits(self) -> dict[tuple[float, str], tuple[Limits, Array | None]]:
        return {}

    def better(self, level: float = 0.95) -> Regression:
        """Search for a higher likelihood along the profiles of all coefficients; return the fit itself if none."""
        _, better = coefficient_limits(self, level, interval="profile")
        if better is None:
            return self
        more = [Start("profile", better)]
        return fitted(self.model_data, self.specification, errors=self.errors, more=more)

    _rows_key = "coefficients"

    def _columns(self, level: float = 0.95, interval: str = "auto", *, odds: bool = False) -> list[Column]:
        """Return the columns, a row for each coefficient: answer by answer, the intercept before the other terms.

        With "auto", intervals are profiles where these are valid (not with sampling weights, clusters, strata or robust
        errors) and needed: where the reports tell more than 2,000 direct answers would, not for coefficients for which
        the profile confirms Wald's interval. The statistic is then the signed root of the likelihood ratio, so that
        interval and p-value agree. In clusters and strata that show less variance than the respondents in them, it is
        that of the larger variance if its p-value is larger. Of odds ratios, ``se`` is that of the ratio, by the delta
        method; ``statistic`` and ``p`` are those of the coefficient, whose distribution is nearer to normal.
        """
        if odds and self.specification.link != "logit":
            raise ValueError(f"odds must be left out for the link {self.specification.link!r}: it has no odds ratios")
        limits, names, b = self.limits(level, interval), self.specification.coefficients, self.coefficients
        transformed = np.exp if odds else np.asarray
        per_unit = np.where(np.isfinite(b), np.exp(b), np.nan) if odds else 1.0  # the derivative of what is shown
        low, high = transformed(limits.low), transformed(limits.high)
        limits = limits._replace(low=low, high=high, error=per_unit * self.standard_errors)
        named = {"term": (name.term for name in names), "answer": (name.answer for name in names)}
        table = coefficients(named, transformed(b), limits)
        name = "odds_ratio" if odds else "estimate"
        table = {name if key == "estimate" else key: column for key, column in table.items()}
        several = ["answer"] if len(set(table["answer"].tolist())) > 1 else []
        estimates = Estimates.of_table(table, name)
        return [
            *starmap(Column, table.items()),
            *(Column(heading=key, texts=partial(labels, table[key])) for key in (*several, "term")),
            *estimates.shown(quantity(self, odds=odds), interval_heading(limits.methods, level), unknown="any"),
        ]

    def _title(self, level: float = 0.95, interval: str = "auto", *, odds: bool = False) -> str:
        return f"{subject(self, odds=odds)}: {printable(self.model_data.formula)}"

    def _printed(self, *given: Any, **options: Any) -> Printed:
        """Return the table for a paper, with two lines of notes, and the caveats that belong to these coefficients."""
        notes = (*paper_notes(self, **options), *self._skipped_sentences())
        return super()._printed(*given, **options)._replace(notes=notes)

    def text(self, *given: Any, **options: Any) -> str:
        """Return the table for a terminal, with the evidence and the assumptions."""
        return plain_table(super()._printed(*given, **options))

    def _footnotes(self, level: float = 0.95, interval: str = "auto", *, odds: bool = False) -> list[str]:
        return sentences(self, level, self._intervals(level, interval)[0].methods, odds=odds)

    def _input_library(self) -> str | None:
        return self.model_data.backend

    def _skipped_files(self) -> Mapping[str, str]:
        return self.model_data.skipped_files

    def _facts(self, level: float = 0.95, interval: str = "auto", *, odds: bool = False) -> Document:
        data, specification = self.model_data, self.specification
        designs, groups = zip(data.labels, data.observations.designs, strict=True), data.groups
        values = None if specification.values is None else specification.values.tolist()
        infinite = [
            {"answer": answer, "term": term, "sign": np.sign(estimate), "reason": why}
            for answer, term, estimate, why in self.infinite
        ]
        return {
            "format": "warner regression",
            "version": 1,
            "formula": data.formula,
            "model": specification.model,
            "link": specification.link,
            "values": THEMSELVES if specification.of_answers_themselves else values,
            "reference": specification.reference,
            "designs": [{"name": name, "design": design.to_dict()} for name, design in designs],
            "people": self.people,
            "missing": data.missing,
            "missing_by": dict(data.without),
            "unknown": data.unknown,
            "weightless": data.weightless,
            "effective": self.effective,
            "log_likelihood": self.log_likelihood,
            "gap": self.gap,
            "optima": [optimum._asdict() for optimum in self.optima],
            "starts": self.tried,
            "search": self.search if self.optima else None,
            "errors": self.errors,
            "penalty": self.penalty,
            "clusters": None if self.clustered is None else self.clustered.clusters.number,
            "notes": self.notes,
            "level": level,
            "intercepts": None if groups is None else {**self.spread(level)._facts(), "nodes": self.nodes},
            "empty": self.specification.empty,
            "infinite": infinite,
            "odds": odds,
        }

    def spread(self, level: float = 0.95) -> Spread:
        """Estimate the standard deviation between groups, with its profile interval and the test of no differences.

        It needs random intercepts, and is on the scale of the coefficients.
        """
        if level not in self._spreads:
            self._spreads[level] = spread_between(self, level)
        return self._with_library(self._spreads[level])

    @cached_property
    def _spreads(self) -> dict[float, Spread]:
        return {}

    def effects(self, level: float = 0.95) -> RandomEffects:
        """Predict the effect of each group of the random intercepts, with intervals.

        Intervals have coverage on average over the groups: a group unlike the others is shrunk toward them.
        """
        return self._with_library(group_effects(self, level))

    def predict(
        self,
        profiles: Any = None,
        *,
        level: float = 0.95,
        target: str = "realised",
        interval: str = "auto",
        effects: str = "averaged",
    ) -> Prediction:
        """Predict the shares of all answers.

        Parameters
        ----------
        profiles : data frame, array or mapping of columns, optional
            Whose shares: a row for each profile. A mapping has columns of equal length, such as
            ``{"age": [20, 40], "region": ["north", "south"]}`` for two profiles, or single values that hold for all;
            of variables that it does not name, shares are means over the values that people have. Without profiles,
            the mean over all people.
        level : float
            Confidence level of the intervals.
        target : {"realised", "population"}
            Whether the errors of means are for these people, or for the population that they are a sample of.
        interval : {"auto", "profile", "wald"}
            Profile likelihood, or estimate and standard error on the scale of the log-odds. The default is as for
            `table`; for means over people, Wald intervals where the profile confirms them.
        effects : {"averaged", "median"}
            With random intercepts: shares on average over all groups, or those of the median group.

        Examples
        --------
        >>> from warner import RandomizedResponse
        >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
        >>> reports = {"answer": ["yes", "no"] * 2, "old": [0, 0, 1, 1], "people": [400, 600, 550, 450]}
        >>> regress("answer", reports, survey, on=["old"], counts="people").predict({"old": [0, 1]})
        Predicted shares
        old  answer  share (%)    se  95 % interval (%)
          0  yes         30.00  3.10     23.98 to 36.12
          1  yes         60.00  3.15     53.81 to 66.14
        N = 2,000 respondents.
        The share of 'no' is 100 % minus that of 'yes'.
        """
        fit = with_effects(self, effects, target)
        return self._with_library(predict_shares(fit, profiles, level, target, interval))

    def margins(
        self,
        variables: Iterable[str] | None = None,
        *,
        level: float = 0.95,
        target: str = "realised",
        interval: str = "auto",
        effects: str = "averaged",
    ) -> Margins:
        """Estimate average marginal effects: changes of shares with a variable, averaged over respondents.

        Of numbers it is the derivative; of a factor, and of zeros and ones, the difference to the first level.

        Parameters
        ----------
        variables : list of str, optional
            Columns of the data; all that the model uses, if not given.
        level : float
            Confidence level of the intervals.
        target : {"realised", "population"}
            Whether errors are for these people, or for the population that they are a sample of.
        interval : {"auto", "profile", "wald"}
            Profile likelihood, or estimate and standard error. By default the profile unless it confirms the other; it
            gives the p-values as well.
        effects : {"averaged", "median"}
            With random intercepts: changes on average over all groups, or those in the median group.
        """
        fit = with_effects(self, effects, target)
        return self._with_library(marginal_effects(fit, variables, level, target, interval))

    def compare(self, smaller: Regression) -> ModelTests:
        """Test a smaller model, with some terms left out, within this one.

        The likelihood ratio; Wald's test with sampling weights, clusters, strata, robust errors or linear shares. Both
        models must be of the same people, under the same designs.
        """
        return self._with_library(nested_model_test(self, smaller))

    def terms(self) -> ModelTests:
        """Test each term of the model, all its coefficients at once, with all others in the model."""
        return self._with_library(term_tests(self))

    def check(self) -> ModelCheck:
        """Check the fit of the model in cells of equal covariates and in groups of similar predictions.

        Cells of fewer than 5 respondents are listed, because a model can reveal single respondents there.
        """
        return self._with_library(check_model(self))

    def sensitivity(
        self, report: Label, shares: Sequence[Number] = (0, 0.05, 0.1, 0.2), *, level: float = 0.95
    ) -> RegressionSensitivity:
        """Show how the results depend on respondents who give a safe report regardless of the design.

        Parameters
        ----------
        report : str or int
            The report that gives nothing away: in most designs "no".
        shares : sequence of numbers
            Shares of such people to assume, each at least 0 and below 1. Of a share c, a report has the probabilities
            (1 - c) C + c [report = safe] instead of C, under every design that can give this report.
        level : float
            Confidence level of the intervals.
        """
        return self._with_library(sensitivity_to_cheating(self, report, shares, level))

    @cached_property
    def criteria(self) -> Criteria:
        """AIC, BIC, McFadden's pseudo R-squared, and the log-likelihood of equal shares for all respondents."""
        return criteria(self)

    def plot(
        self,
        against: str | None = None,
        *,
        level: float = 0.95,
        interval: str = "auto",
        odds: bool = False,
        title: str | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the coefficients, or the predicted shares `against` a covariate, with intervals; return the axes.

        Shares are means over all people, whose other covariates are as they are: lines with bands if the covariate
        holds numbers, else points. Options are those of `table`; `odds` labels coefficients with odds ratios.
        """
        from warner.output.regression_plots import regression_picture

        return regression_picture(self, against, level=level, interval=interval, odds=odds, title=title).plot(ax)

    def save_plot(self, path: str | os.PathLike[str], against: str | None = None, **options: Any) -> None:
        """Write the plot to a PNG, SVG or PDF file, atomically; options are those of `plot`."""
        from warner.output.regression_plots import regression_picture

        regression_picture(self, against, **options).save(path)


def regress(
    formula: str,
    data: Any,
    design: Design | Mapping[Any, Design] | None = None,
    *,
    by: str | None = None,
    on: Iterable[str] | None = None,
    X: Any = None,
    names: Sequence[str] | None = None,
    model: str = "multinomial",
    values: Any = None,
    link: str = "logit",
    reference: Label | None = None,
    weights: str | None = None,
    counts: str | None = None,
    clusters: str | None = None,
    strata: str | None = None,
    sampled: str | float | None = None,
    whole: bool = False,
    intercepts: str | None = None,
    errors: str | None = None,
    penalty: str | None = None,
    starts: int | None = None,
    unknown: str = "error",
    missing: Codes = (),
    sheet: str | None = None,
    encoding: str | None = None,
    decimal: str = ".",
    skip_bad_files: bool = False,
    where: Conditions = None,
) -> Regression:
    """Regress randomized answers on covariates that are known for each respondent.

    Parameters
    ----------
    formula : str
        ``"answer ~ age + C(region)"``: the column of reports, and the terms. With `on` or `X` the column of reports
        alone; of a tally, which has no such column, ``"~ age + C(region)"``.
    data : data frame, table, mapping of columns, path, Tally or Pool
        What `warner.tally` takes, or a tally that is grouped by the covariates.
    design : Design, or mapping of names to Design
        What every report went through; with `by`, the designs by the names that this column has. A direct question is a
        design that always tells the truth. A tally has its own.
    by : str, optional
        The column that names the design of each row.
    on : list of str, optional
        The covariates in the place of a formula's right side: numbers as they are, all else by its levels.
    X, names : array of shape (people, columns), and their names, optional
        Numbers in the place of covariates.
    model : {"multinomial", "ordered", "linear"}
        Log-odds of each answer against the reference (for two answers, those of the other one); ordered answers with
        common slopes, in the order of the domain; or shares that are linear themselves.
    values : mapping, sequence or "numbers", optional
        With the linear model: model the mean of these numbers, in their unit, and not the shares of the answers. A
        number for each answer, or ``"numbers"`` for answers that are numbers themselves.
    link : {"logit", "probit", "cloglog", "cauchit"}
        For two answers, and for ordered ones.
    reference : label, optional
        The answer that the others are compared with; the last one if not given.
    weights, counts, clusters, strata : str, optional
        Columns: sampling weights; number of respondents in each row; clusters and strata of the sample.
    sampled : str or float, optional
        The part of a stratum's clusters that was sampled, a column or a number: errors are then those for a finite
        population. Without clusters it is the part of the people; for that, and with `whole`, shares must be linear.
    whole : bool
        Whether all people of the sampled clusters were asked.
    intercepts : str, optional
        A column of groups, such as schools, that have an effect each: random intercepts, for two answers or ordered
        ones. A formula names it by a term, ``"cheated ~ age + (1 | school)"``.
    errors : {"observed", "expected", "opg", "robust"}, optional
        The kind of standard errors: robust with weights, clusters or strata, else from the observed information.
    penalty : {"jeffreys"}, optional
        A penalty that makes every estimate finite, and draws it toward equal shares.
    starts : int, optional
        How many random starts there are beside the others, and again about the best maximum that these lead to; 4 if
        not given, none with many rows. With 0 there is one search only, from equal shares for everybody, and no word on
        other maxima.
    unknown : {"error", "drop"}
        Treatment of invalid values.
    missing, sheet, encoding, decimal, skip_bad_files, where
        Codes of missing values, format of files, and columns whose values select the rows, as for `warner.tally`.

    Examples
    --------
    >>> from warner import RandomizedResponse, Tally
    >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
    >>> reports = {"answer": ["yes", "no"] * 2, "old": [0, 0, 1, 1], "people": [40, 60, 55, 45]}
    >>> fit = regress("answer", reports, survey, on=["old"], counts="people")
    >>> fit.coefficients.round(4)  # log(.3/.7), and log(.6/.4) less that
    array([-0.8473,  1.2528])

    With values, coefficients are differences of means: 30 % of one group would say yes, and 60 % of the other.

    >>> often = {"yes": 5, "no": 0}
    >>> regress("answer", reports, survey, on=["old"], counts="people", model="linear", values=often).coefficients
    array([1.5, 1.5])
    """
    check_options(model, link, penalty, errors, starts, values, reference)
    columns = Columns(by=by, where=where, weights=weights, counts=counts)
    reading = Reading(unknown, missing, sheet, encoding, decimal, skip_bad_files=skip_bad_files)
    sample, terms = Sample(strata, clusters, sampled, whole), {"on": on, "X": X, "names": names}
    data = model_data(formula, data, design, columns, reading, sample, **terms, intercepts=intercepts, values=values)
    domain = data.observations.designs[0].domain
    if data.groups is not None:
        refuse_mixed(data, model, data.observations.k, errors, penalty)
    if values is not None:
        return fitted_linear(data, linear_mean(data.terms, domain, values_of(domain, values)))
    specification = specified(data.terms, domain, model, link, reference)
    if model == "linear":
        return fitted_linear(data, specification)
    return fitted(data, specification, errors=errors, penalty=penalty, at_random=starts)


def fitted_linear(data: ModelData, specification: Specification) -> Regression:
    """Fit linear shares, or a linear mean number, by least squares."""
    refuse_too_few(data.observations, len(specification.coefficients))
    refuse_dependent(data.observations, data.terms.names)
    columns, n = len(data.terms.names), data.observations.n
    if n <= columns:  # no residuals are left
        raise ValueError(
            f"a linear model must have fewer columns than there are respondents, but has {columns} for {n}; "
            "leave some terms out"
        )
    result = least_squares(data.observations, specification)
    b, robust = result.coefficients, result.clustered
    covariances = result.covariance if robust is None else robust.known_covariance
    return Regression(data, specification, b, b, covariances, "robust", clustered=robust, floor=result.floor)


def fitted(
    data: ModelData,
    specification: Specification,
    *,
    errors: str | None = None,
    penalty: str | None = None,
    at_random: int | None = None,
    more: Sequence[Start] = (),
) -> Regression:
    """Fit a model by maximum likelihood from all starts and some further ones, or with a penalty."""
    kind = checked_errors(errors, data.observations)
    refuse_drawn_alone(data.observations)
    refuse_too_few(data.observations, len(specification.coefficients))
    refuse_dependent(data.observations, data.terms.names)
    if penalty is not None:
        kind = "expected" if errors is None and kind == "observed" else kind  # the penalty is that of F
        return _fitted_with_penalty(data, specification, kind, penalty)
    if data.groups is not None:
        return fitted_mixed(data, specification, at_random=at_random, more=more)
    specification, likelihood, maximum, starts = maximum_likelihood(data.observations, specification, at_random, more)
    b, infinity = maximum.best.coefficients, maximum.infinity
    flat = infinity is not None
    covariances, robust = _covariance_at(likelihood, b, kind, flat=flat)
    reported, floor = b, floor_of_strata(likelihood, b, flat=flat)
    if infinity is not None:
        reported = np.where(infinity.mask, infinity.signs, b)
        covariances = np.where(infinity.mask[:, np.newaxis] | infinity.mask, np.nan, covariances)
    found = _evidence(maximum) | {"starts": starts if at_random is None else ()}
    estimates = data, specification, reported, b, covariances, kind
    return Regression(*estimates, infinity=infinity, clustered=robust, floor=floor, **found)


def fitted_mixed(
    data: ModelData, specification: Specification, *, at_random: int | None = None, more: Sequence[Start] = ()
) -> Regression:
    """Fit a model with random intercepts by maximum likelihood; `more` starts have the standard deviation last."""
    assert data.groups is not None
    plain_model = maximum_likelihood(data.observations, without_random_intercepts(specification), at_random)
    specification, likelihood, maximum, starts, change = mixed_maximum(data.groups, plain_model, more)
    b = maximum.best.coefficients
    estimates = data, specification, b[:-1], b, mixed_covariance(likelihood, b)[:-1, :-1], "observed"
    found = _evidence(maximum) | {"starts": starts, "nodes": likelihood.nodes}
    return Regression(*estimates, without_effects=plain_model.maximum.best.value, doubling=change, **found)


def _evidence(maximum: Maximum) -> dict[str, Any]:
    found = {name: getattr(maximum, name) for name in ("optima", "tried", "rivals", "search")}
    return {"log_likelihood": maximum.best.value, "gap": maximum.best.gap, **found}


def _fitted_with_penalty(data: ModelData, specification: Specification, kind: str, penalty: str) -> Regression:
    likelihood = Likelihood(data.observations, specification.family, specification.mapping)
    null = next(all_starts(likelihood)).coefficients
    refuse_unidentified(likelihood, null, [str(name) for name in specification.coefficients])
    best = penalised_maximum(likelihood, null)
    b = best.coefficients
    covariances, robust = _covariance_at(likelihood, b, kind)
    estimates = data, specification, b, b, covariances, kind, penalty, best.value, best.gap
    return Regression(*estimates, tried=1, clustered=robust, floor=floor_of_strata(likelihood, b))


def _covariance_at(
    likelihood: Likelihood, b: Array, kind: str, *, flat: bool = False
) -> tuple[Array, ClusterRobust | None]:
    robust = clustered(likelihood, b, flat=flat)
    if robust is not None:
        return robust.known_covariance, robust
    return covariance(likelihood, b, kind, flat=flat), None
