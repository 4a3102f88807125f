"""The same question again and again, with memoization: permanent and instantaneous randomized response.

Its files::

    memoized  Memoized: designs for repeated questions, by their epsilons (L-GRR, L-SUE, L-OSUE, LOLOHA) or RAPPOR's
    rounds    the two rounds of answers (L-GRR) and of hash values (LOLOHA); what many reports reveal together
    rappor    RAPPOR: the two rounds of bits
    dbitflip  dBitFlipPM: bits of the same few answers, kept
    memo      Memo: the permanent responses that one person's device keeps
"""
