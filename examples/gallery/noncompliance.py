"""Noncompliance: the estimate if some respondents ignore the dice and give the safe answer."""

import matplotlib.pyplot as plt

import warner

tally = warner.Tally(warner.surveys.forced_response(truth="27/36", yes="6/36"), [720, 847])
table = warner.noncompliance.sensitivity(tally, "no", [percent / 100 for percent in range(31)]).table()
x, share, low, high = (100 * table[name][table["value"] == "yes"] for name in ("cheating", "share", "low", "high"))
plt.rc("axes.spines", top=False, right=False)
ax = plt.figure(figsize=(8, 4), layout="constrained").subplots()
ax.fill_between(x, low, high, color="#0072b2", alpha=0.2)
ax.plot(x, share, color="#0072b2")
ax.set(xlabel="respondents who give the safe answer (%)", ylabel="estimated share of yes (%)", ylim=(0, None))
plt.savefig("noncompliance.png", dpi=150)
