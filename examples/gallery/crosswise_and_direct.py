"""Crosswise model and direct question: two samples that were asked about the same behavior."""

import matplotlib.pyplot as plt

import warner

plt.rc("axes.spines", top=False, right=False)
ax = plt.figure(figsize=(8, 2.6), layout="constrained").subplots()
designs = {warner.surveys.direct(): [93, 907], warner.surveys.crosswise("1/4"): [652, 348]}
for row, (design, counts) in enumerate(designs.items()):
    table = warner.estimate(warner.Tally(design, counts)).table()  # the first row is "yes"
    ax.plot([100 * table["low"][0], 100 * table["high"][0]], [row, row], "|-", color="#222222")
    ax.plot(100 * table["share"][0], row, "o", color="#0072b2", markersize=8)
ax.set(yticks=[0, 1], yticklabels=["direct", "crosswise"], xlabel="share of yes (%)", ylim=(1.5, -0.5), xlim=(0, 30))
plt.savefig("crosswise_and_direct.png", dpi=150)
