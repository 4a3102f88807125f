"""Plots and HTML reports: results for readers.

Its files::

    group_plots        caterpillar plots, and trends that were pooled
    estimate_plots     plots of estimates
    plan_plots         plots of plans, and of mechanisms
    regression_plots   plots of regressions: coefficients, and shares against a covariate
    canvas             figures and picture files
    pages              one self-contained HTML page of an estimate, or of pooled groups
    discovery_pages    plots and the page of a discovery
"""
