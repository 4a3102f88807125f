// The respondent's page: asks the questions of a survey, randomizes the answers here, and sends reports only. MIT.
//
// It fills every element with data-warner, the address of a survey, on our own page and on those of others. An answer
// exists nowhere but in a closure and in the control that it was entered in. On the button everything is drawn once;
// the finished body goes to sessionStorage, so that retries and reloads send the same bytes, and choices are forgotten.

import { design, mechanisms, randomizeCode } from "./warner.js";
import { fingerprint } from "./fingerprint.js";
import { decimal, gridOf, nearest, onGrid, readNumber } from "./numbers.js";

const OPEN = ".".repeat(22); // the token of an open survey
const TOKEN = /^[A-Za-z0-9_-]{21}[AQgw]$/; // 16 bytes have one spelling: the server refuses others for good
const LINKED = /^#t=(.{10,})$/; // the fragment of an invitation's link, which mail programs may damage
const LISTED = 12; // answers that are shown without a search
const FEW = 5; // of many answers, those that are shown before anything is typed
const MATCHES = 20; // answers that a search shows
const PATIENCE = 20_000; // milliseconds for a reply
const COURTESY = 5_000; // and for a reply that no respondent waits for
const FINAL = ["used", "revoked", "early", "closed", "uninvited"]; // replies after which nothing is tried again
const DELAYS = [1, 2, 4, 8, 15, 30, 60]; // seconds before the next attempt
const MOST_KEPT_ALIVE = 60_000; // bytes; browsers refuse keepalive for longer bodies
const MOST_ROWS = 8; // answers, and reports, of a table of odds
const SPARE = 1 + 2 ** -48; // more than a sum of logarithms may lack

const random = (size) => crypto.getRandomValues(new Uint8Array(size));

// Surveys and bodies

// Values of fields that a survey file may leave out; the server fills in the same ones (survey.py), and so does the fingerprint.
const SURVEY_DEFAULTS = {
  language: "en", intro: "", consent: "", thanks: "", keep: "counts", batch: 10, access: "open", groups: [],
};
const QUESTION_DEFAULTS = { mode: "device" };

/**
 * Read a survey: its fingerprint, its designs, and how its bodies are written. Throws where anything is wrong. Epsilon is
 * also given as the server writes it, if that is right.
 */
export async function opened(given, expected, written) {
  if (given?.format !== "warner survey" || given.version !== 1) throw new TypeError("it must be a survey of version 1");
  const survey = { ...SURVEY_DEFAULTS, ...given, questions: given.questions.map((one) => ({ ...QUESTION_DEFAULTS, ...one })) };
  const computed = await fingerprint(survey);
  if (expected && computed !== expected) throw new TypeError("the fingerprint must be that of the survey");
  const { ask, questions } = survey;
  const split = ask === undefined ? [] : [{ design: { format: "warner design", version: 1, mechanism: "split questionnaire",
    questions: questions.map(({ id }) => id), designs: questions.map((question) => question.design), asked: ask } }];
  if ([...questions, ...split].some(({ design }) => !mechanisms.has(design.mechanism))) await import("./sets.js");
  const [designs, [some]] = [questions, split].map((list) => list.map((one) => design(one.design)));
  // What has a report of its own: a question, or each option of one that is asked about some of its options
  const items = survey.questions.flatMap((question, place) => {
    const { each, answers } = designs[place];
    if (!each) return [{ question, place, drawing: designs[place] }];
    return [...Array(answers.size).keys()].map((i) => ({ question, place, drawing: each, option: answers.at(i) }));
  });
  const largest = [...items.map(({ drawing }) => drawing.reports.size ?? 0), ...survey.groups.map(({ values }) => values.length)];
  const width = Math.max(4, ...largest.map((size) => `${BigInt(size || 1) - 1n}`.length));
  const epsilon = some?.epsilon ?? designs.reduce((sum, one) => sum + one.epsilon, 0) * SPARE;
  const draws = some !== undefined || designs.some(({ each, parts, asked }) => each && asked < parts.length); // what is asked
  return { survey, designs, items, some, draws, width, epsilon, shown: shownEpsilon(epsilon, Number(written)), fingerprint: computed };
}

/** Draw the questions, and options of these, before any answer is known; return positions among the items. */
export function drawn({ designs, items, some }, bytes) {
  return (some?.drawn(bytes) ?? [...designs.keys()]).flatMap((place) => {
    const first = items.findIndex((item) => item.place === place);
    return (designs[place].each ? designs[place].drawn(bytes) : [0]).map((i) => first + i);
  });
}

// The draw for this respondent. A reload finds it again, so that reloading does not change the questions. It does not
// depend on any answer, and is forgotten once the reports are drawn.
const drawKey = ({ survey, fingerprint }, token) => `warner draw ${survey.id} ${token || OPEN} ${fingerprint}`;

function drawnOnce(form, token) {
  if (!form.draws) return [...form.items.keys()];
  const key = drawKey(form, token);
  if (!kept(key)) keep(key, JSON.stringify(drawn(form)));
  return JSON.parse(kept(key));
}

// The sum over all questions in four digits, rounded up. Doubles cannot tell 6.5 from a little more, and Python can: what
// it has written, with all digits at hand, is believed if it is no less than what is spent here, and hardly more.
function shownEpsilon(epsilon, written) {
  if (written >= epsilon / (SPARE * SPARE) && written <= epsilon * 1.0011) return written;
  const unit = 10 ** (Math.floor(Math.log10(epsilon)) - 3);
  return Math.ceil(epsilon / unit) * unit;
}

// Numbers have as many digits as the widest of the survey; texts, which are sets and hashes, have a length of their own.
const code = (number, width) => `${number}`.padStart(width, "0");
const written = ({ reports }, report, width) => (reports.size ? code(report, width) : reports.padded(report));

