"""Auditing a client: how much epsilon it really spends, and whether it follows its design.

Its files::

    audits      audit: the bounds on epsilon, and the tests of the design's law
    findings    Audit: what was found, in words
    events      the reports that give a client away most: learnt and chosen apart from what judges them
    open_statistics  features of reports of an open domain, each with its law
    statistics  features of reports: their sets, their types, the reports themselves and their parts
    clients     functions and commands that make reports; every way in which they can fail
"""
