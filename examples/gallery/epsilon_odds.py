"""Epsilon as odds: what a single report can reveal about a respondent."""

import matplotlib.pyplot as plt
import numpy as np

plt.rc("axes.spines", top=False, right=False)
ax = plt.figure(figsize=(8, 4.4), layout="constrained").subplots()
before = np.linspace(0, 1, 101)
for epsilon, color in {4: "#08306b", 2: "#30639a", 1: "#5f94c3", 0.5: "#8fbfe0"}.items():
    odds = np.exp(epsilon)  # a report multiplies the odds of an answer by this factor at most
    ax.plot(100 * before, 100 * odds * before / (odds * before + 1 - before), color=color, label=f"ε = {epsilon}")
ax.plot([0, 100], [0, 100], "--", color="#222222", linewidth=1, label="without a report")
ax.set(xlabel="probability of an answer before the report (%)", ylabel="at most, after the report (%)")
ax.legend(frameon=False)
plt.savefig("epsilon_odds.png", dpi=150)
