// The browser's modules in Node: run by tests/service/test_vectors.py, which names the folder, the vectors and the
// fingerprints in the environment.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { disagreements } from "./vectors.mjs";

const module = (name) => import(`${pathToFileURL(process.env.WARNER_WEB)}/${name}`);
const alone = await module("warner.js?alone"); // another instance, to which sets.js does not belong
const warner = await module("warner.js");
await module("sets.js");
const { fingerprint } = await module("fingerprint.js");
const { design, randomize, randomizeCode, uniform } = warner;
const file = JSON.parse(readFileSync(process.env.WARNER_VECTORS, "utf8"));

const written = (mechanism, fields) => ({ format: "warner design", version: 1, mechanism, ...fields });
const response = (domain, a, b) => written("randomized response", { domain, odds: [`${a}`, `${b}`] });

/** Bytes of a generator that anybody can write down: the same for every answer. */
function generated(seed) {
  let state = seed;
  const source = (size) => {
    source.used += size;
    return Uint8Array.from({ length: size }, () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) >>> 24);
  };
  source.used = 0;
  return source;
}

/** The words of these numbers, as bytes. */
function words(...numbers) {
  const all = new DataView(new ArrayBuffer(8 * numbers.length));
  numbers.forEach((number, i) => all.setBigUint64(8 * i, BigInt(number), true));
  let taken = 0;
  return (size) => new Uint8Array(all.buffer.slice(taken, (taken += size)));
}

test("vectors are drawn byte by byte, and damaged designs refused", () => {
  const { draws, damaged, found } = disagreements(warner, file);
  assert.deepEqual(found, []);
  assert.ok(draws > 1000 && damaged > 200);
});

test("several questions are drawn, and never randomized as if they were one", () => {
  const { design: json } = file.several.find(({ design }) => design.mechanism === "select all" && design.at_most === null);
  const read = design(json);
  for (let i = 0; i < 100; i++) {
    const places = read.drawn();
    assert.equal(new Set(places).size, json.asked);
    assert.ok(places.every((place) => json.options[place]));
    assert.ok(["yes", "no"].includes(randomize(read.parts[places[0]], "yes")));
  }
  assert.throws(() => randomize(read, json.options[0]), /^TypeError: this design has several questions/);
  const [{ design: split }] = file.several;
  assert.throws(() => randomize(design(split), "yes"), RangeError);
});

test("every report has exactly its probability", () => {
  for (const [json, law] of [
    [response(["a", "b", "c"], 3, 1), [[3, 1, 1], [1, 3, 1], [1, 1, 3]]],
    [response({ first: 0, size: 3 }, 1, 2), [[1, 2, 2], [2, 1, 2], [2, 2, 1]]],
    [response({ first: 0, size: 3 }, 0, 1), [[0, 1, 1], [1, 0, 1], [1, 1, 0]]],
    [
      written("channel", { domain: ["a", "b"], outputs: ["x", "y", "z"], weights: [["4", "0", "2"], ["1", "5", "0"]] }),
      [[4, 0, 2], [1, 5, 0]],
    ],
  ]) {
    const read = design(json);
    const total = law[0].reduce((sum, weight) => sum + weight);
    law.forEach((row, x) => {
      const counts = row.map(() => 0);
      for (let u = 0; u < total; u++) counts[randomizeCode(read, x, words(u))]++;
      assert.deepEqual(counts, row);
    });
  }
});

test("reports that stand for sets have one of two probabilities, whose ratio is epsilon's", () => {
  const numbered = file.vectors.filter(({ design: { odds, bits, field, domain } }) => {
    const small = (Array.isArray(domain) ? domain.length : domain?.size) < 20;
    return odds && small && (bits < 5 || field < 5);
  });
  assert.ok(numbered.length > 8);
  for (const { design: json } of numbered) {
    const read = design(json);
    const [a, b] = json.odds.map(Number);
    const q = json.field ?? 2;
    const ways = json.bits
      ? (a + b) * 2 ** json.bits
      : json.hash
        ? ((q ** json.dimension - 1) / (q - 1)) * (a + (q - 1) * b)
        : a * ((q ** (json.dimension - 1) - 1) / (q - 1)) + b * q ** (json.dimension - 1);
    const scale = json.bits ? 2 : 1; // under Hadamard response each report comes in two ways
    for (let x = 0; x < read.answers.size; x++) {
      const counts = new Array(read.reports.size).fill(0);
      for (let u = 0; u < ways; u++) counts[randomizeCode(read, x, words(u))]++;
      assert.ok(counts.every((count) => count === scale * a || count === scale * b), JSON.stringify(json));
    }
  }
});

