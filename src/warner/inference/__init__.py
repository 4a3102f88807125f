"""Confidence intervals and tests: of shares, differences, ranks and presence; goodness of fit of the reports.

Its files::

    binomial           Binomial: Clopper-Pearson, Wilson and score limits, tails, smallest detectable share
    binomial_sums      tails of sums of binomial counts; exact limits of the share among the people who reported
    pooled             limits of one share behind the counts of several collections
    intervals          Confidence, Interval: any sets of answers, any design, one collection or several
    korn_graubard      Korn and Graubard's limits in complex samples
    distribution_bands  Dvoretzky, Kiefer and Wolfowitz's band of all cumulative shares
    joint_readouts     how a share shows in several collections, side by side, and their averages
    means              Mean: means, standard deviations, and differences of means: shares of fuzzy sets
    numeric_results    what results about numbers have in common: text, table and JSON of a value and its interval
    totals             Totals: numbers of people, sums of a number
    quantiles          Quantile: quantiles from limits of the distribution function
    shares_beyond      ShareBeyond: shares above or below a number, or within two
    quantities         Quantities: means, quantiles, shares beyond numbers and totals in one table
    normal             normal and Wilson limits of unbiased estimates, and averages of them
    newcombe           Newcombe's interval: the difference of two independent shares, from an interval of each
    anytime            confidence sequences: intervals that hold however often one looks
    comparisons        Comparison: two answers, or two groups
    differences        their numbers from counts: interval, ratio and test that agree
    complex_differences  differences in complex samples: two answers, or two domains
    exact_differences  exact limits of a difference from two counts; Barnard's test
    two_answers        two answers are one share: which of them results for people tell
    sample_comparisons  compare_samples: one share in two samples, each under a design of its own
    equality_tests     exact tests of two equal probabilities: the sign test and Fisher's
    ranking            Ranking: the most common answers
    presence           Presence: detection of answers that somebody holds, corrected for their number
    multiple_testing   p-values adjusted for their number: Holm, Benjamini and Hochberg
    presence_tests     tests of "nobody holds it" for every table, and the share that each would find
    checking           check: goodness of fit of reports to their design
    agreement          test that the collections of a pool have the same shares
    open_checks        the check of open reports: levels and directions, which no answer changes
    asked_answers      test of how often each answer was asked about, where people are asked about some
    report_types       tests of the types of reports: values of reports, sizes of sets
    check_results      Check: its tests, and what they say together
    fake_reports       influence of fake reports on a share
"""
