"""Audits of clients: the epsilon that they spend, and their fit to the design.

Its files::

    audits             audit: bounds on epsilon, and tests of the design
    statistics         features of reports, and the choice of the event that bounds epsilon
    clients            functions and commands that make reports, and their errors
"""
