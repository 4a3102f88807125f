"""Collecting: a survey page that randomizes in the respondent's browser, and a server that keeps only counts.

The walk of an answer: a page draws the report (`web`), the server checks it against the survey (`survey`, `bundles`),
one thread adds it to the counters (`writer`, `stores`), and what is published of those is a tally (`cells`), which
everything else in the house can read. Nobody stores a row, an address, a time or an order.

Nothing of this is imported with ``warner`` itself; the web server needs the extra ``collect``, PostgreSQL the extra
``postgres``.
"""