/**
 * Draw once, and give the finished body. Choices are positions, null for what was skipped or not asked, and lists of them
 * for boxes; those of groups go as they are.
 */
export function body({ survey, items, width, fingerprint }, choices, groups = [], token = OPEN) {
  const reports = items.map(({ question, drawing }, i) => {
    // A question without a report is as many full stops as any report has characters.
    const choice = choices[i] ?? (drawing.pick ? [] : 0);
    const report = question.mode === "person" ? choice : drawing.pick ? drawing.pick(choice) : randomizeCode(drawing, choice);
    const text = written(drawing, report, width);
    return choices[i] === null ? text.replace(/./g, ".") : text;
  });
  const nonce = btoa(String.fromCharCode(...random(16))).replaceAll("+", "-").replaceAll("/", "_").slice(0, 22);
  const clear = survey.groups.length ? { groups: groups.map((value) => code(value, width)) } : {};
  return JSON.stringify({ survey: fingerprint, nonce, token, ...clear, reports });
}

// What is not sent yet, for as long as this tab is open; where storage is full or forbidden, as long as the page is. The key
// of a response has its invitation and its version of the survey, so that no other respondent and no other version finds
// it. This adds no trace: both are in the stored body as well.
const unstored = new Map();
const keysOf = ({ survey }, token) => `warner response ${survey.id} ${token} `;
const keyOf = (form, token) => keysOf(form, token) + form.fingerprint;
const kept = (key) => unstored.get(key) ?? attempt(() => sessionStorage.getItem(key));

function keep(key, text) {
  forget(key);
  attempt(() => sessionStorage.setItem(key, text));
  if (kept(key) !== text) unstored.set(key, text);
}

function forget(key, text = kept(key)) {
  if (kept(key) !== text) return;
  unstored.delete(key);
  attempt(() => sessionStorage.removeItem(key));
}

/** Delete a respondent's responses to other versions of this survey, and return whether there were any. */
function outdated(form, token) {
  const mine = (key) => key.startsWith(keysOf(form, token)) && key !== keyOf(form, token);
  const keys = attempt(() => Object.keys(sessionStorage).filter(mine)) ?? [];
  for (const key of keys) forget(key);
  return keys.length > 0;
}

function attempt(action) {
  try {
    return action();
  } catch {
    return null;
  }
}

/** Send the same bytes until there is a reply: "kept", one of FINAL, or "refused". */
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

const post = (url, bytes, patience) => fetch(url, {
  method: "POST",
  body: bytes,
  headers: { "content-type": "application/json" },
  keepalive: bytes.length < MOST_KEPT_ALIVE,
  credentials: "omit",
  referrerPolicy: "no-referrer",
  cache: "no-store",
  redirect: "error",
  signal: AbortSignal.timeout(patience),
});

/** Ask for the certain outcome of a response before the respondent fills in the page: one of FINAL, or "open". */
async function standing(url, { fingerprint }, token) {
  try {
    const reply = await post(`${url}/standing`, JSON.stringify({ survey: fingerprint, token }), COURTESY);
    const { why } = await reply.json();
    return FINAL.includes(why) ? why : "open";
  } catch {
    return "open"; // it is said when the response is sent
  }
}

async function sent(url, bytes, tries) {
  const delay = DELAYS[Math.min(tries, DELAYS.length - 1)];
  try {
    const reply = await post(url, bytes, PATIENCE);
    const asked = Number(reply.headers.get("retry-after"));
    if (reply.status === 429 || reply.status >= 500) return Math.min(Math.max(delay, asked || 0), 300);
    const { kept, why } = await reply.json();
    if (kept === true) return "kept";
    if (kept !== false) return delay; // not a word of the server
    return FINAL.includes(why) ? why : "refused";
  } catch {
    // No JSON, or no reply at all: what came between here and the server may go away.
    return delay;
  }
}

/**
 * For pages with controls of their own: what this respondent is asked, as objects with the id of a question and, where it
 * is asked about some of its options, one of them each. It is drawn before any answer, and `submit` sends nothing else.
 */
export async function asked(survey, { token = OPEN, expected } = {}) {
  const form = await opened(survey, expected);
  return drawnOnce(form, token).map((i) => form.items[i]).map(({ question: { id }, option }) => (option === undefined ? { id } : { id, option }));
}

/**
 * For pages with controls of their own: randomize answers, by the id of their question, and send the reports.
 * @param {string} url The address of the survey, such as https://host/s/ID.
 * @param {object} survey The survey file.
 * @param {object} answers Labels of the design by id; in mode "person", reports; in mode "several", a list of the options
 * that apply. An optional question may be left out, and so may what is not `asked`.
 * @returns {Promise<string>} "kept", "used", "revoked", "early", "closed", "uninvited" or "refused"; or "earlier": a response
 * without an invitation was still waiting in this tab and has been kept now, and these answers were not drawn or sent.
 */
export async function submit(url, survey, answers, { token = OPEN, groups = {}, expected } = {}) {
  if (!isSecureContext) throw new TypeError("answers are only randomized in pages that came over a secure connection");
  const form = await opened(survey, expected);
  const asked = drawnOnce(form, token);
  const choices = form.items.map((item, i) => (asked.includes(i) ? choiceOf(form, item, answers[item.question.id]) : null));
  const places = form.survey.groups.map(({ id, values }) => known(values.indexOf(groups[id]), `the group ${id}`));
  if (outdated(form, token)) console.warn("warner: a response to another version of this survey was not sent, and was deleted");
  const key = keyOf(form, token);
  const sending = async (bytes) => {
    keep(key, bytes);
    const outcome = await deliver(`${url}/report`, bytes);
    forget(key, bytes);
    return outcome;
  };
  const responding = () => {
    forget(drawKey(form, token));
    return sending(body(form, choices, places, token));
  };
  const waiting = kept(key);
  if (!waiting) return responding();
  const outcome = await sending(waiting);
  if (token !== OPEN) {
    forget(drawKey(form, token));
    return outcome; // an invitation is one respondent, whose response was drawn
  }
  // Without an invitation it may be another respondent's: it is no reply to these answers.
  return outcome === "kept" ? "earlier" : responding();
}

