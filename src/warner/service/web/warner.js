// Randomized response: from the same bytes the same report as in Python. MIT.

export const check = (kept, rule) => {
  if (!kept) throw new TypeError(`this design is damaged: ${rule}`);
};

export const random = (size) => crypto.getRandomValues(new Uint8Array(size));

// Beyond the last whole block of total, again
export function uniform(total, bytes = random) {
  total = BigInt(total);
  let words = 1; // of 64 bits, with a bit to spare
  for (let rest = total >> 63n; rest; rest >>= 64n) words++;
  const limit = ((1n << BigInt(64 * words)) / total) * total;
  for (;;) {
    const { buffer, byteOffset } = bytes(8 * words);
    const view = new DataView(buffer, byteOffset, 8 * words);
    let number = 0n;
    for (let i = words; i--; ) number = (number << 64n) | view.getBigUint64(8 * i, true);
    if (number < limit) return number % total;
  }
}

const gcd = (a, b) => (b ? gcd(b, a % b) : a);

export function wholes(name, json, size) {
  const whole = (text) => typeof text === "string" && /^\d{1,99}$/.test(text);
  check(Array.isArray(json) && json.length === size && json.every(whole), `${name} must be ${size} decimal strings`);
  return json.map(BigInt);
}

export function ratio(name, json) {
  const [a, b] = wholes(name, json, 2);
  const divisor = gcd(a, b);
  check(divisor, `${name} must not both be 0`);
  return [a / divisor, b / divisor];
}

export const below = (bits, total) => check(total < 1n << bits, `numbers must sum below 2^${bits}`);

// ln(high/low) by the series of artanh, in units of 2^-256, hardly too small
function log(high, low) {
  const z = ((high - low) << 256n) / (high + low);
  let sum = 0n;
  for (let power = z, n = 1n; power; power = (power * z * z) >> 512n, n += 2n) sum += (2n * power) / n;
  return sum;
}

// ln(high/low), rounded up to a double, as in Python
export function spent(low, high) {
  if (!low || low === high) return low ? 0 : Infinity;
  let twos = 0n;
  for (; high > low << 1n; twos++) low <<= 1n;
  const sum = log(high, low) + twos * log(2n, 1n) + 2n ** 18n; // no longer too small
  const rest = Math.max(sum.toString(2).length - 53, 0); // bits that no double holds
  return Number(((sum - 1n) >> BigInt(rest)) + 1n) * 2 ** (rest - 256);
}

// A probability, to be said in words
export const share = (a, b) => Number((a * 10n ** 18n) / b) / 1e18;

// The truth if u is below a, else one of the lies in order
export function truthOrLie(x, u, a, b) {
  const lie = Number((u < a ? 0n : u - a) / (b || 1n));
  return u < a ? x : lie + (lie >= x);
}

const safe = Number.isSafeInteger;
const text = (label) => typeof label === "string" && label && label.isWellFormed() && !label.includes("\0");

// A range of integers is not listed.
export function labels(name, json) {
  const rule = `${name} must be two or more distinct labels: texts, without NUL, or integers; beyond 2^53 use strings`;
  if (Array.isArray(json)) {
    const places = new Map(json.map((label, i) => [label, i]));
    const list = [...places.keys()];
    check(list.length === json.length && list.length > 1 && (list.every(text) || list.every(safe)), rule);
    return { size: list.length, at: (i) => list[i], indexOf: (label) => places.get(label) ?? -1 };
  }
  const { first, size, step = 1, ...more } = json ?? {};
  const last = first + step * (size - 1);
  check([first, size, step, last].every(safe) && size > 1 && json.step !== 1 && step > 0 && !Object.keys(more).length, rule);
  const place = (label) => (safe(label) && label >= first && label <= last ? (label - first) / step : -1);
  return { size, step, at: (i) => first + step * i, indexOf: (label) => (safe(place(label)) ? place(label) : -1) };
}

function response({ domain, odds }) {
  const answers = labels("domain", domain);
  const [a, b] = ratio("odds", odds);
  const total = a + BigInt(answers.size - 1) * b;
  below(320n, total);
  const draw = (x, bytes) => truthOrLie(x, uniform(total, bytes), a, b);
  const chance = (x, y) => share(x === y ? a : b, total);
  return { answers, reports: answers, epsilon: a < b ? spent(a, b) : spent(b, a), draw, chance, symmetric: true };
}

function channel({ domain, outputs, weights, procedure = "", name = "" }) {
  check(typeof procedure === "string" && typeof name === "string", "procedure and name must be texts");
  const answers = labels("domain", domain);
  const reports = labels("outputs", outputs);
  check(Array.isArray(weights) && weights.length === answers.size, "weights must be a row for each answer");
  const rows = weights.map((row) => wholes("weights", row, reports.size));
  const divisor = rows.flat().reduce(gcd) || 1n;
  let total;
  const running = rows.map((row) => ((total = 0n), row.map((weight) => (total += weight / divisor))));
  check(total && running.every((row) => row.at(-1) === total), "weights must have one row sum, above 0");
  below(320n, total);
  let epsilon = 0;
  for (const j in rows[0]) {
    const weights = rows.map((row) => row[j]);
    const high = weights.reduce((a, b) => (a > b ? a : b));
    if (high) epsilon = Math.max(epsilon, spent(weights.reduce((a, b) => (a < b ? a : b)), high));
  }
  const column = (sums, u) => sums.filter((sum) => sum <= u).length;
  const draw = (x, bytes) => column(running[x], uniform(total, bytes));
  const chance = (x, y) => share(rows[x][y], total * divisor);
  return { answers, reports, epsilon, draw, chance };
}

// How each is read, the fields that it needs, and may have
export const mechanisms = new Map([
  ["randomized response", [response, ["domain", "odds"], []]],
  ["channel", [channel, ["domain", "outputs", "weights"], ["procedure", "name"]]],
]);

export function design(json) {
  check(json?.format === "warner design" && json.version === 1, "it must be a design of version 1");
  const { mechanism } = json;
  const known = mechanisms.has(mechanism);
  if (!known && mechanisms.size < 3) throw new TypeError('mechanism unknown here: import "warner/sets.js" first');
  check(known, "mechanism unknown");
  const [read, needed, optional] = mechanisms.get(mechanism);
  const names = ["format", "version", "mechanism", ...needed];
  const missing = names.filter((name) => !Object.hasOwn(json, name));
  const strange = Object.keys(json).filter((name) => ![...names, ...optional].includes(name));
  check(!missing.length && !strange.length, `fields are missing (${missing}) or strange (${strange})`);
  return Object.freeze({ mechanism, ...read(json) });
}

export const randomize = (design, answer) => design.reports.at(randomizeCode(design, design.answers.indexOf(answer)));

// Only tests give bytes: whoever knew them could undo the draw.
export function randomizeCode(design, position, bytes = random) {
  const { size } = design.answers;
  const big = typeof position === "bigint" && typeof size === "bigint";
  if (!((safe(position) || big) && position >= 0 && position < size))
    throw new RangeError("the answer must be one of the design's");
  return design.draw(position, bytes);
}
