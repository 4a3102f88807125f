/**
 * Importing this file makes more mechanisms known to `design`: subset selection, unary encoding, local hashing, Hadamard
 * response, projective geometry response, memoized designs, products, and for numbers square waves and cut-off responses. Of
 * a memoized design each call of `randomize` gives the first report of a person, and spends its epsilon again;
 * `warner/memo.js` keeps what people who report again need.
 */
export {};
