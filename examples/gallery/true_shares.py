"""Reported, estimated and true shares: the reports are biased, the estimate is not."""

import matplotlib.pyplot as plt
import numpy as np

import warner

truth = {"never": 0.62, "once": 0.20, "a few times": 0.12, "every month": 0.05, "every week": 0.01}
design = warner.RandomizedResponse(list(truth), epsilon=1.5)
counts = design.simulate(list(truth.values()), 4000, rng=np.random.default_rng(3))
ax = warner.estimate(warner.Tally(design, counts)).plot(title="Driving after drinking: 4,000 randomized answers")
for row, share in enumerate(truth.values()):
    ax.plot([100 * share] * 2, [row - 0.42, row + 0.42], color="#d55e00", linewidth=2.5)
ax.text(0.99, 0.08, "┃ true share", transform=ax.transAxes, color="#d55e00", ha="right")
plt.savefig("true_shares.png", dpi=150)
