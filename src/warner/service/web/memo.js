// A memo of one respondent under a memoized design: every report starts from the same permanent response, which is derived
// again each time from 32 secret bytes, as Python's Memo.from_secret does it (docs/how-to/repeated-questions.md). MIT.

import { fingerprint } from "./fingerprint.js";
import "./sets.js";
import { design, ratio } from "./warner.js";

// BLAKE2b (RFC 7693) of at most 128 bytes, under a key, in words of 64 bits, which wrap around by themselves

const START = [
  0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n,
];
const ORDER = [
  "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
  "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0",
].map((digits) => [...digits].map((digit) => parseInt(digit, 16)));
const QUARTERS = [
  [0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15], [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14],
];
const PERSON = text("warner memo");

function text(string) {
  return new TextEncoder().encode(string);
}

// Little-endian, whatever the machine is
function words(bytes, count) {
  const view = new DataView(new ArrayBuffer(8 * count));
  bytes.forEach((byte, i) => view.setUint8(i, byte));
  return BigUint64Array.from({ length: count }, (_, i) => view.getBigUint64(8 * i, true));
}

function compress(state, block, length, last) {
  const m = words(block, 16);
  const v = BigUint64Array.from([...state, ...START]);
  v[12] ^= BigInt(length);
  if (last) v[14] = ~v[14];
  const turned = (word, bits) => (word >> bits) | (word << (64n - bits));
  for (let round = 0; round < 12; round++) {
    const order = ORDER[round % 10];
    QUARTERS.forEach(([a, b, c, d], i) => {
      for (const [word, first, second] of [[m[order[2 * i]], 32n, 24n], [m[order[2 * i + 1]], 16n, 63n]]) {
        v[a] += v[b] + word;
        v[d] = turned(v[d] ^ v[a], first);
        v[c] += v[d];
        v[b] = turned(v[b] ^ v[c], second);
      }
    });
  }
  state.forEach((_, i) => (state[i] ^= v[i] ^ v[i + 8]));
}

function blake2b(key, data) {
  const state = BigUint64Array.from(START);
  state[0] ^= 0x01010000n | (BigInt(key.length) << 8n) | 64n;
  words(PERSON, 2).forEach((word, i) => (state[6 + i] ^= word));
  compress(state, key, 128, false);
  compress(state, data, 128 + data.length, true);
  const digest = new DataView(new ArrayBuffer(64));
  state.forEach((word, i) => digest.setBigUint64(8 * i, word, true));
  return new Uint8Array(digest.buffer);
}

// A round in the one spelling that Python gives it: the fingerprint must be the same
function spelled(round) {
  const { domain } = round;
  const first = Array.isArray(domain) && domain[0];
  const consecutive = Number.isSafeInteger(first) && domain.every((label, i) => label === first + i);
  const reduced = ["odds", "one", "zero"].filter((name) => round[name]);
  const fractions = reduced.map((name) => [name, ratio(name, round[name]).map(String)]);
  return { ...round, ...(consecutive && { domain: { first, size: domain.length } }), ...Object.fromEntries(fractions) };
}

/** Design for `randomize` with the permanent responses of this respondent. */
export async function memo(json, secret) {
  const read = design(json);
  if (!read.rounds) throw new TypeError("only memoized designs need a memo: this one draws each report afresh");
  if (!(secret instanceof Uint8Array && secret.length === 32))
    throw new TypeError("secret must be 32 random bytes, a Uint8Array that is kept on this person's device");
  if (!crypto.subtle) throw new Error("a memo needs a secure context: a page from https, or from localhost");
  const own = Uint8Array.from(secret); // before anything is waited for: the caller may wipe the secret at once
  const print = await fingerprint({ ...json, first: spelled(json.first), second: spelled(json.second) });
  const about = print.match(/../g).map((digits) => parseInt(digits, 16));
  const word = (number) => Array.from({ length: 8 }, (_, i) => Number((BigInt(number) >> BigInt(8 * i)) & 255n));
  // Random bytes for one purpose, always the same: blocks of 64 for each number that is counted up
  const derived = (purpose, key = []) => {
    let [waiting, counter] = [[], 0];
    return (size) => {
      while (waiting.length < size)
        waiting.push(...blake2b(own, [...about, ...text(purpose), 0, ...key, ...word(counter++)]));
      return Uint8Array.from(waiting.splice(0, size));
    };
  };
  const { hash, key, permanent, again } = read.rounds;
  const number = hash(derived("hash"));
  const draw = (x, bytes) => {
    const kept = key(x, number);
    return again(permanent(kept, derived("permanent", word(kept))), number, bytes);
  };
  return Object.freeze({ ...read, draw });
}
