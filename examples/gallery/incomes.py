"""Numeric answers: the distribution of incomes and its mean, from 20,000 randomized reports."""

import numpy as np

import warner

thousands = np.arange(201)
incomes = thousands**1.5 * np.exp(-thousands / 20)  # made up
design = warner.SquareWave(warner.grid(0, 200_000, 1_000), epsilon=1)
counts = design.simulate(incomes / incomes.sum(), 20_000, rng=np.random.default_rng(1))
result = warner.estimate(warner.Tally(design, counts))
result.save_plot("incomes.png", title="Distribution of incomes")
