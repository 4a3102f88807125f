"""Complex samples: people who were drawn by strata and clusters, or have replicate weights, and design-based variances.

Its files::

    sample_columns     columns of strata, clusters and replicate weights to complex samples
    cluster_samples    ComplexSample; ClusterSample: counts by stratum and cluster, and their variances
    replicate_weights  ReplicateSample: counts by each of the replicate weights
    linear_scores      what reports add to the sum that a share is read from, under any design
    linearisation      variances by linearisation: strata, clusters, finite populations; jackknife
    design_based       readouts of complex samples: standard errors, effective numbers of reports
    sample_documents   complex samples in files
"""
