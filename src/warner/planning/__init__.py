"""Planning a survey: how many people, which epsilon, and how precise the answer will be.

Its files::

    plans              plan, Plan
    tradeoffs    Tradeoff: what plans have in common: precision over people and epsilon, as tables and plots
    precision          half-width of intervals and root-mean-square error, at expected counts
    number_precision   the same of means and quantiles, in the unit of the answers; the worst population; noise
    shuffling    privacy amplification by shuffling
    mechanisms   mechanisms, Mechanisms: all of them side by side, which to take, and the advice of a plan
    wording      the text of a plan
"""