test("a bit is 1 for exactly its share of first bytes", () => {
  const read = design(written("unary encoding", { domain: ["a", "b", "c"], one: ["1", "2"], zero: ["1", "4"] }));
  for (const [place, x, share] of [[0, 1, 64], [2, 1, 64], [3, 1, 128]]) {
    let ones = 0;
    for (let byte = 0; byte < 256; byte++) {
      const bytes = new Uint8Array(4).fill(255);
      bytes[place] = byte;
      let taken = 0;
      const report = randomizeCode(read, x, (size) => bytes.slice(taken, (taken += size)));
      if (parseInt(report, 16)) ones++;
    }
    assert.equal(ones, share);
  }
});

test("the answer does not change how much randomness is used", () => {
  for (const { design: json } of file.vectors) {
    const read = design(json);
    const some = Math.min(read.answers.size, 12);
    for (const seed of [1, 2, 3]) {
      const used = Array.from({ length: some }, (_, x) => {
        const source = generated(seed);
        randomizeCode(read, x, source);
        return source.used;
      });
      assert.equal(new Set(used).size, 1, JSON.stringify(json).slice(0, 200));
    }
  }
});

test("whole numbers are thrown away beyond the last whole block", () => {
  assert.equal(uniform(5, words(2n ** 64n - 1n, 2n ** 64n - 2n)), 4n); // 2^64 = 5 n + 1
  assert.equal(uniform(2n ** 63n, words(2n ** 64n - 1n, 0)), 2n ** 63n - 1n); // 128 bits
  assert.equal(uniform(1, words(2n ** 64n - 1n)), 0n);
  for (let i = 0; i < 1000; i++) assert.ok(uniform(3) < 3n);
});

test("labels go in and come out, by value and type, and no error names the answer", () => {
  const truth = design(response(["never", "it's \u{1f4a9}", "1"], 1, 0));
  for (const label of ["never", "it's \u{1f4a9}", "1"]) assert.equal(randomize(truth, label), label);
  const numbers = design(response({ first: -3, size: 7 }, 1, 0));
  assert.equal(randomize(numbers, -3), -3);
  assert.equal(randomize(numbers, 3), 3);
  assert.deepEqual([numbers.answers.size, numbers.answers.at(6), numbers.reports.at(0)], [7, 3, -3]);
  const listed = design(response([5, 3, 8], 1, 0));
  assert.equal(randomize(listed, 8), 8);
  for (const [read, answer] of [
    [truth, "secret"], [truth, 1], [truth, undefined], [truth, "toString"], [truth, 0],
    [numbers, "3"], [numbers, 4], [numbers, -4], [numbers, 0.5], [numbers, NaN], [numbers, 3n], [numbers, true],
    [listed, "5"], [listed, 4],
  ]) {
    const silent = (error) => error instanceof RangeError && !error.message.includes(String(answer));
    assert.throws(() => randomize(read, answer), silent);
  }
  for (const position of [-1, 3, 1.5, "1", NaN, undefined, null, 1n]) {
    assert.throws(() => randomizeCode(truth, position), RangeError);
  }
});

test("labels that JSON.parse changes are refused, with the remedy", () => {
  for (const domain of ["[9007199254740993, 1]", "[0, 1e300]", '{"first": 9007199254740991, "size": 2}', "[0.5, 1]"])
    assert.throws(() => design(response(JSON.parse(domain), 3, 1)), { name: "TypeError", message: /use strings/ });
});

test("long ranges are not listed", () => {
  const read = design(response({ first: 0, size: 2 ** 52 }, 3, 1));
  assert.equal(read.answers.indexOf(2 ** 52 - 1), 2 ** 52 - 1);
  assert.equal(randomizeCode(read, 5, words(3)), 0); // the first lie
  assert.equal(randomizeCode(read, 5, words(2 ** 52 + 1)), 2 ** 52 - 1); // the last one
});

