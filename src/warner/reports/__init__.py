"""Answers to reports to counts.

`randomizing` draws a report for each answer, in memory; `streams` does so for a file, a piece at a time. `counting`
makes a tally of reports, wherever they are: in a sequence, in a data frame or in files, which `engines` queries.
`tallies` holds the result: counts with their design, which add up, can be pooled, and are all that an estimate needs.
"""
