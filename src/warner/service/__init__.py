"""Web surveys: a page that randomizes answers in the respondent's browser, and a server that counts the reports.

The page draws a report (`web`), the server checks it against the survey (`survey`, `responses`), and one thread adds it
to counters (`writer`, `stores`). Published counters are a tally. No identity, address, time or order is stored. Reports
to free-text questions cannot be counted; they are kept one by one.

The web server needs the extra ``collect``, PostgreSQL the extra ``postgres``.

Its files::

    survey             Survey, Question, Group: the survey file and its fingerprint
    responses          request bodies of one length
    app                the respondents' web application: page, files, responses
    pages              the respondents' page, and replies of one length
    dashboard          the operator's web application: page, stream of steps, files, closing
    dashboard_data     the numbers and sentences that the dashboard shows
    exports            files of published results
    reporting          one page of results for readers without statistics
    notices            the privacy notice of a survey, in the languages of the page
    sharing            address, certificate and QR code on a local network
    connections        deadlines for slow clients, a maximum number of connections
    server             two listeners in one process
    writer             one thread that keeps responses, many in one transaction
    stores/            counts in an SQLite file or a PostgreSQL database
"""
