"""The designs that many tests use, each with what makes it a case."""

from __future__ import annotations

from warner import Channel, RandomizedResponse, SubsetSelection, surveys

YES_NO = ("yes", "no")
OFTEN = ("never", "once", "often")

# Randomized response: the same two probabilities for all answers
COIN = RandomizedResponse(YES_NO, truth="3/4")  # Warner's: p = 3/4, q = 1/4
NINE = RandomizedResponse(YES_NO, odds=(9, 1))  # p = 9/10, q = 1/10
DIRECT = RandomizedResponse(YES_NO, odds=(1, 0))  # a direct question: no noise
THREE = RandomizedResponse(OFTEN, odds=(3, 1))  # p = 3/5, q = 1/5
HALF = RandomizedResponse(OFTEN, odds=(2, 1))  # p = 1/2, q = 1/4

# Channels: another row of probabilities for every answer
FORCED = Channel([["11/12", "1/12"], ["1/6", "5/6"]], YES_NO, YES_NO)  # forced response: truth 3/4, yes 1/6, no 1/12
DICE = surveys.forced_response(truth="2/3", yes="1/6")  # of one die: 1 forces yes, 6 forces no
KUK = Channel(
    [["1/25", "8/25", "16/25"], ["49/100", "42/100", "9/100"]], YES_NO, 3
)  # Kuk's two cards: more reports than answers
LOADED = Channel(
    [["4/6", "1/6", "1/6"], ["1/6", "4/6", "1/6"], ["1/12", "1/4", "2/3"]], list("abc"), list("abc")
)  # no symmetry

# Reports that are sets of answers
SETS = SubsetSelection(list("abcde"), odds=(3, 1), size=2)  # p = 2/3, q = 1/3
PAIRS = SubsetSelection(list("abcd"), odds=(5, 1), size=2)  # p = 5/6, q = 7/18
