"""Weekly trend: the shares of three answers over a year quarter, each with its band."""

import numpy as np

import warner

design = warner.RandomizedResponse(["never", "once", "often"], odds=(3, 1))
rng = np.random.default_rng(1)
shares = [[0.60 - 0.03 * week, 0.28, 0.12 + 0.03 * week] for week in range(12)]
counts = np.array([design.simulate(one, 1500, rng=rng) for one in shares])
weeks = tuple((f"2026-W{week:02}",) for week in range(1, 13))
tally = warner.Tally(design, counts, by=("week",), groups=weeks)
warner.estimate(tally).save_plot("weekly_trend.png", title="Driving after drinking, by week")
