"""The published experiments on randomized response, and the claims that they must bear out.

C. A. Pinzón et al., "Estimating the True Distribution of Data Collected with Randomized Response" (AAAI 2026), made
into one command, ``python -m experiments``. `experiments.pinzon2026.run.reproduce` is the same from Python.

An experiment computes numbers (`grid`, `real`, `iteration`, `theorems`), `results` keeps them in a folder, and two
readers follow: the figures (`overview`, `complete`, `bias_variance`, `real`, `iteration`) and the verdicts (`claims`,
which asks one module for each subject: `ranking_claims`, `bias_claims`, `real_claims`, `theory_claims`,
`iteration_claims`, `speed_claims`, `arithmetic_claims`). `page` puts both on one HTML page.

Its files::

    run scale results repetition methods  what is computed, how large, where it is kept
    grid real datasets iteration theorems timing  the experiments
    overview complete bias_variance drawing page  the figures and the page
    claims verdicts misprints  what the paper says, and what was found
    arithmetic_claims bias_claims iteration_claims ranking_claims real_claims speed_claims theory_claims  by subject
"""
