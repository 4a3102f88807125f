"""Failing check: an answer is reported less often than the design allows."""

import matplotlib.pyplot as plt

import warner

design = warner.RandomizedResponse(["never", "once", "often"], odds=(3, 1))
tally = warner.Tally(design, [620, 245, 135])
plt.rc("axes.spines", top=False, right=False)
ax = plt.figure(figsize=(8, 3), layout="constrained").subplots()
ax.barh(design.domain, 100 * tally.counts / tally.n, height=0.5, color="#a6a6a6")
ax.axvline(100 * float(design.q), color="#d55e00", linestyle="--")
ax.text(100 * float(design.q) + 0.7, 2, "reported by an answer with true share 0", color="#d55e00", va="center")
ax.set(xlabel="reported (%)", ylim=(2.5, -0.5), title=f"Check of the reports: p = {warner.check(tally).p_value:.0e}")
plt.savefig("failing_check.png", dpi=150)
