// All mechanisms beside randomized response and channels: importing this file makes them known to warner.js.
// Their laws and draws are those of docs/reference/formats. MIT.

// Beside its draw, each tells what a page says of it: `chance`, the probability of a report, where reports are listed, or
// `held`, the probabilities that a report supports the true answer, and another one; and, if these are not the best words,
// words of its own: `told` of the draw, and `reports.said` of a report. Numbers are typed in where answers are `ordered`.

import {
  below, check, design, labels, mechanisms, random, ratio, share, spent, truthOrLie, uniform, wholes,
} from "./warner.js";
import { gridOf, isPrime, onGrid } from "./numbers.js";
import { openDomain } from "./open.js";

const whole = (name, number, low, high) =>
  check(
    Number.isInteger(number) && number >= low && number <= high,
    `${name} must be a whole number from ${low} to ${high}`,
  );

const oddsOf = (json) => {
  const [a, b] = ratio("odds", json);
  check(a > b, "odds must be larger for the true answer");
  return [a, b];
};

// Reports that are texts, or numbers from 0 to size - 1. Beyond 2^53 their codes are BigInts, which JSON cannot hold, and
// they themselves texts of digits.
const texts = (padded = (report) => report) => ({ at: (report) => report, padded });
const numbers = (size) => {
  const code = (number) => (size <= Number.MAX_SAFE_INTEGER ? Number(number) : number);
  return { size: code(size), at: (report) => (typeof report === "bigint" ? `${report}` : report), code };
};

// Bits that are 1 with probability n/d: bytes are the digits of a uniform number, which is compared with n/d. All that
// are undecided take a byte, in their order; then those that still are another one.
function drawnBits(size, n, d, bytes) {
  const bits = new Uint8Array(size);
  for (let open = Uint32Array.from(bits, (_, place) => place); ; ) {
    const digit = Number((256n * n) / d);
    n = (256n * n) % d;
    const equal = [];
    for (let start = 0; start < open.length; start += 65536) {
      const part = open.subarray(start, start + 65536); // crypto gives so many at a time
      const drawn = bytes(part.length);
      part.forEach((place, i) => {
        bits[place] = drawn[i] < digit;
        if (drawn[i] === digit) equal.push(place);
      });
    }
    if (!n || !equal.length) return bits;
    open = Uint32Array.from(equal);
  }
}

const drawnBit = (n, d, bytes) => drawnBits(1, n, d, bytes)[0];

// Bytes one by one; of the operating system's many are taken at once, which is faster.
function single(bytes) {
  if (bytes !== random) return () => bytes(1)[0];
  let [some, taken] = [random(1024), 0];
  return () => {
    if (taken === some.length) [some, taken] = [random(1024), 0];
    return some[taken++];
  };
}

// The same bit, of numbers so small that doubles are exact
function smallBit(n, d, byte) {
  for (;;) {
    const [drawn, digit] = [byte(), Math.floor((256 * n) / d)];
    n = (256 * n) % d;
    if (drawn !== digit || !n) return Number(drawn < digit);
  }
}

// Sets of answers, as texts: answer i in byte i/8, under the mask 0x80 >> (i % 8), in hexadecimal
const bitSets = (size) => ({
  ...texts(),
  members: (hex) => [...Array(size).keys()].filter((i) => (parseInt(hex[i >> 2], 16) >> (3 - (i % 4))) & 1),
});

function packed(bits) {
  let hex = "";
  for (let i = 0; i < bits.length; i += 4) {
    let digit = 0;
    for (let j = i; j < i + 4; j++) digit = 2 * digit + (bits[j] ?? 0);
    hex += digit.toString(16);
  }
  return hex.length % 2 ? `${hex}0` : hex;
}

// Subset selection: sets of so many answers, the last one taking part in the place of the true one

