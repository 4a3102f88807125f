"""Contests of estimators on many populations, relative to the best of three in hindsight.

Made into one command, ``python -m experiments estimators``; `experiments.estimators.run.compare` is the same from
Python, and takes your own estimators and data as well.

`populations` lists the populations, `entrants` the estimators, `scale` how much of it is run. A `contests.Contest` is
one setting: a population, a design, a sample size. Its file is kept in a folder, as those of the paper's
experiments are; `ratios` makes a table of all files, `figures` and `page` show it.

Its files::

    run scale contests entrants   what is compared, how much of it, and a user's own estimators
    populations real_populations  made-up shapes, real data, a user's own data
    numeric_contests rivals       distributions of numbers: smooth against EMS, mle and HH-ADMM
    ratios figures page           errors against the best in hindsight: tables, figures, page
"""
