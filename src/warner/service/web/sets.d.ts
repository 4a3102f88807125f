/**
 * Importing this file makes more mechanisms known to `design`: subset selection, unary encoding, local hashing, Hadamard
 * response, projective geometry response, memoized designs (a person's first report), and products.
 */
export {};