function subset({ domain, odds, size }) {
  const answers = labels("domain", domain);
  const k = answers.size;
  whole("size", size, 1, k - 1);
  const [a, b] = oddsOf(odds);
  const [held, total] = [a * BigInt(size), a * BigInt(size) + b * BigInt(k - size)];
  below(62n, total);
  const draw = (x, bytes) => {
    const bits = new Uint8Array(k);
    const holds = drawnBit(held, total, bytes);
    const byte = single(bytes);
    let needed = size - holds;
    for (let place = 0; place < k - 1; place++) {
      bits[place] = smallBit(needed, k - 1 - place, byte);
      needed -= bits[place];
    }
    bits[k - 1] = bits[x]; // if that is the last answer itself, nothing was drawn for it
    bits[x] = holds;
    return packed(bits);
  };
  const truth = share(held, total);
  return { answers, reports: bitSets(k), epsilon: spent(b, a), draw, held: [truth, (size - truth) / (k - 1)] };
}

// Unary encoding: a bit for each answer

function rates({ one, zero }) {
  const [[p, r], [q, s]] = [ratio("one", one), ratio("zero", zero)];
  check(q && r && s && q * r < p * s && p <= r, "one and zero must be probabilities, 0 < zero < one <= 1");
  return { one: [p, r], zero: [q, s] };
}

const gcd = (a, b) => (b ? gcd(b, a % b) : a);
const narrow = ({ one: [, r], zero: [, s] }) => below(320n, (r / gcd(r, s)) * s);
const spentByBits = ({ one: [p, r], zero: [q, s] }) => spent(q * (r - p), p * (s - q));

function unaryBits(x, size, { one, zero }, bytes) {
  const bits = drawnBits(size, ...zero, bytes);
  bits[x] = drawnBit(...one, bytes);
  return bits;
}

function unary({ domain, one, zero }) {
  const answers = labels("domain", domain);
  const given = rates({ one, zero });
  narrow(given);
  const draw = (x, bytes) => packed(unaryBits(x, answers.size, given, bytes));
  const held = [share(...given.one), share(...given.zero)];
  return { answers, reports: bitSets(answers.size), epsilon: spentByBits(given), draw, held };
}

// Bit flips: bits for so many answers, which are drawn by chance, and told with them

function assigned(k, size, bytes) {
  const [asked, byte] = [new Uint8Array(k), single(bytes)];
  for (let place = 0, needed = size; place < k; place++) needed -= asked[place] = smallBit(needed, k - place, byte);
  return asked;
}

// The report: which answers were asked about, then whose bit is 1
function withBits(asked, bits) {
  let next = 0;
  return packed(asked) + packed(asked.map((one) => (one ? bits[next++] : 0)));
}

// Whether each bit is right, whose answers are true or not; those of place `size` and beyond are none of them
const flipped = (size, true_, [s, t], bytes) => drawnBits(size, t, s + t, bytes).map((turned, i) => turned ^ (i === true_));

const bitOdds = (json) => {
  const [s, t] = ratio("odds", json);
  check(s > t && t, "odds must be larger for a bit that is right, and above 0");
  below(320n, s + t);
  return [s, t];
};
// Reports tell which answers were asked about, and support those of them whose bit is 1.
const askedSets = (k, size) => {
  const { members, ...rest } = bitSets(k);
  return { ...rest, members: (hex) => members(hex.slice(hex.length / 2)), asked: members, asks: size };
};
const spentByFlips = (size, [s, t]) => (size > 1 ? spent(t * t, s * s) : spent(t, s));
const rank = (x, asked) => (asked[x] ? asked.subarray(0, x).reduce((sum, one) => sum + one, 0) : asked.length);

function bitFlips({ domain, odds, size }) {
  const answers = labels("domain", domain);
  whole("size", size, 1, answers.size);
  const given = bitOdds(odds);
  const draw = (x, bytes) => {
    const asked = assigned(answers.size, size, bytes);
    return withBits(asked, flipped(size, rank(x, asked), given, bytes));
  };
  const held = given.map((bit) => (share(bit, given[0] + given[1]) * size) / answers.size);
  return { answers, reports: askedSets(answers.size, size), epsilon: spentByFlips(size, given), draw, held };
}

// Finite geometry: vectors over a prime field, and points, whose first coordinate that is not 0 is 1

function space({ domain, odds, field, dimension }, least) {
  whole("field", field, 2, 2 ** 31 - 1);
  whole("dimension", dimension, least, 62);
  check(isPrime(field), "field must be a prime number");
  return { answers: labels("domain", domain), odds: oddsOf(odds), q: BigInt(field), t: dimension };
}

