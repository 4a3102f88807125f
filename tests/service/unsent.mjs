// What `submit` sends and returns in one tab, as its network fails and its page is loaded again. Reads steps from standard
// input; writes for each its outcome (null if no reply came), what was sent, and what the tab stores. With the argument
// "full" nothing can be stored, and with "forbidden" storage cannot be used at all.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

class Stored {
  getItem(key) { return Object.hasOwn(this, key) ? this[key] : null; }
  setItem(key, text) {
    if (process.argv[2] === "full") throw new DOMException("", "QuotaExceededError");
    this[key] = `${text}`;
  }
  removeItem(key) { delete this[key]; }
}

let sent, reply;
const never = new Promise(() => {});
const post = async (url, { body }) => {
  sent.push(body);
  const next = reply.shift();
  return next ? Response.json(next) : never;
};
const warned = [];
Object.assign(globalThis, { isSecureContext: true, sessionStorage: new Stored(), fetch: post, addEventListener() {}, removeEventListener() {} });
const stored = sessionStorage;
if (process.argv[2] === "forbidden")
  Object.defineProperty(globalThis, "sessionStorage", { get() { throw new DOMException("", "SecurityError"); } });
console.warn = (line) => warned.push(line);

const { submit } = await import(`${pathToFileURL(process.env.WARNER_WEB)}/page.js`);
const steps = JSON.parse(readFileSync(0, "utf8"));
const results = [];
for (const { survey, answers, replies, options } of steps) {
  [sent, reply] = [[], replies];
  const submitted = submit("https://survey.example/s/test", survey, answers, options);
  const lost = replies.includes(null); // no reply comes, and the page is left once this was sent
  while (lost && !sent.length) await new Promise((done) => setTimeout(done));
  const outcome = lost ? null : await submitted;
  results.push({ outcome, sent, stored: Object.values(stored), warned: warned.splice(0) });
}
console.log(JSON.stringify(results));
process.exit();
