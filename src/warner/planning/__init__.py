"""Before anybody is asked: how many people, which epsilon, and how sure the answer will be.

Its files::

    plans        plan, Plan
    precision    half-width and error of a design at expected counts
    solving      the fewest people, or the smallest epsilon
    populations  expected shares, by name, from a file or a pilot
    shuffling    what a shuffler adds
    mechanisms   mechanisms, Mechanisms: all of them side by side, and which to take
    advice       the mechanism that would need fewer people or bits
    wording      a plan in plain words
"""
