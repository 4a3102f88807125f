"""Published experiments, reproduced.

Its files::

    estimators/  How close the estimators come: all of them, on many populations, against the best in hindsight of three
    pinzon2026/  The published experiments on randomized response, and the claims that they must bear out
"""
