"""Sample size: the half-width of a 95 % interval by number of respondents and epsilon."""

import warner

# Three answers, epsilon 1: respondents needed for an interval of plus or minus 3 percentage points.
plan = warner.plan(3, epsilon=1, half_width=0.03)
plan.save_plot("sample_size.png")
