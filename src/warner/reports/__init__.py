"""Answers to reports to counts.

Its files::

    randomizing        randomize: labels in, reports out, from the operating system's randomness
    randomizing_files  the same for files, a piece at a time
    options            the input options of every entry point: Columns, Reading, Sample
    loading            any data to columns and amounts, for tally, regress, associate and explain
    counting           tally: reports of any kind to counts
    batches            columns of sets, read and counted a batch at a time, here or on a cluster
    subtotals          what some reports add to a tally
    counts             counts checked once, and their distinct values
    queries            select, group and count where the data are: one query for all data-frame libraries and files
    dialects           files of other programs: encodings, decimal commas, codes for missing values
    files              heads of files, read once; open CSV, Parquet and JSON in DuckDB; errors in plain words
    excel              Excel workbooks: the cells of one sheet, a row at a time
    labelled           files of SPSS, Stata and SAS: value labels or codes, as they are asked for
    readstat           what pyreadstat reads of them, in a child process: damaged files crash it
    tallies            Tally: counts with their design
    open_tallies       OpenTally: reports of an open domain, by level
    samples            how people were sampled: weights, clusters, strata and their degrees of freedom
    sample_columns     columns of strata, clusters and replicate weights to complex samples
    linearization      ComplexSample; ClusterSample: counts by stratum and cluster, and their variances
    replicates         ReplicateSample: counts by each of the replicate weights
    design_based       readouts of complex samples: standard errors, effective numbers of reports; their JSON documents
"""
