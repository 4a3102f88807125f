"""Survey planning: sample size, epsilon and precision.

Its files::

    plans              plan, Plan
    tradeoffs          Tradeoff: precision over sample size and epsilon, as tables and plots
    precision          half-width of intervals and root-mean-square error, populations and design effects
    number_precision   the same for means and quantiles; the worst population; noise; solving for sample size or epsilon
    power              sample size and power of a test: a share against a value, two groups, a coefficient
    shuffling          privacy amplification by shuffling
    mechanisms         mechanisms, Mechanisms: all of them side by side, and the recommendation
"""
