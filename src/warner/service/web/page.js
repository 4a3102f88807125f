// The respondent's page: asks the questions of a survey, randomizes the answers here, and sends reports only. MIT.
//
// It fills every element with data-warner, the address of a survey, on our own page and on those of others. An answer
// exists nowhere but in a closure and in the radio button that was pressed. On the button everything is drawn once;
// the finished body goes to sessionStorage, so that retries and reloads send the same bytes, and choices are forgotten.

import { design, mechanisms, random, randomizeCode } from "./warner.js";
import { fingerprint } from "./fingerprint.js";

const OPEN = ".".repeat(22); // the token of an open survey
const TOKEN = /^[A-Za-z0-9_-]{22}$/;
const LISTED = 12; // answers that are shown without a search
const MATCHES = 20; // answers that a search shows
const PATIENCE = 20_000; // milliseconds for a reply
const DELAYS = [1, 2, 4, 8, 15, 30, 60]; // seconds before the next attempt
const MOST_KEPT_ALIVE = 60_000; // bytes; browsers refuse keepalive for longer bodies
const MOST_ROWS = 8; // answers, and reports, of a table of odds
const SPARE = 1 + 2 ** -48; // more than a sum of logarithms may lack

// Surveys and bodies

/** Read a survey: its fingerprint, its designs, and how its bodies are written. Throws where anything is wrong. */
export async function opened(survey, expected) {
  if (survey?.format !== "warner survey" || survey.version !== 1) throw new TypeError("it must be a survey of version 1");
  const computed = await fingerprint(survey);
  if (expected && computed !== expected) throw new TypeError("the fingerprint must be that of the survey");
  if (survey.questions.some(({ design }) => !mechanisms.has(design.mechanism))) await import("./sets.js");
  const designs = survey.questions.map((question) => design(question.design));
  const largest = [...designs.map(({ reports }) => reports.size ?? 0), ...survey.groups.map(({ values }) => values.length)];
  const width = Math.max(4, ...largest.map((size) => `${BigInt(size || 1) - 1n}`.length));
  const epsilon = designs.reduce((sum, one) => sum + one.epsilon, 0) * SPARE;
  return { survey, designs, width, epsilon, fingerprint: computed };
}

// Numbers have as many digits as the widest of the survey; texts, which are sets and hashes, have a length of their own.
const code = (number, width) => `${number}`.padStart(width, "0");
const written = ({ reports }, report, width) => (reports.size ? code(report, width) : reports.padded(report));

/** Draw once, and give the finished body. Choices are positions, null for skipped; those of groups go as they are. */
export function body({ survey, designs, width, fingerprint }, choices, groups = [], token = OPEN) {
  const reports = survey.questions.map(({ mode }, i) => {
    // A skipped question is as many full stops as any report has characters.
    const drawn = mode === "person" ? choices[i] : randomizeCode(designs[i], choices[i] ?? 0);
    const text = written(designs[i], drawn ?? 0, width);
    return choices[i] === null ? text.replace(/./g, ".") : text;
  });
  const nonce = btoa(String.fromCharCode(...random(16))).replaceAll("+", "-").replaceAll("/", "_").slice(0, 22);
  const clear = survey.groups.length ? { groups: groups.map((value) => code(value, width)) } : {};
  return JSON.stringify({ survey: fingerprint, nonce, token, ...clear, reports });
}

// What is not sent yet, for as long as this tab is open; browsers may forbid it, and then it is only in memory
const keyOf = (what, { survey }) => `warner ${what} ${survey.id}`;
const kept = (key) => attempt(() => sessionStorage.getItem(key));
const keep = (key, text) => attempt(() => sessionStorage.setItem(key, text));
const forget = (key) => attempt(() => sessionStorage.removeItem(key));

function attempt(action) {
  try {
    return action();
  } catch {
    return null;
  }
}

