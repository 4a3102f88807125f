"""Association: whether the answers to several randomized questions go together.

Its files::

    independence  whether several questions are independent, from the table of their reports
    associations  associate, Association: whether answers to several questions go together
    pairs         QuestionPair: two of the questions; what it costs to ask several
    correlations  the correlation of two true answers, or of one with a number
    crosstables   people counted by their reports to several questions
"""
