"""Many regions: estimates of small groups, separate and shrunk toward the overall mean."""

import numpy as np

import warner

rng = np.random.default_rng(1)
design = warner.RandomizedResponse(["yes", "no"], odds=(3, 1))
true_shares = rng.beta(4, 12, 14)
counts = np.array([design.simulate([share, 1 - share], 150, rng=rng) for share in true_shares])
regions = tuple((f"region {number:02}",) for number in range(1, 15))
tally = warner.Tally(design, counts, by=("region",), groups=regions)
warner.estimate_groups(tally).save_plot("regions.png", title="14 regions with 150 respondents each")
