"""Auditing a client: how much epsilon it really spends, and whether it follows its design.

Its files::

    audits             audit: the bounds on epsilon, and the tests of the design's law
    statistics         features of reports: their sets, their types, the reports themselves and their parts
    clients     functions and commands that make reports; every way in which they can fail
"""
