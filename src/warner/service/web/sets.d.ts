/**
 * Importing this file makes more mechanisms known to `design`: subset selection, unary encoding, local hashing, Hadamard
 * response, projective geometry response, memoized designs, products, for numbers square waves and cut-off responses, and open
 * domains, for texts and whole numbers that no list holds: their positions are BigInts, and `indexOf` gives one for any text. Of
 * a memoized design each call of `randomize` gives the first report of a person, and spends its epsilon again;
 * `warner/memo.js` keeps what people who report again need.
 * Of split questionnaires and select-all designs, which have several questions, a person is asked what `drawn` gives.
 */
export {};
