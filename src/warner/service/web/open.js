// Open domains: texts and whole numbers without a list of answers, and the draw of a report about one. MIT.
//
// Answers have positions as those of a list do, whole numbers below `size`, which are BigInts: all blocks of a value
// together as one number. Reports are texts, level:direction:value.

import { isPrime } from "./numbers.js";
import { below, check, ratio, share, spent, truthOrLie, uniform, wholes } from "./warner.js";

const LARGEST_BLOCK = 2 ** 22;
const LARGEST_FIELD = 2 ** 22;
const MOST_POINTS = 2 ** 23; // of a block
const MOST_LEVELS = 64;
const NORMALIZATIONS = ["NFKC", "lower", "spaces"];
const WHITE_SPACE = /[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g;

const product = (numbers) => numbers.reduce((all, number) => all * BigInt(number), 1n);

// Texts

/** Normalized text: NFKC, lower case, single spaces, as far as they are requested. */
function normalized(text, normalize) {
  const composed = (part) => (normalize.includes("NFKC") ? part.normalize("NFKC") : part);
  text = composed(text);
  if (normalize.includes("lower")) text = composed(text.toLowerCase()); // small letters combine where capitals do not
  return normalize.includes("spaces") ? text.replace(WHITE_SPACE, " ").replace(/^ | $/g, "") : text;
}

function checkAlphabet(alphabet, normalize) {
  const letters = typeof alphabet === "string" ? [...alphabet] : [];
  check(letters.length > 1 && new Set(letters).size === letters.length, "alphabet must be distinct characters, or null");
  const single = (letter) => normalized(letter, normalize) === letter || (letter === " " && normalize.includes("spaces"));
  const alone = letters.every((letter) => !/[\0\p{Cs}\p{Cn}\p{M}]/u.test(letter) && single(letter));
  const others = letters.filter((letter) => letter !== " ");
  const apart = (text) => normalized(text, normalize) === text;
  check(alone && others.every((letter) => apart(others.join(letter))), "alphabet must be as normalized texts have it");
}

function texts({ alphabet, normalize, other, ...more }, steps) {
  check(!Object.keys(more).length && other === true && steps[0] > 1, "values must be texts as they are written");
  const known = Array.isArray(normalize) && normalize.every((name) => NORMALIZATIONS.includes(name));
  check(known, `normalize must be some of ${NORMALIZATIONS}`);
  if (alphabet !== null) checkAlphabet(alphabet, normalize);
  const letters = alphabet === null ? null : [...alphabet];
  const size = letters ? letters.length + 1 : 256;
  const places = new Map(letters?.map((letter, i) => [letter, i + 1]));
  const length = steps.reduce((sum, step) => sum + step, 0);
  const symbolsOf = (text) => {
    if (letters) return [...text].map((letter) => places.get(letter) ?? 0);
    return text.isWellFormed() ? [...new TextEncoder().encode(text)] : [0];
  };
  const numbered = (symbols) =>
    Array.from({ length }, (_, i) => symbols[i] ?? 0).reduce((sum, symbol) => sum * BigInt(size) + BigInt(symbol), 0n);
  const rest = numbered([0, 1]); // what cannot be written: an end, and then the first symbol
  const indexOf = (answer) => {
    const text = typeof answer === "string" ? normalized(answer, normalize) : "";
    if (!text) return -1;
    const symbols = symbolsOf(text);
    return symbols.includes(0) || symbols.length > length ? rest : numbered(symbols);
  };
  const at = (position) => {
    if (position === rest) return "(other)";
    const symbols = [];
    for (let left = position; left; left /= BigInt(size)) symbols.unshift(Number(left % BigInt(size)));
    const written = symbols.filter((symbol) => symbol);
    return letters ? written.map((symbol) => letters[symbol - 1]).join("") : new TextDecoder().decode(Uint8Array.from(written));
  };
  const answers = { size: BigInt(size) ** BigInt(length), indexOf, at, other: rest, length, letters, normalize };
  return { answers, sizes: steps.map((step) => size ** step) };
}

// Whole numbers

function numbers(values, steps) {
  check(Object.keys(values).length === 1, 'values must be {"kind": "number"}');
  const size = 1n << BigInt(steps.reduce((sum, step) => sum + step, 0));
  const indexOf = (answer) => {
    const whole = typeof answer === "bigint" || Number.isSafeInteger(answer) || /^\d{1,400}$/.test(answer);
    return whole && BigInt(answer) >= 0n && BigInt(answer) < size ? BigInt(answer) : -1;
  };
  return { answers: { size, indexOf, at: (position) => `${position}` }, sizes: steps.map((step) => 2 ** step) };
}

// The design

const placesFor = (g, size) => {
  let places = 1;
  while (g ** places < size) places++;
  return places;
};

export function openDomain({ values, steps, levels, odds, field: g }) {
  const whole = (number, low) => Number.isInteger(number) && number >= low;
  const short = (step) => whole(step, 1) && 2 ** step <= LARGEST_BLOCK;
  check(Array.isArray(steps) && steps.length && steps.every(short), "steps must be whole numbers, and short");
  check(steps.length <= MOST_LEVELS, `steps must be at most ${MOST_LEVELS}`);
  check(values?.kind === "text" || values?.kind === "number", "values must be texts, or whole numbers");
  const { kind, ...more } = values;
  const { answers, sizes } = kind === "text" ? texts(more, steps) : numbers(values, steps);
  check(Math.max(...sizes) <= LARGEST_BLOCK, `a block must have at most ${LARGEST_BLOCK} values`);
  const weights = wholes("levels", levels, steps.length);
  check(weights.every((weight) => weight), "levels must be positive");
  below(62n, weights.reduce((sum, weight) => sum + weight));
  check(whole(g, 2) && g <= LARGEST_FIELD && isPrime(g), `field must be a prime number up to ${LARGEST_FIELD}`);
  const [a, b] = ratio("odds", odds);
  check(a > b, "odds must be larger for the true hash");
  const total = a + BigInt(g - 1) * b;
  below(62n, total);
  const digits = sizes.map((size) => placesFor(g, size));
  const points = digits.map((places) => g ** places);
  check(Math.max(...points) <= MOST_POINTS, `a block must have at most ${MOST_POINTS} points`);
  const draw = drawing({ weights, a, b, g, total, digits, points, sizes });
  const { padded } = draw;
  return {
    answers,
    reports: { at: (report) => report, padded, said: (report) => ["sentOpen", report] },
    epsilon: spent(b, a),
    draw: draw.report,
    told: ["oddsOpen", share(a, total), g],
  };
}

function drawing({ weights, a, b, g, total, digits, points, sizes }) {
  const levels = weights.length;
  const ends = weights.map((_, level) => weights.slice(0, level + 1).reduce((sum, weight) => sum + weight));
  let atOnce = 1; // digits of a direction in one draw
  while (BigInt(g) ** BigInt(atOnce + 1) < 1n << 62n) atOnce++;
  const parts = [];
  for (let left = digits.reduce((sum, places) => sum + places); left > 0; left -= atOnce)
    parts.push(BigInt(g) ** BigInt(Math.min(left, atOnce)));
  const lengths = [
    `${levels}`.length,
    points.map((_, level) => (product(points.slice(0, level + 1)) - 1n).toString(16).length),
    `${g - 1}`.length,
  ];
  const [bigPoints, bigSizes] = [points.map(BigInt), sizes.map(BigInt)];
  const beyond = points.map((_, level) => product(points.slice(level + 1)));

  function report(position, bytes) {
    const u = uniform(ends.at(-1), bytes);
    const level = ends.findIndex((end) => u < end);
    let direction = 0n;
    for (const size of parts) direction = direction * size + uniform(size, bytes);
    const v = uniform(total, bytes);
    let [along, value, hash] = [direction, BigInt(position), 0];
    // As many steps at every level, and for every answer
    for (let place = levels - 1; place >= 0; place--) {
      let [d, x] = [Number(along % bigPoints[place]), Number(value % bigSizes[place])];
      [along, value] = [along / bigPoints[place], value / bigSizes[place]];
      for (let i = 0; i < digits[place]; i++) {
        hash = (hash + Number(place <= level) * (d % g) * (x % g)) % g;
        [d, x] = [Math.floor(d / g), Math.floor(x / g)];
      }
    }
    const [first, second, third] = [level + 1, direction / beyond[level], truthOrLie(hash, v, a, b)];
    const hex = second.toString(16).padStart(lengths[1][level], "0");
    return `${`${first}`.padStart(lengths[0], "0")}:${hex}:${`${third}`.padStart(lengths[2], "0")}`;
  }
  const longest = lengths[0] + lengths[1].at(-1) + lengths[2] + 2;
  return { report, padded: (text) => text.padEnd(longest) };
}
