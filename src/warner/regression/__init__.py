"""Regression: how true answers depend on covariates, from reports that were randomized.

Its files::

    regressions        regress, Regression: coefficients with their evidence, as table, text and JSON
    descriptions       a regression in words: its subject, headings, and what the coefficients rest on
    families           shares from linear predictors: multinomial logit, two answers, cumulative link
    likelihood          log-likelihood of coefficients; observed and expected information, outer products
    newton              Newton's method to a local maximum
    maxima              the global maximum from several starts; of ordered answers also where cutpoints meet
    infinite_estimates  estimates at infinity (separation): which, and why, in words
    jeffreys            Jeffreys' penalty
    linear             least squares of debiased outcomes, with robust errors
    scores             scores of reports: unbiased numbers, where answers stand for numbers
    standard_errors    standard errors: observed, expected, outer products, robust (sandwich)
    variance_floors    what clusters and strata cannot remove of variances: floors of intervals and tests
    adaptive_quadrature  the likelihood of groups with effects, by adaptive quadrature
    mixed_models       the most likely coefficients and spread of random intercepts, or why there are none
    profiles           profile likelihood of coefficients and of log-odds
    mean_shares        means of shares over people, and their differences: delta method and intervals
    predictions        Prediction: predicted shares of profiles, and means over people
    model_tests        ModelTests: likelihood-ratio and Wald tests of terms and of smaller models
    model_checks        ModelCheck: goodness of fit by deviance and by Hosmer and Lemeshow's groups
    formulas           Formula: read once, by formulaic where it does more than add columns
    data               Observations: identical people once; ModelData: data of any kind as a model takes them
    reports             reports to rows of the likelihood, each under its own design
"""