/** Choice for an item: a position, the positions of all options that apply, or null for skipped. */
function choiceOf({ designs }, { question: { id, mode, optional }, place, option }, answer) {
  if (optional && answer === undefined) return null;
  const { answers, reports } = designs[place];
  const position = (label) => known((mode === "person" ? reports : answers).indexOf(label), `the answer to ${id}`);
  if (mode !== "several") return position(answer);
  const ticked = Array.isArray(answer) ? [...new Set(answer.map(position))] : [position()];
  return option === undefined ? ticked : Number(!answer.includes(option)); // yes comes first
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
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

const quoted = (text) => make("q", { dir: "auto" }, `${text}`);
/** The text of a question; its lines stand apart, such as the two questions of the crosswise model. */
const wording = (text) => make("span", { class: "wording", dir: "auto" },
  text.split(/\n+/).filter((line) => line.trim()).map((line) => [make("span", {}, line), " "]));
const paragraphs = (text) =>
  text.split(/\n+/).filter((line) => line.trim()).map((line) => make("p", { dir: "auto" }, line));
// No name tells the question, and none comes twice, so that nothing can be restored.
const fresh = () => `w${Array.from(random(8), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;

/** The page's own words in the language of the survey, or in English; texts of the survey are put in as they are. */
function speaker(table, language, address) {
  const spoken = [language, language.split("-")[0], "en"].find((tag) => table.languages[tag.toLowerCase()]).toLowerCase();
  const words = { ...table.languages[spoken], ...(address === "informal" ? table.informal?.[spoken] : {}) };
  const foreign = spoken !== language.split("-")[0].toLowerCase();
  const say = (name, values = {}) =>
    words[name].split(/\{(\w+)\}/).map((part, i) => (i % 2 ? (values[part].cloneNode?.(true) ?? values[part]) : part));
  // A tag may look like one and be none, such as pt-BRA: then numbers are written as our words are spoken.
  const locales = [...(attempt(() => Intl.getCanonicalLocales(language)) ?? []), spoken, "en"];
  const numbers = (digits) => new Intl.NumberFormat(locales, { maximumFractionDigits: digits });
  const clock = { year: "numeric", month: "long", day: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short" };
  // A label that is a number as it is written here, without a mark in years such as 1985; others as they are
  const figure = (label) => {
    const places = decimal(label)?.places;
    const options = { minimumFractionDigits: places, maximumFractionDigits: places, useGrouping: "min2" };
    return places === undefined ? label : new Intl.NumberFormat(locales, options).format(label);
  };
  return {
    say,
    figure,
    read: (text) => readNumber(text, locales),
    number: (value, digits = 0) => numbers(digits).format(value),
    time: (text) => new Intl.DateTimeFormat(locales, clock).format(new Date(text)),
    // An element with words of ours, which are in English if the survey's language is not known
    tell: (tag, name, values, properties = {}) =>
      make(tag, foreign ? { lang: spoken, dir: "ltr", ...properties } : properties, ...say(name, values)),
    direction: table.rightToLeft.includes(language.split("-")[0].toLowerCase()) ? "rtl" : "ltr",
  };
}

// What happens to an answer, from the design

/** True if a design involves no chance. */
const isDirect = ({ answers, reports, epsilon, chance, symmetric }) => {
  const certain = (x) => reports.at(x) === answers.at(x) && chance(x, x) === 1;
  return Boolean(chance) && epsilon === Infinity && [...Array(symmetric ? 1 : answers.size).keys()].every(certain);
};

// So many people that about two of them or more do what is rare
const peopleFor = (...shares) => {
  const rare = shares.flatMap((share) => [share, 1 - share]).filter((share) => share > 1e-9);
  return [100, 1000, 10_000, 100_000].find((base) => rare.every((share) => share * base >= 1.5)) ?? 1e6;
};

const name = ({ labels }, label) => (labels && Object.hasOwn(labels, label) ? labels[label] : `${label}`);

/** The fold under a question: the odds in words, and for what the browser draws, a draw to practise on. */
function explanation(words, question, drawing) {
  const { say, tell } = words;
  const told = isDirect(drawing) ? [tell("p", "direct")] : [
    tell("p", drawing.pick ? "drawsTick" : question.mode === "person" ? "personDraws" : !drawing.chance && !drawing.told ? "sets" : replaces(drawing) ? "draws" : "drawsReport"),
    ...(drawing.reports.asks ? [tell("p", "asked", { n: words.number(drawing.reports.asks) })] : []),
    ...oddsInWords(words, question, drawing),
    tell("p", drawing.epsilon === Infinity ? "certain" : "deniable"),
    ...(drawing.epsilon === Infinity || isOpen(drawing) ? [] : [tell("p", "certainty", {
      x: quoted(name(labelsOfAnswers(question), drawing.answers.at(sensitiveAt(question, drawing)))),
      half: certainty(words, drawing.epsilon, 0.5),
      tenth: certainty(words, drawing.epsilon, 0.1),
    })]),
    ...(question.mode !== "person" && (drawing.chance || drawing.reports.members || drawing.pick) ? practice(words, question, drawing) : []),
  ];
  return make("details", {}, make("summary", {}, ...say("whatHappens")), make("div", { class: "fold" }, told));
}

/** True if a report is one of the answers: the true one, or another in its place. */
const replaces = ({ answers, reports, chance }) =>
  chance && reports.size === answers.size && [...Array(answers.size).keys()].every((i) => reports.at(i) === answers.at(i));

/** Position of the answer that privacy is explained with: the one that the file names, the first of two, the last of more. */
function sensitiveAt({ sensitive }, { answers: { size, indexOf } }) {
  const named = [sensitive, Number(sensitive)].map((label) => (sensitive === undefined ? -1 : indexOf(label)));
  return named.find((place) => place >= 0) ?? (size === 2 ? 0 : size - 1);
}

/** The largest probability of an answer after a report, in percent, rounded up; privacy notices have the same. */
function certainty({ number }, epsilon, prior) {
  const largest = prior / (prior + (1 - prior) * Math.exp(-epsilon));
  const digits = largest < 0.99 || largest === 1 ? 0 : 2;
  return `${number(Math.ceil(largest * 100 * 10 ** digits - 1e-9) / 10 ** digits, digits)}\u00a0%`;
}

// Where the person randomizes, labels are those of reports; a true answer may be called the same, and is not.
const labelsOfAnswers = (question) => (question.mode === "person" ? {} : question);

function oddsInWords(words, question, drawing) {
  const { answers, reports, chance, symmetric, held, told, most } = drawing;
  const { tell, number, figure } = words;
  const odds = (word, base, share, x, y = x) =>
    tell("p", word, { base: number(base), hits: number(share * base), x, y, n: number(most) });
  if (told) return [odds(told[0], peopleFor(told[1]), told[1], figure(told[2]))];
  const example = sensitiveAt(question, drawing);
  const other = example ? 0 : Math.min(1, answers.size - 1);
  const [answer, report] = [(x) => quoted(name(labelsOfAnswers(question), answers.at(x))), (y) => quoted(name(question, reports.at(y)))];
  const pair = (truth, other, first, second) => {
    const base = peopleFor(truth, other);
    return [odds(first, base, truth, answer(example)), odds(second, base, other, answer(example))];
  };
  if (drawing.pick) return pair(...held, "oddsTicked", "oddsUnticked");
  if (!chance) return pair(...held, "oddsSet", "oddsSetOthers");
  if (symmetric) return pair(chance(example, example), chance(other, example), "odds", "oddsOthers");
  if (answers.size <= MOST_ROWS && reports.size <= MOST_ROWS) return [table(words, answers, reports, chance, answer, report)];
  let likely = 0;
  for (let y = 1; y < reports.size; y++) if (chance(example, y) > chance(example, likely)) likely = y;
  const shares = [example, other].map((x) => chance(x, likely));
  const base = peopleFor(...shares);
  return [example, other].map((x, i) => odds("odds", base, shares[i], answer(x), report(likely)));
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

// A draw to practise on, for the second of as many letters as there are answers, or for a number in the middle: never for
// a choice, and never sent

const letter = (i) => (i < 26 ? "" : letter(Math.floor(i / 26) - 1)) + String.fromCharCode(65 + (i % 26));

function practice(words, question, drawing) {
  const { say, tell, number, figure } = words;
  const { members } = drawing.reports;
  const [own, grid] = [drawing.pick || replaces(drawing), gridEntered(question, drawing)];
  const x = grid ? Math.floor(grid.size / 2) : 1;
  const named = (y) => (drawing.reports.blanks <= y ? say("sentDummy").join("") : letter(y));
  const label = grid ? (y) => reported(words, question, drawing, y) : members || own ? named : (y) => number(y + 1);
  const listed = (set) => set.slice(0, LISTED).map(label).join(", ") + (set.length > LISTED ? ", …" : "");
  const said = make("p", { role: "status", class: "drawn" });
  let [draws, hits] = [0, 0];
  const draw = () => {
    const drawn = randomizeCode(drawing, x);
    const set = members ? members(drawn) : [drawn];
    draws++;
    hits += set.includes(x);
    const shown = make("strong", {}, ...(grid ? label(drawn) : set.length ? [listed(set)] : say("emptySet")));
    said.replaceChildren(...say(members ? "practiceSet" : "practiceResult", { n: number(draws), x: shown }), " ");
    if (own && !grid && draws > 1)
      said.append(...say("practiceSoFar", { n: number(draws), hits: number(hits), x: letter(x) }));
  };
  const intro = grid ? "practiceGrid" : members || own ? "practiceLetters" : "practiceNumbers";
  return [
    tell("p", "practice", {}, { class: "title" }),
    tell("p", intro, { x: make("strong", {}, grid ? figure(onGrid(grid, x)) : letter(x)) }),
    tell("button", "practiceButton", {}, { type: "button", class: "quiet", autocomplete: "off", onclick: draw }),
    said,
  ];
}

/** A report in words, from its code: a label, what the mechanism says of it, a set, or a number that stands for one. */
function reported({ say, figure }, question, { answers, reports }, report) {
  if (reports.said && !question.labels) {
    const [word, x] = reports.said(report);
    return say(word, { x: figure(x) });
  }
  if (reports.blanks <= report) return say("sentDummy");
  if (reports.indexOf) return [quoted(name(question, reports.at(report)))];
  if (!reports.members) return say("sentNumber", { x: report });
  const named = (places) => places.map((x) => name(question, answers.at(x))).join(", ");
  const x = named(reports.members(report)) || say("emptySet").join("");
  return reports.asked ? say("sentBits", { x, asked: named(reports.asked(report)) }) : say("sentSet", { x });
}

// Controls: each gives its choice, forgets it, and says that it is missing

// Browsers write to the disk what was entered, to restore it after a crash: Chromium unless autocomplete is off, Firefox
// whatever differs from the default. So whatever is entered becomes the default.
function settle(input) {
  input.defaultChecked = input.checked;
  if (input.type === "text") input.defaultValue = input.value;
}

const entry = (properties) =>
  make("input", { autocomplete: "off", spellcheck: "false", autocorrect: "off", writingsuggestions: "false", ...properties });

/** Elements around a control: the question, hints, and errors. */
function asking({ legend, hints, role }, ...parts) {
  const [about, wrong] = [fresh(), fresh()];
  const error = make("p", { id: wrong, class: "error", role: "alert" });
  const element = make("fieldset", { role, "aria-describedby": `${about} ${wrong}` },
    make("legend", {}, ...legend), make("div", { id: about }, hints), error, parts);
  return {
    element,
    complaint: (invalid, said) => {
      invalid.setAttribute("aria-invalid", "true");
      error.replaceChildren(...said);
      return element.querySelector("input");
    },
    accept: (invalid) => {
      invalid.removeAttribute("aria-invalid");
      error.replaceChildren();
    },
    clear: () => {
      for (const input of element.querySelectorAll("input")) {
        [input.checked, input.value] = [false, ""];
        settle(input);
      }
    },
  };
}

/** Radio buttons, with a search where there are many. The choice is a position: null if skipped, undefined if none. */
function radios(words, { legend, hints, size, text, skip }) {
  const { say, tell, number } = words;
  const group = fresh();
  const rows = make("div", { class: "choices" });
  const parts = [rows];
  let chosen;
  const row = (value, label) => {
    const input = entry({ type: "radio", name: group });
    input.checked = value === chosen;
    settle(input);
    input.addEventListener("change", () => {
      rows.querySelectorAll("input").forEach(settle);
      chosen = value;
      field.accept(field.element);
    });
    return make("label", { class: "choice" }, input, make("span", { dir: "auto" }, label));
  };
  const skipping = () => (skip ? [row(null, say("skip").join(""))] : []);
  const all = [...Array(size).keys()];
  if (size <= LISTED) rows.append(...all.map((i) => row(i, text(i))), ...skipping());
  else {
    const [place, found] = [fresh(), make("p", { role: "status", class: "hint" })];
    const search = entry({ type: "text", id: place });
    const show = () => {
      settle(search);
      const wanted = search.value.trim().toLocaleLowerCase();
      const label = (i) => text(i).toLocaleLowerCase();
      const containing = all.filter((i) => i !== chosen && label(i).includes(wanted));
      // An answer that is the very word comes first, or no typing could bring it to sight; then those that begin with it.
      const rank = (i) => (label(i).trim() === wanted ? 0 : label(i).startsWith(wanted) ? 1 : 2);
      const matching = wanted ? [0, 1, 2].flatMap((place) => containing.filter((i) => rank(i) === place)) : containing;
      const shown = [...(typeof chosen === "number" ? [chosen] : []), ...matching.slice(0, wanted ? MATCHES : FEW)];
      rows.replaceChildren(...shown.map((i) => row(i, text(i))), ...skipping());
      found.replaceChildren(
        ...(matching.length ? say("matches", { n: number(shown.length), total: number(size) }) : say("noMatch")),
      );
    };
    search.addEventListener("input", show);
    show();
    parts.unshift(make("p", {}, tell("label", "find", {}, { for: place }), search), found);
  }
  const field = asking({ legend, hints, role: "radiogroup" }, parts);
  return {
    element: field.element,
    choice: () => chosen,
    clear: () => {
      chosen = undefined;
      field.clear();
    },
    complain: () => field.complaint(field.element, say("missingOne")),
  };
}

/** Boxes for all that applies, and one for nothing. The choice is a list of positions: null if skipped, undefined if none. */
function boxes(words, { legend, hints, size, text, most, skip }) {
  const { say, tell, number } = words;
  const rows = make("div", { class: "choices" });
  const none = say("noneApplies").join("");
  const row = (label, alone) => {
    const input = entry({ type: "checkbox" });
    input.addEventListener("change", () => {
      // What says that nothing applies, or skips, goes with nothing else.
      for (const other of inputs) if (input.checked && other.input !== input && (alone || other.alone)) other.input.checked = false;
      for (const other of inputs) settle(other.input);
      field.accept(field.element);
    });
    rows.append(make("label", { class: "choice" }, input, make("span", { dir: "auto" }, label)));
    return { input, alone };
  };
  const inputs = [...Array(size).keys()].map((i) => row(text(i), false));
  const nothing = row(none, true);
  inputs.push(nothing);
  const skipped = skip ? row(say("skip").join(""), true) : null;
  if (skipped) inputs.push(skipped);
  const field = asking({ legend, hints: [...hints, tell("p", "tickAll", { n: number(most) }, { class: "hint" })] }, rows);
  const ticked = () => [...Array(size).keys()].filter((i) => inputs[i].input.checked);
  return {
    element: field.element,
    choice: () => (skipped?.input.checked ? null : ticked().length || nothing.input.checked ? ticked() : undefined),
    clear: field.clear,
    complain: () => field.complaint(field.element, say("missingTicks", { x: none })),
  };
}

/**
 * A text field. `read` returns the choice for a text (undefined if it is invalid) and an immediate message. The message
 * repeats the typed text, so it must not be sent to a translation service.
 */
function typed(words, { legend, hints, skip, label, read, missing, ...properties }) {
  const { say, tell } = words;
  const place = fresh();
  const said = make("p", { role: "status", class: "hint used notranslate", translate: "no" });
  const input = entry({ type: "text", id: place, class: "typed", autocapitalize: "none", ...properties });
  const skipped = entry({ type: "checkbox" });
  const understood = () => {
    settle(input);
    said.replaceChildren(...(read(input.value).said ?? []));
    field.accept(input);
  };
  input.addEventListener("input", understood);
  skipped.addEventListener("change", () => {
    settle(skipped);
    [input.disabled, input.value] = [skipped.checked, ""];
    understood();
  });
  const field = asking({ legend, hints }, tell("label", label, {}, { for: place, class: "entry" }), input, said,
    skip ? make("label", { class: "choice" }, skipped, make("span", {}, ...say("skip"))) : null);
  return {
    element: field.element,
    choice: () => (skipped.checked ? null : read(input.value).choice),
    clear: () => {
      field.clear();
      said.replaceChildren();
    },
    complain: () => field.complaint(input, missing),
  };
}

/** The grid that a number is rounded to, where a question is answered by typing one; null elsewhere. */
const gridEntered = ({ mode, labels }, { answers, ordered }) =>
  ordered && mode === "device" && !labels && answers.size > LISTED ? gridOf(answers) : null;

/** A number, which is rounded here to the nearest answer, and at the ends moved to them; the choice is its position. */
function numberField(words, grid, asked) {
  const { say, tell, figure, read } = words;
  const [low, high] = [0, grid.size - 1].map((place) => figure(onGrid(grid, place)));
  const step = figure(onGrid({ ...grid, units: 0n }, 1));
  const used = (text) => {
    const number = read(text);
    if (!number) return {};
    const { place, beyond } = nearest(grid, number);
    return { choice: place, said: say(beyond ? "numberMoved" : "numberUsed", { x: figure(onGrid(grid, place)) }) };
  };
  return typed(words, {
    ...asked,
    hints: [...asked.hints, tell("p", "numberRange", { low, high, step }, { class: "hint" })],
    label: "yourNumber",
    inputmode: grid.places || grid.units < 0n ? "text" : "numeric",
    maxlength: 60,
    dir: "ltr",
    read: used,
    missing: say("numberMissing", { low, high }),
  });
}

/** A field for the code of an invitation, or its whole link; a code that was entered is told at once. */
function codeField({ tell, say }, entered = () => {}) {
  const [place, about, wrong] = [fresh(), fresh(), fresh()];
  const error = make("p", { id: wrong, class: "error", role: "alert" });
  const input = entry({
    type: "text", id: place, autocapitalize: "none", dir: "ltr", class: "code",
    "aria-describedby": `${about} ${wrong}`, oninput: () => settle(input),
    onchange: () => choice() && entered(choice()),
  });
  const choice = () => {
    const given = input.value.replace(/\s/g, "").split("#t=").at(-1);
    return TOKEN.test(given) ? given : undefined;
  };
  return {
    element: make("div", { class: "field" }, tell("label", "code", {}, { for: place }),
      tell("p", "codeHint", {}, { id: about, class: "hint" }), input, error),
    choice,
    clear: () => {
      input.value = "";
      settle(input);
    },
    complain: () => {
      input.setAttribute("aria-invalid", "true");
      error.replaceChildren(...say("codeMissing"));
      return input;
    },
  };
}

/** True for free-text answers, which are typed in. */
const isOpen = ({ answers }) => typeof answers.size === "bigint";

/** Characters of an alphabet, those in a row as a range: a–z 0–9. */
function ranges(letters, space) {
  const [rows, code] = [[], (letter) => letter.codePointAt(0)];
  for (const letter of letters) {
    if (rows.length && code(rows.at(-1).at(-1)) + 1 === code(letter)) rows.at(-1).push(letter);
    else rows.push([letter]);
  }
  const named = (letter) => (letter === " " ? space : letter);
  return rows.flatMap((row) => (row.length > 3 ? `${row[0]}–${row.at(-1)}` : row.map(named))).join(" ");
}

/** A text, or a whole number, of which only a hash goes into the draw; the choice is its position among all of them. */
function textField(words, { answers }, asked) {
  const { say, tell, number, figure, read } = words;
  const { size, indexOf, at, other, length, letters, normalize } = answers;
  const hint = (word, values) => tell("p", word, values, { class: "hint" });
  if (other === undefined) {
    const [low, high] = ["0", `${size - 1n}`].map(figure);
    const used = (text) => {
      const whole = read(text);
      const position = whole?.places === 0 ? indexOf(`${whole.units}`) : -1;
      return position < 0 ? {} : { choice: position, said: say("numberUsed", { x: figure(`${position}`) }) };
    };
    return typed(words, { ...asked, label: "yourNumber", inputmode: "numeric", maxlength: 400, dir: "ltr", read: used,
      hints: [...asked.hints, hint("wholeRange", { low, high })], missing: say("numberMissing", { low, high }) });
  }
  const used = (text) => {
    const position = indexOf(text);
    if (position < 0) return {};
    const bare = make("bdi", {}, at(position));
    return { choice: position, said: position === other ? say("textOther") : say("textUsed", { x: bare }) };
  };
  const allowed = letters
    ? hint("textLetters", { n: number(length), x: make("bdi", {}, ranges(letters, say("space").join(""))) })
    : hint("textBytes", { n: number(length) });
  const capitals = normalize.includes("lower") ? [hint("textCapitals")] : [];
  return typed(words, { ...asked, label: "yourText", maxlength: 2000, dir: "auto", read: used,
    hints: [...asked.hints, allowed, ...capitals], missing: say("textMissing") });
}

/** How a question is answered: by a number on a grid, in one's own words, or by choosing an answer (or a report). */
function control(words, question, drawing, asked) {
  const grid = gridEntered(question, drawing);
  if (grid) return numberField(words, grid, asked);
  if (isOpen(drawing)) return textField(words, drawing, asked);
  if (drawing.pick)
    return boxes(words, { ...asked, size: drawing.answers.size, most: drawing.most, text: (i) => name(question, drawing.answers.at(i)) });
  const choices = question.mode === "person" ? drawing.reports : drawing.answers;
  return radios(words, { ...asked, size: choices.size, text: (i) => name(question, choices.at(i)) });
}

// The page

/** Fill an element with a survey: ask, send, thank. What was begun in this tab before a reload goes on. */
export async function mount(root) {
  const url = new URL(root.dataset.warner, document.baseURI).href.replace(/[?#].*$/, "");
  const asked = async () => {
    const reply = await fetch(`${url}/survey.json`, { credentials: "omit", referrerPolicy: "no-referrer" });
    return { survey: await reply.json(), epsilon: reply.headers.get("epsilon") };
  };
  const language = root.closest("[lang]")?.lang || "en";
  const table = JSON.parse(root.dataset.words ?? "null") ?? (await import("./words.js")).default;
  let words = speaker(table, language);
  const heading = root.tagName === "MAIN" ? "h1" : "h2";
  const title = (text) => make(heading, { tabindex: -1 }, ...text);
  const show = (...children) => {
    root.replaceChildren(...children.filter((child) => child !== null));
    root.querySelector(heading)?.focus();
  };
  const stop = (word) => root.replaceChildren(words.tell("p", word, {}, { role: "alert", class: "notice" }));
  if (!isSecureContext) return stop("insecure");
  const held = document.getElementById("warner-survey");
  const given = held ? JSON.parse(held.textContent) : await asked().catch(() => ({ survey: null }));
  if (!given.survey) return stop("unavailable");
  let form;
  try {
    form = await opened(given.survey, given.fingerprint ?? root.dataset.fingerprint, given.epsilon);
  } catch {
    return stop("mismatch");
  }
  const { survey, designs, items } = form;
  words = speaker(table, survey.language, survey.address);
  [root.lang, root.dir] = [survey.language, words.direction];
  const { say, tell, number, time } = words;
  const [invited, ticket] = [survey.access === "invited", `warner invitation ${survey.id}`];
  if (invited) {
    const linked = LINKED.exec(location.hash)?.[1]; // the first invited survey of a page takes it
    if (linked) {
      keep(ticket, TOKEN.test(linked) ? linked : "");
      // The address keeps what a reload finds nowhere else.
      if (!unstored.has(ticket)) history.replaceState(null, "", location.pathname + location.search);
    }
    // Another invitation in the same tab changes the fragment only, which loads nothing: the answers of one respondent
    // would go under the invitation of another.
    addEventListener("hashchange", () => LINKED.test(location.hash) && location.reload());
  }
  const token = invited ? kept(ticket) : OPEN; // of whoever is here; none if a code is to be typed

  // The question as its controls have it: an option is a question with two answers, in our own words
  const worded = ({ question, option, drawing }) => {
    if (option === undefined) return question;
    return { mode: "device", labels: Object.fromEntries(["yes", "no"].map((word, i) => [drawing.answers.at(i), say(word).join("")])) };
  };

  function ask(changed) {
    const code = !token ? codeField(words, async (typed) => {
      const unsent = kept(keyOf(form, typed));
      if (unsent) return resume(unsent);
      const why = await standing(url, form, typed);
      if (why !== "open" && code.element.isConnected) end(why, true);
    }) : null;
    const groups = survey.groups.map(({ text, values }) => radios(words, {
      legend: [make("span", { dir: "auto" }, text)],
      hints: [tell("p", "inTheClear", {}, { class: "hint clear" })],
      size: values.length,
      text: (i) => values[i],
    }));
    const drawn = drawnOnce(form, token);
    const shown = [...new Set(drawn.map((i) => items[i].place))]; // the questions that are asked, in their order
    const questions = drawn.map((i) => {
      const { question, place, drawing, option } = items[i];
      const { help, mode, optional } = question;
      const direct = mode !== "person" && isDirect(drawing);
      const count = { n: number(shown.indexOf(place) + 1), total: number(shown.length) };
      const { answers, asked: some } = designs[place];
      const about = worded(items[i]);
      const one = control(words, about, drawing, {
        legend: [
          tell("span", "question", count, { class: "count" }), wording(question.text),
          option === undefined ? null : make("span", { class: "option" }, wording(name(question, option))),
        ],
        hints: [
          help ? paragraphs(help) : [],
          option === undefined || some === answers.size ? null : tell("p", "someOptions", { n: number(some), total: number(answers.size) }, { class: "hint clear" }),
          tell("p", direct ? "inTheClear" : mode === "person" ? mode : "device", {}, { class: direct ? "hint clear" : "hint" }),
          optional ? tell("p", "skipClear", {}, { class: "hint clear" }) : null,
        ].filter(Boolean),
        skip: optional,
      });
      one.element.append(explanation(words, about, { ...drawing, epsilon: designs[place].epsilon }));
      return one;
    });
    const all = [...(code ? [code] : []), ...groups, ...questions];
    const [progress, bar] = [make("span"), make("progress", { max: all.length, "aria-hidden": "true" })];
    const answered = () => {
      bar.value = all.filter((asked) => asked.choice() !== undefined).length;
      progress.replaceChildren(...say("answered", { n: number(bar.value), total: number(all.length) }));
    };
    answered();
    const alert = make("p", { role: "alert", class: "error" });
    const press = () => {
      const missing = all.filter((asked) => asked.choice() === undefined).map((asked) => asked.complain());
      alert.replaceChildren(...(missing.length ? say("missing") : []));
      if (missing.length) return missing[0].focus();
      const [chosen, clear] = [questions, groups].map((controls) => controls.map((asked) => asked.choice()));
      const choices = items.map((_, i) => (drawn.includes(i) ? chosen[drawn.indexOf(i)] : null));
      const bytes = body(form, choices, clear, token || code.choice());
      forget(drawKey(form, token));
      for (const asked of all) asked.clear(); // so a second click finds nothing that could be sent
      for (const list of [choices, chosen]) list.fill(null);
      resume(bytes);
    };
    const byDevice = drawn.some((i) => items[i].question.mode !== "person");
    root.replaceChildren(
      title([survey.title]), ...(changed ? [tell("p", "changed", {}, { role: "alert", class: "notice" })] : []),
      ...paragraphs(survey.intro),
      ...(survey.closes ? [tell("p", "openUntil", { closes: time(survey.closes) }, { class: "hint" })] : []),
      ...(form.some
        ? [tell("p", "someQuestions", { n: number(shown.length), total: number(survey.questions.length) }, { class: "hint clear" })] : []),
      make("div", { oninput: answered, onchange: answered },
        all.length > 1 ? make("p", { class: "progress" }, progress, bar) : null, all.map(({ element }) => element)),
      about(), ...paragraphs(survey.consent), tell("p", "final", {}, { class: "notice" }),
      alert, tell("button", byDevice ? "button" : "send", {}, { type: "button", autocomplete: "off", onclick: press }),
      small(),
    );
  }

  const about = () => {
    const told = ["aboutSent", invited && "aboutInvitation", "aboutKept", designs.some(isOpen) && "aboutOpen", "aboutDevice", invited && "aboutLink", "aboutSeen"];
    const items = told.filter(Boolean).map((word) => tell("li", word));
    return make("details", {}, make("summary", {}, ...say("about")), make("ul", { class: "fold" }, items));
  };

  const small = () => {
    const values = { epsilon: number(form.shown, 20), half: certainty(words, form.epsilon, 0.5) };
    const clear = survey.groups.length > 0 || survey.questions.some(({ optional }) => optional);
    return make("footer", {}, tell("p", form.epsilon === Infinity ? "noLimit" : "limit", values),
      ...(clear && form.epsilon !== Infinity ? [tell("p", "limitClear")] : []), tell("p", "fingerprint"), make("code", { dir: "ltr" }, form.fingerprint));
  };

  // A response waits under its own invitation, and only these two are forgotten when it is settled.
  const tokenOf = (bytes) => JSON.parse(bytes).token;

  function resume(bytes) {
    keep(keyOf(form, tokenOf(bytes)), bytes);
    if (invited) keep(ticket, tokenOf(bytes));
    send(bytes);
  }

  function settled(bytes, outcome) {
    forget(keyOf(form, tokenOf(bytes)), bytes);
    if (outcome !== "early") forget(ticket, tokenOf(bytes));
  }

  async function send(bytes) {
    show(title(say("sending")), tell("p", "sendingText", {}, { role: "status" }));
    let again = null; // what the button does, while an attempt is waited for
    const waiting = () => {
      if (!root.querySelector(".waiting"))
        show(title(say("waiting")), tell("p", "waitingText", {}, { role: "status", class: "waiting" }),
          tell("button", "retry", {}, { type: "button", autocomplete: "off", onclick: () => again?.() }));
      return new Promise((done) => (again = done));
    };
    const outcome = await deliver(`${url}/report`, bytes, waiting);
    if (outcome === "uninvited") return correct(bytes);
    settled(bytes, outcome);
    if (outcome === "kept") thank(JSON.parse(bytes));
    else end(outcome);
  }

  // No response can be sent: shown before the questions, if this is known.
  function end(why, before = false) {
    const text = why === "used" && before ? "usedBefore" : `${why}Text`;
    show(title(say(why)), tell("p", text, survey.opens ? { opens: time(survey.opens) } : {}), small());
  }

  const another = (onclick = () => {}) =>
    make("p", {}, tell("a", "another", {}, { href: location.href.replace(/#.*$/, ""), onclick }));

  // A mistyped code: the same draws go out again, under another one.
  function correct(bytes) {
    const code = codeField(words);
    const press = () => {
      const right = code.choice();
      if (right === undefined) return code.complain().focus();
      const corrected = JSON.stringify({ ...JSON.parse(bytes), token: right });
      settled(bytes);
      resume(corrected);
    };
    show(title(say("codeUnknown")), tell("p", "codeUnknownText"), code.element,
      tell("button", "send", {}, { type: "button", autocomplete: "off", onclick: press }), another(() => settled(bytes)));
  }

  function thank({ reports, groups = [] }) {
    const item = (text, ...said) => [make("dt", { dir: "auto" }, text), make("dd", {}, ...said)];
    const blank = (text) => /^\.+$/.test(text);
    const report = (item, text) => {
      const { drawing } = item;
      if (blank(text)) return say("skipped");
      return reported(words, worded(item), drawing, drawing.reports.indexOf ? Number(text) : text.trimEnd());
    };
    // Where something is drawn, blanks of what was not asked are as many as there are; they are told in one line.
    const [sent, blanks] = [false, true].map((empty) => [...items.keys()].filter((i) => (form.draws && blank(reports[i])) === empty));
    const said = ({ question, option }) => (option === undefined ? question.text : `${question.text} ${name(question, option)}`);
    const list = make("dl", {}, survey.groups.map(({ text, values }, i) => item(text, quoted(values[Number(groups[i])]))),
      sent.map((i) => item(said(items[i]), ...report(items[i], reports[i]))));
    show(title(say("arrived")), ...paragraphs(survey.thanks),
      make("details", {}, make("summary", {}, ...say("whatSent")), make("div", { class: "fold" }, tell("p", "sentNote"), list,
        blanks.length ? tell("p", "sentBlanks", { n: number(blanks.length) }) : null)),
      !invited ? another() : null,
      small());
  }

  const unsent = kept(keyOf(form, token));
  if (unsent) return send(unsent);
  const asks = invited ? TOKEN.test(token) : survey.opens || survey.closes;
  const why = asks ? await standing(url, form, token) : "open";
  if (why === "open") return ask(outdated(form, token));
  if (why !== "early") forget(ticket, token);
  end(why, true);
}

if (typeof document !== "undefined") {
  const roots = document.querySelectorAll("[data-warner]");
  for (const root of roots) mount(root);
  // A page that comes back as it was left would still hold what it held.
  if (roots.length) addEventListener("pageshow", ({ persisted }) => persisted && location.reload());
}
