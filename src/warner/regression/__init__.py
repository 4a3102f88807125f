"""Who says yes: how answers depend on what else is known of people, from reports that were randomized.

Its files::

    families         shares from linear predictors: multinomial, two answers, ordered
    links            logit, probit, cloglog, cauchit
    likelihood       log-likelihood of coefficients, and three kinds of information
    newton           Newton's method to a maximum
    starts           where climbs begin
    maxima           the maxima that were found, and estimates at infinity
    searches         the search for the best maximum, of ordered answers also where cutpoints meet
    standard_errors  standard errors: observed, expected, outer products, robust
    cluster_robust   standard errors and degrees of freedom with few and unequal clusters: CR2, Satterthwaite
    jeffreys         Jeffreys' penalty
    linear           linear shares, by least squares of debiased numbers
    identification   enough people, columns that differ, coefficients that reports can tell apart
    specifications   which coefficients a model has
    regressions      regress, Regression
    records          a regression as JSON
    profiles         profile likelihood of coefficients and of log-odds
    intervals        intervals of coefficients: by profile, or by standard errors
    infinite         why an estimate lies at infinity, in words
    means            means of shares over people, and their differences: errors and intervals
    mean_profiles    profile likelihood of such means, by tilting the likelihood
    cautions         what must be said where reports tell little, of all people or of one term
    predictions      Prediction: shares of profiles, and means over people
    margins          Margins: average marginal effects
    model_tests      ModelTests: of terms and smaller models; AIC, BIC, McFadden
    model_checks     ModelCheck: a model against its cells, and groups of like predictions
    sensitivity      Sensitivities: a model if some give the safe report regardless
    covariates       columns of numbers, texts and truth values, from any library
    terms            Terms: columns of data to the columns of a matrix, for new data as well
    formulas         formulas, by formulaic, and the terms that they stand for
    data             Observations: identical people once; ModelData: data of any kind as a model takes them
    collapsing       people who are alike are one row, grouped where the data are
    reports          reports to rows of the likelihood, each under its own design
    tallied          the same from a grouped tally
    debiased         numbers that are right on average, whatever the answer is
"""