/** Send the same bytes until there is a reply: "kept", "used", "closed", "uninvited" or "refused". */
export async function deliver(url, bytes, waiting = () => new Promise(() => {})) {
  for (let tries = 0; ; tries++) {
    const delay = await sent(url, bytes, tries);
    if (typeof delay === "string") return delay;
    // The next attempt comes after a while, when the network is back, or when the respondent asks for it.
    let timer, back;
    const elapsed = new Promise((done) => (timer = setTimeout(done, 1000 * delay)));
    const online = new Promise((done) => addEventListener("online", (back = done)));
    await Promise.race([elapsed, online, waiting(delay)]);
    clearTimeout(timer);
    removeEventListener("online", back);
  }
}

async function sent(url, bytes, tries) {
  const delay = DELAYS[Math.min(tries, DELAYS.length - 1)];
  try {
    const reply = await fetch(url, {
      method: "POST",
      body: bytes,
      headers: { "content-type": "application/json" },
      keepalive: bytes.length < MOST_KEPT_ALIVE,
      credentials: "omit",
      referrerPolicy: "no-referrer",
      cache: "no-store",
      redirect: "error",
      signal: AbortSignal.timeout(PATIENCE),
    });
    const asked = Number(reply.headers.get("retry-after"));
    if (reply.status === 429 || reply.status >= 500) return Math.min(Math.max(delay, asked || 0), 300);
    const { kept, why } = await reply.json();
    if (kept === true) return "kept";
    return ["used", "closed", "uninvited"].includes(why) ? why : "refused";
  } catch (error) {
    // No JSON, or no reply at all: what came between here and the server may go away.
    return delay;
  }
}

/**
 * For pages with controls of their own: randomize answers, by the id of their question, and send the reports.
 * @param {string} url The address of the survey, such as https://host/s/ID.
 * @param {object} survey The survey file.
 * @param {object} answers Labels of the design by id; in mode "person", reports. An optional question may be left out.
 * @returns {Promise<string>} "kept", "used", "closed", "uninvited" or "refused".
 */
export async function submit(url, survey, answers, { token, groups = {}, expected } = {}) {
  if (!isSecureContext) throw new TypeError("answers are only randomized in pages that came over a secure connection");
  const form = await opened(survey, expected);
  const choices = survey.questions.map(({ id, mode, optional }, i) => {
    if (optional && answers[id] === undefined) return null;
    const { answers: truths, reports } = form.designs[i];
    return known((mode === "person" ? reports : truths).indexOf(answers[id]), `the answer to ${id}`);
  });
  const places = survey.groups.map(({ id, values }) => known(values.indexOf(groups[id]), `the group ${id}`));
  const key = keyOf("response", form);
  const bytes = kept(key) ?? body(form, choices, places, token);
  keep(key, bytes);
  const outcome = await deliver(`${url}/report`, bytes);
  forget(key);
  return outcome;
}

function known(place, what) {
  if (place < 0) throw new RangeError(`${what} must be one of those in the survey; nothing was drawn`);
  return place;
}

// Elements and words

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const quoted = (text) => make("q", { dir: "auto" }, `${text}`);
const paragraphs = (text) =>
  text.split(/\n+/).filter((line) => line.trim()).map((line) => make("p", { dir: "auto" }, line));
