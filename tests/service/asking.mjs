// What the page draws before it asks, in Node: reads {survey, people, answers} from standard input. Writes the bodies of
// people, whose choices are given for all items; what one tab is asked before and after it is loaded again, and after a
// response was sent; and how often each set is drawn, over all bytes.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const stored = new Map();
const sessionStorage = {
  getItem: (key) => stored.get(key) ?? null, setItem: (key, text) => stored.set(key, `${text}`), removeItem: (key) => stored.delete(key),
};
const sent = [];
const fetch = async (url, { body }) => {
  sent.push(body);
  return Response.json({ kept: true });
};
Object.assign(globalThis, { isSecureContext: true, sessionStorage, fetch, addEventListener() {}, removeEventListener() {} });

const folder = pathToFileURL(process.env.WARNER_WEB);
const { asked, body, drawn, opened, submit } = await import(`${folder}/page.js?${Math.random()}`);
const { survey, people = [], answers = null, sets = [], labels = null, other = null } = JSON.parse(readFileSync(0, "utf8"));
const form = await opened(survey);
const respond = (choices) => {
  const places = drawn(form);
  return body(form, choices.map((choice, i) => (places.includes(i) ? choice : null)));
};
const result = { epsilon: form.epsilon, bodies: people.map(respond), counts: [] };

if (answers) {
  result.first = await asked(survey);
  result.stored = [...stored];
  const again = [];
  for (let i = 0; i < 20; i++) again.push(await asked(survey));
  result.again = again;
  result.invited = await asked(survey, { token: other });
  result.outcome = await submit("https://survey.example/s/test", survey, answers);
  [result.sent, result.left] = [sent, [...stored.keys()]];
}

// Every byte for each question but the last, whose byte decides nothing. Bytes that are undecided ask for another one, and
// go on as if they had not been there: 256 leaves 1 after division by 3.
for (const [total, size] of sets) {
  const questions = Array.from({ length: total }, (_, i) => `q${i}`);
  const coin = { format: "warner design", version: 1, mechanism: "randomized response", domain: ["yes", "no"], odds: ["3", "1"] };
  const { design } = await import(`${folder}/warner.js`);
  await import(`${folder}/sets.js`);
  const designs = questions.map(() => coin);
  const split = design({ format: "warner design", version: 1, mechanism: "split questionnaire", questions, designs, asked: size });
  const counts = {};
  const bytes = new Uint8Array(total);
  for (let number = 0; number < 256 ** (total - 1); number++) {
    for (let i = 0; i < total - 1; i++) bytes[i] = number >> (8 * i);
    let taken = 0;
    const source = (length) => {
      if (taken + length > total) throw new RangeError("undecided");
      return bytes.slice(taken, (taken += length));
    };
    try {
      const set = split.drawn(source).join();
      counts[set] = (counts[set] ?? 0) + 1;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      counts.undecided = (counts.undecided ?? 0) + 1;
    }
  }
  result.counts.push(counts);
}
// Of boxes: how often each report comes of each set of ticks, over all numbers below the two totals.
for (const [json, total] of labels ?? []) {
  const { design } = await import(`${folder}/warner.js`);
  await import(`${folder}/sets.js`);
  const read = design(json);
  const words = (...numbers) => {
    const all = new DataView(new ArrayBuffer(16));
    numbers.forEach((number, i) => all.setBigUint64(8 * i, BigInt(number), true));
    let taken = 0;
    return (size) => new Uint8Array(all.buffer.slice(taken, (taken += size)));
  };
  result.counts = [...Array(2 ** read.answers.size).keys()].map((set) => {
    const ticked = [...Array(read.answers.size).keys()].filter((i) => (set >> i) & 1);
    const [first, counts] = [Math.max(read.most, ticked.length), Array(read.reports.size).fill(0)];
    for (let u = 0; u < first; u++) for (let v = 0; v < total; v++) counts[read.pick(ticked, words(u, v))]++;
    return { ticked, first, counts };
  });
}
process.stdout.write(JSON.stringify(result), () => process.exit());
