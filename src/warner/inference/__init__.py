"""How sure: what can be said of shares, and whether reports fit their design.

Its files::

    binomial           limits, tails and tests of one binomial count
    binomial_sums      sums of independent binomial counts: their tails, exactly
    realised           exact limits of the share among the people who reported
    pooled             limits of one share behind the counts of several collections
    intervals          Confidence, Interval: any sets of answers, any design, one collection or several
    normal             unbiased estimates by the normal law; shares among these very people are whole numbers of them
    joining            the difference of two independent shares, from an interval of each
    anytime            intervals that hold however often one looks
    comparisons        two answers, or two groups
    differences        their numbers from counts: interval, ratio and test that agree
    exact_differences  exact limits of a difference from two counts; Barnard's test
    two_answers        two answers are one share: which of them results for people tell
    samples            one share in two samples, each under a design of its own
    equality_tests     exact tests of two equal probabilities: the sign test and Fisher's
    ranking            the most common answers
    presence           answers that somebody holds
    presence_tests     tests of "nobody holds it" for every table, and the share that each would find
    checking           check: whether reports fit their design
    report_types       tests of the types of reports: values of reports, sizes of sets
    check_results      Check: its tests, and what they say together
    fake_reports       how far fake reports can move a share
"""