test("without sets.js other mechanisms say what to import", () => {
  const { design: json } = file.vectors.find((vector) => vector.design.mechanism === "unary encoding");
  assert.throws(() => alone.design(json), {
    name: "TypeError",
    message: 'mechanism unknown here: import "warner/sets.js" first',
  });
  assert.throws(() => design({ ...json, mechanism: "none" }), { message: "this design is damaged: mechanism unknown" });
  assert.equal(alone.design(response(["a", "b"], 3, 1)).answers.size, 2);
});

test("every report can be written as JSON, whole numbers beyond 2^53 as texts", () => {
  const domain = { first: 0, size: 1000 };
  const wide = design(written("Hadamard response", { domain, odds: ["3", "1"], bits: 58 }));
  const reports = Array.from({ length: 20 }, () => randomize(wide, 7));
  assert.ok(reports.every((report) => typeof report === "string" && /^\d+$/.test(report)));
  assert.ok(new Set(reports).size > 18);
  assert.equal(JSON.parse(JSON.stringify(reports)).length, 20);
  assert.equal(wide.reports.at(2n ** 57n + 1n), "144115188075855873");
  assert.equal(typeof randomize(design(written("Hadamard response", { domain, odds: ["3", "1"], bits: 10 })), 7), "number");
});

test("a design is a frozen value, apart from the object that it was read from", () => {
  const json = response(["a", "b"], 1, 0);
  const read = design(json);
  json.domain[0] = "c";
  json.odds[1] = "5";
  assert.equal(randomize(read, "a"), "a");
  assert.throws(() => {
    "use strict";
    read.epsilon = 0;
  }, TypeError);
});

test("bodies have one length: hashes are padded", () => {
  const functions = { hash: "affine", prime: 101, values: 12 };
  const read = design(written("local hashing", { domain: { first: 0, size: 100 }, odds: ["3", "1"], ...functions }));
  assert.equal(read.reports.padded("7:0:3"), "007:000:03");
  for (let i = 0; i < 100; i++) assert.equal(read.reports.padded(randomize(read, i)).length, 10);
  const sets = design(written("subset selection", { domain: { first: 0, size: 9 }, odds: ["3", "1"], size: 2 }));
  assert.equal(sets.reports.padded("8080"), "8080");
});

test("reports from the operating system's randomness have their probabilities", () => {
  // Six standard errors: a false alarm in 10^8 runs or so.
  const [n, read] = [20000, design(response(["a", "b", "c"], 3, 1))];
  const truths = Array.from({ length: n }, () => randomize(read, "b")).filter((report) => report === "b").length;
  assert.ok(Math.abs(truths / n - 0.6) < 6 * Math.sqrt((0.6 * 0.4) / n));
  // More random bytes than the browser gives at a time
  const domain = { first: 0, size: 70000 };
  const wide = design(written("unary encoding", { domain, one: ["1", "2"], zero: ["1", "3"] }));
  const bits = [...randomize(wide, 3)].map((digit) => parseInt(digit, 16).toString(2)).join("");
  const ones = bits.replaceAll("0", "").length;
  assert.ok(Math.abs(ones / 70000 - 1 / 3) < 6 * Math.sqrt(2 / 9 / 70000) + 1e-4);
});

test("fingerprints are Python's", async () => {
  for (const { json, hash } of JSON.parse(process.env.WARNER_FINGERPRINTS))
    assert.equal(await fingerprint(JSON.parse(json)), hash, json);
  for (const json of ["0.5", "9007199254740993", '"\\ud83d"', '{"\\udca9": 1}', "[1e300]"])
    await assert.rejects(fingerprint(JSON.parse(json)), TypeError);
});

test("defaults of a survey are filled in as in Python", async () => {
  const { opened } = await module("page.js");
  for (const { json, hash } of JSON.parse(process.env.WARNER_SURVEYS))
    assert.equal((await opened(JSON.parse(json))).fingerprint, hash, json);
});

test("steps that are too long are refused before their values are counted", async () => {
  await module("open.js");
  const values = { kind: "text", alphabet: "ab", normalize: [], other: true };
  const json = written("open domain", { values, steps: [1e9], levels: ["1"], odds: ["3", "1"], field: 3 });
  for (const kind of [values, { kind: "number" }]) assert.throws(() => design({ ...json, values: kind }), /steps must be/);
});
