"""Explanation: regression of an outcome on a randomized answer.

Its files::

    explanations       explain, Explanation
    corrected_score   the corrected score: estimating equations with debiased weights
    joint_likelihood  joint maximum likelihood of report and outcome
"""
