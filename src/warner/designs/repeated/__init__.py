"""The same question again and again: permanent and instantaneous randomization, as in RAPPOR.

Its files::

    memoized  Memoized: the same question again and again
    rounds    a round that is kept and one that is drawn each time; what many reports reveal
    memo      Memo: what one person's device keeps
"""
