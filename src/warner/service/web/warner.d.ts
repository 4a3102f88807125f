/** Randomized response in the browser, exactly as the Python package `warner` draws it. */

/** A possible answer: a text, or an integer within 2^53. */
export type Label = string | number;

/** Random bytes: as many as asked for. Only tests give their own. */
export type Bytes = (size: number) => Uint8Array;

/** The possible answers, by position from 0; positions are BigInts under an open domain. */
export interface Answers {
  readonly size: number | bigint;
  at(position: number | bigint): Label;
  /** The position of an answer, or -1. */
  indexOf(answer: Label): number | bigint;
}

/** A report in code: a position, a number, or a text for a set of answers or a hash. */
export type Code = number | bigint | string;

/** The possible reports. */
export interface Reports {
  /** How many there are; undefined where reports are texts, and a BigInt beyond 2^53. */
  readonly size?: number | bigint;
  /** The report with this code, in the form of a CSV file: a label, a number, or a text. Numbers beyond 2^53 are texts. */
  at(code: Code): Label;
  /** Where reports are labels, the code of one, or -1 if there is none such: what a server checks. */
  indexOf?(report: unknown): number;
  /** Where reports are texts, the same with as many characters for every report. */
  padded?(report: string): string;
}

/** What every answer goes through: a frozen value. */
export interface Design {
  readonly mechanism: string;
  readonly answers: Answers;
  readonly reports: Reports;
  /** What one report spends, in nats; never less than that. For several questions, what all reports of a person spend. */
  readonly epsilon: number;
  /** Of a split questionnaire, and of a question with several answers: draw, before any answer, the positions that are asked. */
  drawn?(bytes?: Bytes): number[];
  /** The designs of these questions, by position. */
  readonly parts?: readonly Design[];
  /** Of a question with at most so many answers: the code of a report, from the positions of all options that apply. */
  pick?(positions: readonly number[], bytes?: Bytes): Code;
}

/**
 * Read a design: what `JSON.parse` made of its file.
 *
 * Import `warner/sets.js` first for mechanisms other than randomized response and channels.
 * @throws TypeError that says what is wrong with it, or that the mechanism is not known without `warner/sets.js`.
 */
export function design(json: unknown): Design;

/**
 * Randomize a true answer, from the operating system's randomness. The report is a text or a number, as JSON can hold it.
 *
 * There is no seed to give: whoever knew it could undo the draw.
 * @throws RangeError if that is not an answer of the design; it does not name the answer.
 */
export function randomize(design: Design, answer: Label): Label;

/** The same by the position of the answer, and with the code of the report. */
export function randomizeCode(design: Design, position: number | bigint, bytes?: Bytes): Code;

/** A whole number below total, all equally likely. */
export function uniform(total: number | bigint, bytes?: Bytes): bigint;
