"""Regression: how true answers depend on covariates, from reports that were randomized.

Its files::

    regressions         regress, Regression: coefficients with their evidence, as table, text and JSON
    regression_documents  a regression as a document for JSON
    specifications      which coefficients a model has: multinomial, ordered, linear
    families            shares from linear predictors: multinomial logit, two answers, cumulative link
    links               logit, probit, cloglog, cauchit
    likelihood          log-likelihood of coefficients; observed and expected information, outer products
    newton              Newton's method to a local maximum
    starts              starting values
    maxima              the global maximum from several starts; of ordered answers also where cutpoints meet
    infinite_estimates  estimates at infinity (separation): which, and why, in words
    identification      identification: enough people, columns of full rank, coefficients that reports tell apart
    jeffreys            Jeffreys' penalty
    least_squares       least squares of debiased outcomes, with robust errors
    linear_probability  linear probability model: debiased indicators as outcomes
    linear_means        linear model of a randomized number: scores of reports as outcomes
    debiased            debiased indicators of the answers
    scores              scores of reports: unbiased numbers, where answers stand for numbers
    standard_errors     standard errors: observed, expected, outer products, robust (sandwich)
    cluster_robust      cluster-robust covariance (CR2), Satterthwaite's degrees of freedom, Hotelling's T^2
    finite_populations  what a finite population takes away of errors, and what it does not
    variance_floors     what clusters and strata cannot remove of variances: floors of intervals and tests
    small_samples       effective sample size of a coefficient or share, and notes where it is too small
    adaptive_quadrature  the likelihood of groups with effects, by adaptive quadrature
    mixed_models        the most likely coefficients and spread of random intercepts, or why there are none
    random_effects      Spread, RandomEffects: how much groups differ, and the effect of each
    profiles            profile likelihood of coefficients and of log-odds
    intervals           confidence intervals of coefficients: profile likelihood or Wald
    mean_shares         means of shares over people, and their differences: delta method and intervals
    mean_profiles       profile likelihood of mean shares, by Lagrange duality
    predictions         Prediction: predicted shares of profiles, and means over people
    margins             Margins: average marginal effects
    model_tests         ModelTests: likelihood-ratio and Wald tests of terms and of smaller models
    model_checks        ModelCheck: goodness of fit by deviance and by Hosmer and Lemeshow's groups
    sensitivity         RegressionSensitivity: a model if some people give the safe report regardless
    covariates          columns with nothing missing, their levels, and those of new data
    terms               Terms: columns of data to the columns of a matrix, for new data as well
    formulas            Formula: read once, by formulaic where it does more than add columns
    data                Observations: identical people once; ModelData: data of any kind as a model takes them
    reports             reports to rows of the likelihood, each under its own design
    tallied             the same from a grouped tally
"""
