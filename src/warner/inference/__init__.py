"""Confidence intervals and tests: of shares, differences, ranks and presence; goodness of fit of the reports.

Its files::

    binomial            binomial counts: Clopper-Pearson, Wilson and score limits, tails, smallest detectable share
    normal              normal and Wilson limits of unbiased estimates, pooled limits
    intervals           Confidence, Interval: any sets of answers, any design, one collection or several
    answer_tables       tables of answers for readers: rows, names, reports
    means               Mean, Quantile: means, standard deviations, quantiles, differences of means
    totals              Totals: numbers of respondents, sums of a number
    quantities          Quantities: means, quantiles, shares beyond numbers and totals in one table
    differences         difference and ratio of two shares: interval and test that agree
    anytime             confidence sequences
    comparisons         Comparison: two answers, or two groups
    sample_comparisons  Comparisons: one answer, or all answers, in two samples
    exact_tests         exact limits of a difference from two counts; sign, Fisher's and Barnard's test
    ranking             Ranking: the most common answers
    presence            Presence: detection of answers, adjusted for their number
    checking            check: goodness of fit of reports to their design
    agreement           test that the collections of a pool have the same shares
    check_results       Check: its tests and the verdict
    report_types        tests of the types of reports: values of reports, sizes of sets, pairs of answers
"""
