"""The published experiments on randomized response, one file each, and the claims that they must bear out.

C. A. Pinzón et al., "Estimating the True Distribution of Data Collected with Randomized Response" (AAAI 2026), made
into one command, ``warner reproduce``. `warner.papers.pinzon2026.run.reproduce` is the same from Python.
"""
