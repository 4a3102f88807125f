"""Open domains: answers that no list holds, such as words, apps or "other, namely ...".

Its files::

    open_domain     OpenDomain: draw a report about a text or a whole number
    closed_list     ClosedList: such reports as those of a design for a list that is known beforehand
    collinear_values  which answers of a set lie on a line with what is held: the variance of a set depends on it
    values          texts and whole numbers as rows of blocks, and back; normalization of texts
    level_weights   how people are best divided among the levels of the search
    answer_form     how answers are read in a column
    report_form     how a report is written in a column: level:direction:value
    ancillary_counts  what no answer changes in reports, with its exact law
    support_counts  how many reports support each prefix: by Fourier transforms, and by comparing
"""
