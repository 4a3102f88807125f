"""Many groups at once: shares that borrow strength from each other, trends, and how much groups differ.

Which estimate to take for groups: `warner.estimate` tells each group by its own reports alone, which is right for a
claim about one group. `warner.estimate_groups` draws each share towards the others, as far as its own reports are
noise: that is closer on average over the groups, for few reports by far.

Its files::

    group_estimates    estimate_groups, GroupEstimates
    fay_herriot        partial pooling, averaged over the spread between groups
    random_walk        trends: groups in an order
    group_intervals    what intervals hold for; the exact ones
"""