const points = (q, t) => (q ** BigInt(t) - 1n) / (q - 1n);

function digits(number, q, t) {
  const written = [];
  for (let i = 0; i < t; i++, number /= q) written.unshift(number % q);
  return written;
}

const product = (xs, ys, q) => xs.reduce((sum, x, i) => sum + x * ys[i], 0n) % q;

// The number whose digits are the coordinates of a point, and back; points with as many after the 1 follow each other.
function written(point, q) {
  let free = 0;
  while (points(q, free + 1) <= point) free++;
  return point + q ** BigInt(free) - points(q, free);
}

function pointOf(vector, q) {
  const inverse = power(vector.find((coordinate) => coordinate), q - 2n, q);
  const number = vector.reduce((sum, coordinate) => sum * q + ((coordinate * inverse) % q), 0n);
  let free = 0;
  while (q ** BigInt(free + 1) <= number) free++;
  return number - q ** BigInt(free) + points(q, free);
}

const power = (base, exponent, q) =>
  exponent ? (power((base * base) % q, exponent / 2n, q) * (exponent % 2n ? base : 1n)) % q : 1n;

function projective(json) {
  const { answers, odds: [a, b], q, t } = space(json, 2);
  const [size, through] = [points(q, t), points(q, t - 1)];
  check(size >= answers.size, "field and dimension must give a point for each answer");
  const held = a * through;
  const total = held + b * (size - through);
  below(62n, total);
  const reports = numbers(size);
  const draw = (x, bytes) => {
    const u = uniform(total, bytes);
    const missed = u >= held;
    const rest = missed ? (u - held) / b : written(u / a, q);
    const point = digits(written(BigInt(x), q), q, t);
    const first = point.findIndex((coordinate) => coordinate);
    const normal = digits(rest, q, t - 1);
    normal.splice(first, 0, 0n);
    // The product with the point is 1 outside of the hyperplane, else 0.
    normal[first] = (BigInt(missed) + q - product(point, normal, q)) % q;
    return reports.code(pointOf(normal, q));
  };
  const both = points(q, t - 2);
  const chances = [share(held, total), share(a * both + b * (through - both), total)];
  return { answers, reports, epsilon: spent(b, a), draw, held: chances };
}

// Local hashing

// With the probability that two answers have one hash
const heldByHashes = (truth, alike, values) => [truth, alike * truth + ((1 - alike) * (1 - truth)) / (values - 1)];

const hashed = (x, direction, q, t) => product(digits(written(direction, q), q, t), digits(BigInt(x), q, t), q);

function linear(json) {
  const { answers, odds: [a, b], q, t } = space(json, 1);
  check(q ** BigInt(t) >= answers.size, "field and dimension must give a vector for each answer");
  const values = a + (q - 1n) * b;
  const directions = points(q, t);
  below(62n, directions * values);
  const reports = numbers(directions * q);
  const draw = (x, bytes) => {
    const u = uniform(directions * values, bytes);
    const hash = Number(hashed(x, u / values, q, t));
    return reports.code((u / values) * q + BigInt(truthOrLie(hash, u % values, a, b)));
  };
  const held = heldByHashes(share(a, values), share(points(q, t - 1), directions), Number(q));
  return { answers, reports, epsilon: spent(b, a), draw, held };
}

// Any two distinct numbers modulo the prime: so many hashes stand for one number more.
function meeting(prime, values) {
  const [size, larger] = [Math.floor(prime / values), prime % values];
  return (larger * (size + 1) * size + (values - larger) * size * (size - 1)) / (prime * (prime - 1));
}

