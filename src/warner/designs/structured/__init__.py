"""Reports that are whole numbers, each of which stands for a set of answers: hashing, Hadamard, projective geometry.

Its files::

    block_designs  p, q, counts and simulations from the numbers of points and blocks of a combinatorial design
    hadamard       HadamardResponse
    prime_field    designs over a prime field: which field and dimension to take, and how they are written
    hashing        LocalHashing, by linear functions
    projective     ProjectiveGeometry
    affine         local hashing by affine functions modulo a prime
    geometry       prime numbers, points of finite geometries and their coordinates
    transforms     Walsh-Hadamard, Fourier and Radon transforms: sums over all blocks at once
"""
