"""Dice survey: the share of students who have cheated, by region, with confidence intervals."""

import warner

# Two dice: 2 to 4 mean "say yes", 11 and 12 "say no", all other sums "answer truthfully".
dice = warner.surveys.forced_response(truth="27/36", yes="6/36")
reports = warner.tally("cheating.csv", dice, column="cheated", by="region", where={"version": "dice"})
result = warner.estimate(reports)
result.save_plot("dice_survey.png", title="Students who have cheated in an exam")
