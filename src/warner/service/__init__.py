"""Collecting: a survey page that randomizes in the respondent's browser, and a server that keeps counts.

The walk of an answer: a page draws the report (`web`), the server checks it against the survey (`survey`, `bundles`),
one thread adds it to the counters (`writer`, `stores`), and what is published of those is a tally (`cells`), which
everything else in the house can read. Nobody stores who responded, an address, a time or an order. Of answers in
people's own words, which cannot be counted, the randomized reports are kept, each on its own.

Nothing of this is imported with ``warner`` itself; the web server needs the extra ``collect``, PostgreSQL the extra
``postgres``.

Its files::

    survey             Survey, Question, Group: the survey file, read strictly, and its fingerprint
    responses           what a browser sends: bodies of one length
    app                the respondents' side: page, files, and the door for responses
    pages              the respondents' page
    dashboard          what the operator sees: page, stream of steps, files, closing
    dashboard_data     what it shows: published counts to numbers and words
    exports            files of what was published
    connections         deadlines for slow clients, room for new ones
    server              two listeners in one process; what the operator is told
    writer              one thread that keeps responses, many in one transaction
    stores/             Where counts are kept: an SQLite file by default, or a PostgreSQL database by its URL
"""
