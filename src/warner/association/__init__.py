"""Association: whether the answers to several randomized questions go together.

Its files::

    independence       whether several questions are independent, from the table of their reports
    associations       associate, Association: whether answers to several questions go together
"""
