"""Somebody's client on the bench: how much epsilon it really spends, and whether it follows its design.

Its files::

    audits      audit: the bounds on epsilon, and the tests of the design's law
    findings    Audit: what was found, in words
    events      the reports that give a client away most: learnt and chosen apart from what judges them
    statistics  what there is to look at in a report
    clients     functions and commands that make reports; every way in which they can fail
"""