// No name tells the question, and none comes twice, so that nothing can be restored.
const fresh = () => `w${Array.from(random(8), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;

/** The page's own words in the language of the survey, or in English; texts of the survey are put in as they are. */
function speaker(table, language) {
  const spoken = [language, language.split("-")[0], "en"].find((tag) => table.languages[tag.toLowerCase()]).toLowerCase();
  const words = table.languages[spoken];
  const foreign = spoken !== language.split("-")[0].toLowerCase();
  const say = (name, values = {}) =>
    words[name].split(/\{(\w+)\}/).map((part, i) => (i % 2 ? values[part] : part)).filter((part) => part !== "");
  const numbers = (digits) => new Intl.NumberFormat([language, "en"], { maximumFractionDigits: digits });
  return {
    say,
    number: (value, digits = 0) => numbers(digits).format(value),
    // An element with words of ours, which are in English if the survey's language is not known
    tell: (tag, name, values, properties = {}) =>
      make(tag, foreign ? { lang: spoken, dir: "ltr", ...properties } : properties, ...say(name, values)),
    direction: table.rightToLeft.includes(language.split("-")[0].toLowerCase()) ? "rtl" : "ltr",
  };
}

// What happens to an answer, from the design

const share = (a, b) => Number((BigInt(a) * 10n ** 18n) / BigInt(b)) / 1e18;

/** The probability of each report, by positions, where reports are labels; null where they are sets. */
function law(json, { answers, reports }) {
  const k = BigInt(answers.size);
  if (json.mechanism === "channel") {
    const totals = json.weights.map((row) => row.reduce((sum, weight) => sum + BigInt(weight), 0n));
    return { of: (x, y) => share(json.weights[x][y], totals[x]) };
  }
  if (json.mechanism === "randomized response") {
    const [a, b] = json.odds.map(BigInt);
    const total = a + (k - 1n) * b;
    return { of: (x, y) => share(x === y ? a : b, total), symmetric: true };
  }
  if (json.mechanism === "memoized" && json.first.mechanism === "randomized response") {
    const [first, second] = [json.first, json.second].map((part) => law(part, { answers, reports }));
    const truth = first.of(0, 0) * second.of(0, 0) + (answers.size - 1) * first.of(0, 1) * second.of(0, 1);
    return { of: (x, y) => (x === y ? truth : (1 - truth) / (answers.size - 1)), symmetric: true };
  }
  if (json.mechanism === "product") {
    const parts = json.designs.map((part) => law(part, design(part)));
    const of = (x, y) => {
      const [truths, said] = [answers.split(x), reports.split(y)];
      return parts.reduce((product, part, i) => product * part.of(truths[i], said[i]), 1);
    };
    return { of };
  }
  return null;
}

/** The probabilities that a set holds a true answer, and another one. */
function inSet(json, k) {
  if (json.mechanism === "memoized") {
    const [one, zero] = inSet(json.first, k);
    if (json.first.mechanism === "unary encoding") {
      const [kept, flipped] = inSet(json.second, k);
      return [one, zero].map((rate) => rate * kept + (1 - rate) * flipped);
    }
    const { of } = law(json.second, { answers: { size: json.first.field } });
    const others = json.first.field - 1;
    return [one, zero].map((rate) => rate * of(0, 0) + (1 - rate) * of(0, 1) * (others / Math.max(others, 1)));
  }
  if (json.mechanism === "unary encoding") return [share(...json.one), share(...json.zero)];
  const [a, b] = json.odds.map(Number);
  const points = (q, t) => (q ** t - 1) / (q - 1);
  if (json.mechanism === "subset selection") {
    const truth = (a * json.size) / (a * json.size + b * (k - json.size));
    return [truth, (json.size - truth) / (k - 1)];
  }
  if (json.mechanism === "Hadamard response") return [a / (a + b), 1 / 2];
  if (json.mechanism === "projective geometry response") {
    const [all, through, both] = [0, 1, 2].map((less) => points(json.field, json.dimension - less));
    const total = a * through + b * (all - through);
    return [(a * through) / total, (a * both + b * (through - both)) / total];
  }
  const values = json.field ?? json.values;
  const truth = a / (a + (values - 1) * b);
  // Two answers have one hash under so many of the functions.
  const alike = json.field ? points(json.field, json.dimension - 1) / points(json.field, json.dimension) : 1 / values;
  return [truth, alike * truth + ((1 - alike) * (1 - truth)) / (values - 1)];
}

// So many people that about two of them or more do what is rare
const peopleFor = (...shares) => {
  const rare = shares.flatMap((share) => [share, 1 - share]).filter((share) => share > 1e-9);
  return [100, 1000, 10_000, 100_000].find((base) => rare.every((share) => share * base >= 1.5)) ?? 1e6;
};

const name = ({ labels }, label) => (labels && Object.hasOwn(labels, label) ? labels[label] : `${label}`);

/** The fold under a question: the odds in words, and for what the browser draws, a draw to practise on. */
function explanation(words, question, { answers, reports, epsilon }, drawing) {
  const { say, tell, number } = words;
  const json = question.design;
  const laws = law(json, { answers, reports });
  const example = Math.min(1, answers.size - 1);
  const [answer, report] = [(x) => quoted(name(question, answers.at(x))), (y) => quoted(name(question, reports.at(y)))];
  const odds = (word, base, share, x, y = x) =>
    tell("p", word, { base: number(base), hits: number(share * base), x, y: y.cloneNode(true) });
  const told = [];
  const direct = laws?.symmetric && laws.of(0, 1) === 0;
  if (direct) told.push(tell("p", "direct"));
  else {
    told.push(tell("p", question.mode === "person" ? "personDraws" : laws ? "draws" : "sets"));
    if (!laws) {
      const [truth, other] = inSet(json, answers.size);
      const base = peopleFor(truth, other);
      told.push(odds("oddsSet", base, truth, answer(example)), odds("oddsSetOthers", base, other, answer(example)));
    } else if (laws.symmetric) {
      const [truth, other] = [laws.of(example, example), laws.of(0, example)];
      const base = peopleFor(truth, other);
      told.push(odds("odds", base, truth, answer(example)), odds("oddsOthers", base, other, answer(example)));
    } else if (answers.size <= MOST_ROWS && reports.size <= MOST_ROWS) {
      told.push(table(words, answers, reports, laws.of, answer, report));
    } else {
      let likely = 0;
      for (let y = 1; y < reports.size; y++) if (laws.of(example, y) > laws.of(example, likely)) likely = y;
      const [truth, other] = [laws.of(example, likely), laws.of(0, likely)];
      const base = peopleFor(truth, other);
      told.push(odds("odds", base, truth, answer(example), report(likely)));
      told.push(odds("odds", base, other, answer(0), report(likely)));
    }
    told.push(tell("p", epsilon === Infinity ? "certain" : "deniable"));
    if (question.mode === "device" && (laws || !reports.size)) told.push(...practice(words, drawing, laws));
  }
  return make("details", {}, make("summary", {}, ...say("whatHappens")), make("div", { class: "fold" }, told));
}

function table({ say, number }, answers, reports, of, answer, report) {
  const [rows, columns] = [answers, reports].map(({ size }) => [...Array(size).keys()]);
  const base = peopleFor(...rows.flatMap((x) => columns.map((y) => of(x, y))));
  const head = columns.map((y) => make("th", { scope: "col" }, report(y)));
  return make("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": say("table", { base: number(base) }).join("") },
    make("table", {},
      make("caption", {}, ...say("table", { base: number(base) })),
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, ...say("truth")), head)),
      make("tbody", {}, rows.map((x) => make("tr", {},
        make("th", { scope: "row" }, answer(x)),
        columns.map((y) => make("td", {}, number(of(x, y) * base))))))));
}

// A draw to practise on, for the second of as many letters as there are answers: never for a choice, and never sent

const letter = (i) => (i < 26 ? "" : letter(Math.floor(i / 26) - 1)) + String.fromCharCode(65 + (i % 26));
const members = (hex, size) =>
  [...Array(size).keys()].filter((i) => (parseInt(hex[i >> 2], 16) >> (3 - (i % 4))) & 1);

function practice({ say, tell, number }, drawing, laws) {
  const { answers, reports } = drawing;
  const numbers = laws && reports !== answers && !laws.symmetric;
  const label = numbers ? (y) => number(y + 1) : letter;
  const said = make("p", { role: "status", class: "drawn" });
  let [draws, hits] = [0, 0];
  const draw = () => {
    const drawn = randomizeCode(drawing, 1);
    const set = laws ? [drawn] : members(drawn, answers.size);
    const listed = set.slice(0, LISTED).map(label).join(", ") + (set.length > LISTED ? ", …" : "");
    const x = make("strong", {}, ...(set.length ? [listed] : say("emptySet")));
    draws++;
    hits += set.includes(1);
    said.replaceChildren(...say(laws ? "practiceResult" : "practiceSet", { n: number(draws), x }), " ");
    if (!numbers && laws) said.append(...say("practiceSoFar", { n: number(draws), hits: number(hits), x: letter(1) }));
  };
  return [
    tell("h3", "practice"),
    tell("p", numbers ? "practiceNumbers" : "practiceLetters", { x: make("strong", {}, letter(1)) }),
    tell("button", "practiceButton", {}, { type: "button", class: "quiet", autocomplete: "off", onclick: draw }),
    said,
  ];
}
