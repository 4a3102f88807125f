"""Discover: the frequent values of an open domain, with error control, intervals after selection, and what is too rare.

Its files::

    discoveries        discover, Discovery
    prefix_search      go through the levels, keep frequent prefixes, and test values at the last level
"""
