"""Regression: how true answers depend on covariates, from reports that were randomized.

Its files::

    regressions          regress, Regression: coefficients with their evidence, as table, text and JSON
    descriptions         sentences of a regression: subject, headings, evidence and assumptions
    families             shares from linear predictors: multinomial logit, two answers, cumulative link
    likelihood           log-likelihood of coefficients; observed and expected information, outer products
    newton               Newton's method to a local maximum
    maxima               global maximum from several starts; for ordered answers also with merged cutpoints
    infinite_estimates   estimates at infinity (separation), and their reasons
    linear               least squares of debiased outcomes, with robust errors
    scores               unbiased scores of reports, and debiased indicators of answers
    standard_errors      standard errors: observed, expected, outer products, robust, cluster-robust
    variance_floors      least variances in complex samples, and variances in finite populations
    adaptive_quadrature  likelihood of random intercepts by adaptive quadrature
    mixed_models         maximum likelihood of random intercepts, their spread and effects
    profiles             profile likelihood of coefficients and of log-odds
    mean_shares          mean shares and their differences: delta method and profile likelihood
    predictions          Prediction, Margins: predicted shares and average marginal effects
    model_tests          ModelTests: likelihood-ratio and Wald tests of terms and of smaller models; sensitivity
    model_checks         ModelCheck: goodness of fit by deviance and by Hosmer and Lemeshow's groups
    formulas             formulas and terms: columns of data to columns of a design matrix
    data                 Observations, ModelData: data of any kind as the data of a model
    reports              reports to rows of the likelihood, each under its own design
"""
