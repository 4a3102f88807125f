"""Regression: how the share of students who have cheated depends on age."""

import pandas as pd

import warner

students = pd.read_csv("cheating.csv")
dice = warner.surveys.forced_response(truth="27/36", yes="6/36")
designs = {"dice": dice, "direct": warner.surveys.direct()}
fit = warner.regress("cheated ~ age + region", students, designs, by="version")
fit.save_plot("regression_by_age.png", "age")
