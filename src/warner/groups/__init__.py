"""Many groups at once: shares that borrow strength from each other, trends, and how much groups differ.

Which estimate to take for groups: `warner.estimate` tells each group by its own reports alone, which is right for a
claim about one group. `warner.estimate_groups` draws each share towards the others, as far as its own reports are
noise: that is closer on average over the groups, for few reports by far.

Its files::

    group_estimates    estimate_groups, GroupEstimates
    direct_estimates   the unbiased share of each group, and its sampling variance
    fay_herriot        partial pooling, averaged over the spread between groups
    nonparametric      any law of the shares: clusters and groups that lie far out
    random_walk        trends: groups in an order
    heterogeneity      whether groups differ, and by how much: Cochran's Q and its tests, the Q-profile interval
    group_intervals    what intervals hold for; the exact ones
    group_means        means of a number, and shares of sets of answers
    fab_intervals      limits that are exact for every group
    ranks              expected ranks
    group_covariates   what is known of groups, joined to them
    ordered_groups     numbers, dates and weeks as positions on a line
"""
