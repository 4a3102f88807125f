"""Explanation: regression of an outcome on a randomized answer.

Its files::

    people            people one by one: outcome, covariates, reports of one or more questions
    copies            copies of all people, one for each answer that they may hold
    corrected_score   the corrected score: estimating equations with debiased weights
    joint_likelihood  joint maximum likelihood of report and outcome
    explanations      explain, Explanation
"""
