"""Answers to reports to counts.

`randomizing` draws a report for each answer, in memory; `randomizing_files` does so for a file, a piece at a time.
`loading` gives the columns and amounts of any data: in memory, in a data frame or in `files`, which `queries` count.
`counting` makes a tally of them.
`tallies` holds the result: counts with their design, which add up, can be pooled, and are all that an estimate needs.

Its files::

    randomizing        randomize: labels in, reports out, from the operating system's randomness
    randomizing_files  the same for files, a piece at a time
    loading            any data to columns and amounts, for tally, regress, associate and explain
    counting           tally: reports of any kind to counts
    columns            columns of numbers, texts and truth values, from any library
    batches            columns of sets, read and counted a batch at a time, here or on a cluster
    subtotals          what some reports add to a tally
    invalid_values     values that no report can have: which, how often, and which label was meant
    queries            select, group and count where the data are: one query for all data-frame libraries and files
    dialects           files of other programs: encodings, decimal commas, codes for missing values
    versions           rows that are chosen by their values, and several designs by the column that names them
    formats            the one table of file formats: endings, kinds, how they are read and written
    excel              Excel workbooks: the cells of one sheet, a row at a time
    labelled           files of SPSS, Stata and SAS: value labels or codes, as they are asked for
    readstat           what pyreadstat reads of them, in a child process: damaged files crash it
    files              heads of files, read once; open CSV, Parquet and JSON in DuckDB; errors in plain words
    paths              files of a folder, a pattern or a list, and the columns that folders such as day=1 stand for
    amounts            columns of counts or weights: which values are good, and the first that are not
    counts             counts checked once, and their distinct values
    tallies            Tally: counts with their design
    open_tallies       OpenTally: reports of an open domain, by level
    sampling           how people were sampled: weights, clusters, strata and their degrees of freedom
    complex_samples/   samples by strata, clusters or replicate weights: ClusterSample, ReplicateSample, variances
    stored             reports that are gone through again, for their likelihood
    pools              Pool: several tallies of different designs
"""
