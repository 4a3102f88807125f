"""Confidence intervals and tests: of shares, differences, ranks and presence; goodness of fit of the reports.

Its files::

    binomial           Binomial: Clopper-Pearson, Wilson and score limits, tails, smallest detectable share
    normal             normal and Wilson limits of unbiased estimates, and averages of them
    intervals          Confidence, Interval: any sets of answers, any design, one collection or several
    answer_tables      tables of answers for readers: rows, their names, what was collected
    means              Mean: means, standard deviations, and differences of means: shares of fuzzy sets
    totals             Totals: numbers of people, sums of a number
    quantities         Quantities: means, quantiles, shares beyond numbers and totals in one table
    differences        their numbers from counts: interval, ratio and test that agree
    anytime            confidence sequences: intervals that hold however often one looks
    comparisons        Comparison: two answers, or two groups
    sample_comparisons  Comparisons: one answer, or all answers, in two samples
    exact_tests        exact limits of a difference from two counts; Barnard's test
    ranking            Ranking: the most common answers
    presence           Presence: detection of answers that somebody holds, corrected for their number
    checking           check: goodness of fit of reports to their design
    agreement          test that the collections of a pool have the same shares
    check_results      Check: its tests, and what they say together
    report_types       tests of the types of reports: values of reports, sizes of sets
"""