function affine({ domain, odds, prime, values }) {
  const answers = labels("domain", domain);
  whole("prime", prime, Math.max(3, answers.size), 2 ** 32 - 5);
  whole("values", values, 2, prime - 1);
  check(isPrime(prime), "prime must be a prime number");
  const [a, b] = oddsOf(odds);
  const [p, g] = [BigInt(prime), BigInt(values)];
  below(62n, a + (g - 1n) * b);
  const draw = (x, bytes) => {
    const alpha = uniform(p - 1n, bytes) + 1n;
    const beta = uniform(p, bytes);
    const u = uniform(a + (g - 1n) * b, bytes);
    const hash = Number(((alpha * BigInt(x) + beta) % p) % g);
    return `${alpha}:${beta}:${truthOrLie(hash, u, a, b)}`;
  };
  const lengths = [prime - 1, prime - 1, values - 1].map((most) => `${most}`.length);
  const padded = (report) => report.split(":").map((part, i) => part.padStart(lengths[i], "0")).join(":");
  const held = heldByHashes(share(a, a + (g - 1n) * b), meeting(prime, values), values);
  return { answers, reports: texts(padded), epsilon: spent(b, a), draw, held };
}

function hashing(json) {
  const kinds = { linear: [linear, ["field", "dimension"]], affine: [affine, ["prime", "values"]] };
  check(json.hash === "linear" || json.hash === "affine", 'hash must be "linear" or "affine"');
  const [read, needed] = kinds[json.hash];
  const given = ["field", "dimension", "prime", "values"].filter((name) => Object.hasOwn(json, name));
  check(`${given}` === `${needed}`, `with hash "${json.hash}" it must have ${needed.join(" and ")}`);
  return read(json);
}

// Hadamard response

function hadamard({ domain, odds, bits }) {
  const answers = labels("domain", domain);
  whole("bits", bits, 2, 60);
  check(2 ** bits > answers.size, "2^bits must be above the number of answers");
  const [a, b] = oddsOf(odds);
  const t = BigInt(bits);
  below(62n, (a + b) << t);
  const reports = numbers(1n << t);
  const draw = (x, bytes) => {
    const u = uniform((a + b) << t, bytes);
    const [vector, point] = [u % (1n << t), BigInt(x) + 1n];
    let even = true;
    for (let rest = vector & point; rest; rest >>= 1n) if (rest & 1n) even = !even;
    return reports.code(even === u >> t >= a ? vector ^ (point & -point) : vector);
  };
  return { answers, reports, epsilon: spent(b, a), draw, held: [share(a, a + b), 1 / 2] };
}

// Two rounds: the permanent response to a key, which a memo keeps (memo.js), and reports from it. Without a memo both are
// drawn afresh, as for a person's first report.

function twice({ hash = () => 0n, key = (x) => x, permanent, again, ...facts }) {
  const draw = (x, bytes) => {
    const number = hash(bytes);
    return again(permanent(key(x, number), bytes), number, bytes);
  };
  return { ...facts, rounds: { hash, key, permanent, again }, draw };
}

// Whether two domains are the same; ranges, which may be long, are by their ends.
const same = (one, other, listed) => {
  if (one.size !== other.size || one.at(0) !== other.at(0)) return false;
  for (let i = 1; listed && i < one.size; i++) if (one.at(i) !== other.at(i)) return false;
  return true;
};

