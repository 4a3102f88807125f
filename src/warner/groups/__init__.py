"""Many groups at once: partial pooling, trends, and heterogeneity.

`warner.estimate` estimates each group from its own reports alone, for claims about one group. `warner.estimate_groups`
shrinks each share toward the others, as far as its reports are noise, which reduces the average error over the groups.

Its files::

    group_estimates    estimate_groups, GroupEstimates
    fay_herriot        partial pooling, averaged over the spread between groups
    random_walk        trends along an order, and covariates of groups
    group_intervals    coverage of intervals, exact intervals, means, ranks, heterogeneity
"""
