"""Explanation: regression of an outcome on a randomized answer.

Its files::

    individual_data   individual-level data: outcome, covariates, reports of one or more questions of each person
    expanded_data     expanded data: a copy of all people for each answer that they may hold
    corrected_score   the corrected score: estimating equations with debiased weights
    joint_likelihood  joint maximum likelihood of report and outcome
    explanations      explain, Explanation
"""