function memoized({ first, second }) {
  const [one, two] = [design(first), design(second)];
  const listed = Array.isArray(first.domain) || Array.isArray(second.domain);
  const kinds = `${one.mechanism}, ${two.mechanism}`;
  check(one.epsilon < Infinity, "first must have a finite epsilon");
  if (kinds === "unary encoding, unary encoding") {
    check(same(one.answers, two.answers, listed), "second must have the domain of first");
    return bitRounds(one, two, rates(first), rates(second));
  }
  if (kinds === "bit flips, randomized response") {
    check(same(labels("domain", { first: 0, size: 2 }), two.answers, listed), "second must have the domain 0 and 1");
    return flipRounds(one, first.size, bitOdds(first.odds), oddsOf(second.odds));
  }
  const hashes = kinds === "local hashing, randomized response" && first.hash === "linear";
  check(hashes || kinds === "randomized response, randomized response", "first and second must be rounds that fit");
  const [[a, b], [c, d]] = [oddsOf(first.odds), oddsOf(second.odds)];
  const size = BigInt(two.answers.size);
  // One report of both rounds: a randomized response again
  const [high, low] = [a * c + (size - 1n) * b * d, a * d + b * c + (size - 2n) * b * d];
  const divisor = gcd(high, low);
  below(320n, (high + (size - 1n) * low) / divisor);
  const { answers, reports } = one;
  const epsilon = spent(low, high);
  if (!hashes) {
    check(same(answers, two.answers, listed), "second must have the domain of first");
    const truth = one.chance(0, 0) * two.chance(0, 0) + (answers.size - 1) * one.chance(0, 1) * two.chance(0, 1);
    const chance = (x, y) => (x === y ? truth : (1 - truth) / (answers.size - 1));
    const again = (response, _, bytes) => two.draw(response, bytes);
    return twice({ answers, reports, epsilon, chance, symmetric: true, permanent: one.draw, again });
  }
  const [q, t] = [BigInt(first.field), first.dimension];
  const values = labels("domain", { first: 0, size: first.field });
  check(same(values, two.answers, listed), "second must have the hash values of first for its domain");
  return twice({
    answers,
    reports,
    epsilon,
    held: one.held.map((rate) => rate * two.chance(0, 0) + (1 - rate) * two.chance(0, 1)),
    hash: (bytes) => uniform(points(q, t), bytes),
    key: (x, direction) => Number(hashed(x, direction, q, t)),
    permanent: (value, bytes) => truthOrLie(value, uniform(a + (q - 1n) * b, bytes), a, b),
    again: (response, direction, bytes) => reports.code(direction * q + BigInt(two.draw(response, bytes))),
  });
}

function bitRounds({ answers, reports, held: before }, { held: [kept, flipped] }, first, second) {
  const { one: [c, e], zero: [d, f] } = second;
  // A bit that is 1 with probability n/m is 1 in the report with probability n/m c/e + (1 - n/m) d/f.
  const chained = ([n, m]) => {
    const [top, bottom] = [n * c * f + (m - n) * d * e, m * e * f];
    return [top / gcd(top, bottom), bottom / gcd(top, bottom)];
  };
  const chain = { one: chained(first.one), zero: chained(first.zero) };
  narrow(chain);
  const permanent = (x, bytes) => unaryBits(x, answers.size, first, bytes);
  const again = (bits, _, bytes) => {
    const ones = drawnBits(answers.size, c, e, bytes);
    const zeros = drawnBits(answers.size, d, f, bytes);
    return packed(bits.map((bit, i) => (bit ? ones[i] : zeros[i])));
  };
  const held = before.map((rate) => rate * kept + (1 - rate) * flipped);
  return twice({ answers, reports, epsilon: spentByBits(chain), held, permanent, again });
}

function flipRounds({ answers, reports }, size, [s, t], [c, e]) {
  const [high, low] = [s * c + t * e, s * e + t * c];
  const divisor = gcd(high, low);
  const chain = [high / divisor, low / divisor];
  below(320n, chain[0] + chain[1]);
  return twice({
    answers,
    reports,
    epsilon: spentByFlips(size, chain),
    held: chain.map((bit) => (share(bit, chain[0] + chain[1]) * size) / answers.size),
    hash: (bytes) => assigned(answers.size, size, bytes),
    key: (x, asked) => Math.min(rank(x, asked), size), // all answers that are not asked about are one
    permanent: (key, bytes) => flipped(size, key, [s, t], bytes),
    again: (bits, asked, bytes) => {
      const turned = drawnBits(size, e, c + e, bytes);
      return withBits(asked, bits.map((bit, i) => bit ^ turned[i]));
    },
  });
}

// Several questions, each with a device of its own; the last one changes fastest

function joint(parts, what) {
  const size = parts.reduce((cells, part) => cells * part.size, 1);
  check(size <= 65536, `there must be at most 65,536 joint ${what}`);
  const split = (code) => {
    const codes = [];
    for (const part of [...parts].reverse()) {
      codes.unshift(code % part.size);
      code = Math.floor(code / part.size);
    }
    return codes;
  };
  const list = Array.from({ length: size }, (_, code) => split(code).map((i, place) => parts[place].at(i)).join(" & "));
  return { ...labels(what, list), split };
}

