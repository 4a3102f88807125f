"""Explanation: regression of an outcome on a randomized answer.

Its files::

    people            people one by one: outcome, covariates, reports of one or more questions
    copies            copies of all people, one for each answer that they may hold
    corrected_score   the corrected score of an outcome that depends on a randomized answer
    joint_likelihood  the joint likelihood of report and outcome
    explanations      explain, Explanation
"""