function questions({ questions, designs }) {
  const names = (list) => list.every((name) => typeof name === "string" && name) && new Set(list).size === list.length;
  check(Array.isArray(questions) && questions.length > 1 && names(questions), "questions must be two names or more");
  check(Array.isArray(designs) && designs.length === questions.length, "there must be a design for each question");
  const parts = designs.map(design);
  check(parts.every((part) => part.reports.indexOf), "a report to each question must be one of its labels");
  check(parts.every((part) => part.answers.size <= 4096), "a question must have at most 4,096 answers");
  const answers = joint(parts.map((part) => part.answers), "answers");
  const reports = joint(parts.map((part) => part.reports), "reports");
  const draw = (x, bytes) => {
    const truths = answers.split(x);
    return parts.reduce((code, part, i) => code * part.reports.size + part.draw(truths[i], bytes), 0);
  };
  // Sums of doubles may round down; so does the factor make up for it.
  const epsilon = parts.reduce((sum, part) => sum + part.epsilon, 0) * (1 + 2 ** -48);
  const chance = (x, y) => {
    const [truths, said] = [answers.split(x), reports.split(y)];
    return parts.reduce((product, part, i) => product * part.chance(truths[i], said[i]), 1);
  };
  return { answers, reports, epsilon, draw, chance };
}

// Numbers on a grid, and other answers in an order

const ascending = (answers) => {
  const rises = (i) => typeof answers.at(i) === "string" || answers.at(i) > answers.at(i - 1);
  for (let i = 1; i < answers.size; i++) check(rises(i), "domain must hold numbers in ascending order");
};

// Reports up to so many steps beyond either end; as places where answers are no even grid of integers
function continued(answers, grid, width) {
  const step = grid && typeof answers.at(0) === "number" ? Number(grid.step) : 0;
  const size = answers.size + 2 * width;
  const first = step ? answers.at(0) - width * step : -width;
  const said = grid ? (report) => ["sentNear", onGrid(grid, report - width)] : undefined;
  return { ...labels("reports", { first, size, ...(step > 1 && { step }) }), said };
}

function squareWave({ domain, odds, width }) {
  const answers = labels("domain", domain);
  const k = answers.size;
  ascending(answers);
  whole("width", width, 0, Math.floor((k - 2) / 2));
  const [a, b] = oddsOf(odds);
  const near = a * BigInt(2 * width + 1);
  const total = near + b * BigInt(k - 1);
  below(62n, total);
  const draw = (x, bytes) => {
    const u = uniform(total, bytes);
    const far = Number((u < near ? 0n : u - near) / (b || 1n));
    return u < near ? x + Number(u / a) : far + (far < x ? 0 : 2 * width + 1);
  };
  const grid = gridOf(answers);
  const chance = (x, y) => share(y >= x && y <= x + 2 * width ? a : b, total);
  // Between numbers, and in their unit
  const told = grid ? ["oddsNear", share(near, total), onGrid({ ...grid, units: 0n }, width)] : undefined;
  const reports = continued(answers, grid, width);
  return { answers, reports, epsilon: spent(b, a), draw, chance, told, ordered: true };
}

function cutoffResponse({ domain, odds, gaps }) {
  const answers = labels("domain", domain);
  ascending(answers);
  const [a, b] = oddsOf(odds);
  const given = wholes("gaps", gaps, answers.size - 1);
  const divisor = given.reduce(gcd);
  check(given.every((gap) => gap), "gaps must be above 0");
  let whole = 0n;
  const ends = given.map((gap) => (whole += gap / divisor));
  const total = whole * (a + b);
  below(62n, total);
  const list = ends.flatMap((_, i) => [`< ${answers.at(i + 1)}`, `>= ${answers.at(i + 1)}`]);
  const draw = (x, bytes) => {
    const u = uniform(total, bytes);
    const before = ends.filter((end) => end <= u / (a + b)).length;
    return 2 * before + Number(x > before === u % (a + b) < a);
  };
  const chance = (x, y) => {
    const before = y >> 1; // answers below the cut-off of a report, but for one
    return share((given[before] / divisor) * (x > before === (y % 2 === 1) ? a : b), total);
  };
  const said = (report) => [report % 2 ? "sentAtLeast" : "sentBelow", `${answers.at((report >> 1) + 1)}`];
  const told = gridOf(answers) ? ["oddsCutoff", share(a, a + b), ""] : undefined;
  const reports = { ...labels("reports", list), said };
  return { answers, reports, epsilon: spent(b, a), draw, chance, told, ordered: true };
}

// Several questions, some of which are drawn: `drawn` gives their positions. They are no single answer, and no list.

const several = {
  answers: { size: 0, at: () => undefined, indexOf: () => -1 },
  reports: { at: (report) => report },
  draw() {
    throw new TypeError("this design has several questions: draw them, and randomize the answers to these alone");
  },
};

function split({ questions, designs, asked }) {
  check(Array.isArray(questions) && new Set(questions).size === questions.length && questions.every((name) => typeof name === "string" && name),
    "questions must be distinct names");
  check(questions.length > 1 && Array.isArray(designs) && designs.length === questions.length, "designs must be one for each of two questions or more");
  whole("asked", asked, 1, questions.length);
  const parts = designs.map((one) => (one.format ? design(one) : one));
  const spending = parts.map(({ epsilon }) => epsilon).sort((one, other) => other - one).slice(0, asked);
  const epsilon = spending.reduce((sum, one) => sum + one) * (1 + 2 ** -48); // more than the sum may lack
  const drawn = (bytes = random) => [...assigned(questions.length, asked, bytes).entries()].flatMap(([i, bit]) => (bit ? [i] : []));
  return { ...several, parts, asked, epsilon, drawn };
}

// Options of which any number apply: each is a question of its own; or one of at most so many is drawn, where blanks fill
// them up, and goes through randomized response among all options and blanks.
function selectAll({ options, odds, asked, at_most: most }) {
  check(Array.isArray(options) && options.every((name) => typeof name === "string"), "options must be texts");
  const answers = labels("options", options);
  const k = answers.size;
  const response = (domain, [a, b]) =>
    design({ format: "warner design", version: 1, mechanism: "randomized response", domain, odds: [`${a}`, `${b}`] });
  if (most === null) {
    const each = response(["yes", "no"], ratio("odds", odds));
    return { ...split({ questions: options, designs: options.map(() => each), asked }), answers, each };
  }
  whole("at_most", most, 1, k - 1);
  whole("asked", asked, 1, 1);
  const [[a, b], l] = [oddsOf(odds), BigInt(most)];
  const total = l * a + BigInt(k) * b;
  below(62n, total);
  const blanks = Array.from({ length: most }, (_, i) => `none ${i + 1}`);
  const one = response([...options, ...blanks], [b + l * (a - b), b]);
  // Of more than so many, one of all: as if some had been left out by chance.
  const pick = (places, bytes) => {
    const u = Number(uniform(Math.max(most, places.length), bytes));
    return one.draw(places[u] ?? k + u - places.length, bytes);
  };
  return { answers, reports: { ...one.reports, blanks: k }, epsilon: spent(b, a), draw: (x, bytes) => pick([x], bytes), pick, most,
    held: [share(a, total), share(b, total)] };
}

for (const [name, ...read] of [
  ["subset selection", subset, ["domain", "odds", "size"], []],
  ["unary encoding", unary, ["domain", "one", "zero"], []],
  ["bit flips", bitFlips, ["domain", "odds", "size"], []],
  ["local hashing", hashing, ["domain", "odds", "hash"], ["field", "dimension", "prime", "values"]],
  ["Hadamard response", hadamard, ["domain", "odds", "bits"], []],
  ["projective geometry response", projective, ["domain", "odds", "field", "dimension"], []],
  ["memoized", memoized, ["first", "second"], []],
  ["product", questions, ["questions", "designs"], []],
  ["square wave", squareWave, ["domain", "odds", "width"], []],
  ["cutoff response", cutoffResponse, ["domain", "odds", "gaps"], []],
  ["open domain", openDomain, ["values", "steps", "levels", "odds", "field"], []],
  ["split questionnaire", split, ["questions", "designs", "asked"], []],
  ["select all", selectAll, ["options", "odds", "asked", "at_most"], []],
])
  mechanisms.set(name, read);
