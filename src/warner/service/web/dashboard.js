// The dashboard: shows what the server worked out, step by step. All texts are set as text, all drawings by attributes.

const SVG = "http://www.w3.org/2000/svg";
const NICE = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1];
const RETRY = 5000; // milliseconds

function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function drawn(name, attributes, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

const tight = (text) => text.replaceAll(" %", "\u00a0%"); // a number stays with its percent sign
const number = (value) => value.toLocaleString("en");
const time = (text) => new Date(text).toLocaleString("en", { year: "numeric", month: "long", day: "numeric", hour: "2-digit",
  minute: "2-digit", hour12: false, timeZoneName: "short" });
const counted = (value, one, several) => `${number(value)} ${value === 1 ? one : several}`;
const place = (share, most) => `${(100 * Math.min(Math.max(share, 0), most)) / most}%`;
const points = (share) => `± ${+(100 * share).toFixed(2)} percentage point${share === 0.01 ? "" : "s"}`;

let language = "en";
/** A text of the survey: in its own language and direction, whatever surrounds it. */
const said = (name, text, attributes = {}) => element(name, { lang: language, dir: "auto", ...attributes }, text);

// Drawings

function bar(answer, most) {
  const picture = drawn("svg", { class: "bar", "aria-hidden": "true", focusable: "false" });
  for (const tick of [0, 50, 100])
    picture.append(drawn("line", { class: "grid", x1: `${tick}%`, x2: `${tick}%`, y1: "0", y2: "100%" }));
  if (answer.share === null) return picture;
  const [low, high] = [place(answer.low, most), place(answer.high, most)];
  picture.append(
    drawn("rect", { class: "share", x: "0", y: "22%", width: place(answer.share, most), height: "56%" }),
    drawn("line", { class: "whisker", x1: low, x2: high, y1: "50%", y2: "50%" }),
    drawn("line", { class: "whisker", x1: low, x2: low, y1: "30%", y2: "70%" }),
    drawn("line", { class: "whisker", x1: high, x2: high, y1: "30%", y2: "70%" }),
  );
  return picture;
}

function axis(most) {
  const label = (share) => `${+(100 * share).toFixed(2)} %`;
  const text = (x, anchor, share) => drawn("text", { x, y: "80%", "text-anchor": anchor }, label(share));
  return drawn("svg", { class: "axis", "aria-hidden": "true", focusable: "false" },
    text("0", "start", 0), text("50%", "middle", most / 2), text("100%", "end", most));
}

function dayChart(days) {
  const most = Math.max(1, ...days.map((day) => day.responses));
  const width = 100 / days.length;
  const picture = drawn("svg", { class: "days", "aria-hidden": "true", focusable: "false" });
  days.forEach((day, index) => {
    const height = (100 * day.responses) / most;
    const wide = Math.min(0.8 * width, 8);
    picture.append(drawn("rect", { class: "share", x: `${(index + 0.5) * width - wide / 2}%`, y: `${100 - height}%`,
      width: `${wide}%`, height: `${height}%` }));
  });
  picture.append(drawn("line", { class: "base", x1: "0", x2: "100%", y1: "100%", y2: "100%" }));
  return picture;
}

// Tables

// The roles are those that the elements have anyway: narrow screens lay rows out as blocks, which would undo them.
function table(caption, heads, rows, kind = null) {
  const head = (cell) => element("th", { scope: "col", role: "columnheader", class: cell.class ?? null }, cell.node ?? cell);
  const body = (cell, index) => index
    ? element("td", { role: "cell", class: cell.class ?? null }, cell.node ?? cell)
    : element("th", { scope: "row", role: "rowheader" }, cell.node ?? cell);
  const row = (cells, made) => element("tr", { role: "row" }, ...cells.map(made));
  return element("table", { role: "table", class: kind },
    element("caption", {}, caption),
    element("thead", { role: "rowgroup" }, row(heads, head)),
    element("tbody", { role: "rowgroup" }, ...rows.map((cells) => row(cells, body))));
}

let most = 1; // of the axes of all questions
const scale = (answers) => NICE.find((nice) => nice >= Math.max(0, ...answers.map((answer) => answer.high ?? 0))) ?? 1;

function answersTable(caption, answers, most, supporting) {
  const counts = answers.some((answer) => answer.reports !== null);
  const heads = ["Answer", { node: element("span", {}, element("span", { class: "hidden" }, "Drawing"), axis(most)),
    class: "drawing" }, { node: "Share and interval", class: "number estimated" }];
  if (counts) heads.push({ node: supporting ? "Supporting reports" : "Reports", class: "number count" });
  const rows = answers.map((answer) => {
    const { share, low, high } = answer.shown;
    const known = answer.share !== null;
    const ends = element("span", { class: "ends" }, known ? tight(`${low} to ${high}`) : "no reports");
    const estimate = element("span", { class: "estimate" }, tight(share), answer.outside ? "*" : "");
    const row = [said("span", answer.label), { node: bar(answer, most), class: "drawing" },
      { node: element("span", {}, estimate, " ", ends), class: "number estimated" }];
    if (counts) row.push({ node: number(answer.reports), class: "number count" });
    return row;
  });
  return table(caption, heads, rows, "shares");
}

// A question

function facts(pairs) {
  const shown = pairs.filter(([, text]) => text !== null && text !== "");
  return element("dl", {}, ...shown.map(([name, text]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, text))));
}

function needed(question, wish, stop) {
  const people = question.needed[wish];
  if (people === null) return "no number of respondents is enough under this design";
  const [all, more] = people;
  const drawn = question.mode === "several" || question.blank.startsWith("not asked"); // then not each response has a report
  const bar = progress(all - more, all, drawn ? "responses" : "reports");
  if (more === 0) return `none: ${counted(all, "person is", "people are")} enough`;
  if (stop !== null && all > stop) return element("span", {}, `${number(all)} in all: more than the ${number(stop)} at which the survey closes`, bar);
  return element("span", {}, `${number(more)} more (${number(all)} in all)`, bar);
}

function verdict(question, reading) {
  if (question.found || reading.state === "open") return "";
  return question.check === null ? "" : `${question.check.verdict} ${question.check.rests}`.trim();
}

function numbersTable(caption, numbers) {
  const kinds = new Set(numbers.map((number) => number.interval));
  const row = ({ name, interval, shown: [value, ends] }) => [
    capital(name) + (kinds.size > 1 ? `, ${tight(interval)}` : ""),
    { node: element("span", {}, element("span", { class: "estimate" }, value), " ", element("span", { class: "ends" }, ends)),
      class: "number estimated" }];
  return table(element("span", {}, caption, kinds.size > 1 ? "" : tight(`, with the ${[...kinds]}`)),
    ["Number", { node: "Estimate and interval", class: "number estimated" }], numbers.map(row));
}

// Answers in people's own words: found in one look, when the survey is closed

function found(question, reading) {
  const told = question.found.text.map((sentence) => element("p", { class: "note" }, tight(sentence)));
  if (reading.state === "open")
    return [element("p", { class: "nothing" }, "Respondents answer this question in their own words. Frequent answers are found once, when the "
      + "survey is closed: a search that is repeated at every step names a false answer sooner or later."),
    element("p", { class: "prospect" }, element("strong", {}, "What to expect: "), tight(question.prospect), ".")];
  if (!question.answers.length)
    return [element("p", { class: "nothing" }, question.reports ? "No answer rises above the noise." : "No reports for this question."), ...told];
  const more = question.left_out ? [element("p", { class: "note" }, `The files below contain ${counted(question.left_out, "more answer", "more answers")}.`)] : [];
  return [answersTable(tight(`Answers found, with the ${question.found.interval}`), question.answers, most, true),
    ...more, ...told];
}

function results(question, reading) {
  if (question.refused) return [element("p", { class: "refused" }, question.refused)];
  if (question.found) return found(question, reading);
  if (!question.answers.length) {
    const none = question.reports || reading.state === "closed" || reading.responses;
    return [element("p", { class: "nothing" }, none ? "No reports for this question."
      : `No numbers yet: they appear when ${counted(reading.batch, "response has", "responses have")} arrived.`),
    ...(none ? [] : [element("p", { class: "prospect" }, element("strong", {}, "What to expect: "), tight(question.prospect), ".")])];
  }
  const supporting = question.supporting;
  const shown = answersTable(tight(`Estimated shares, with the ${question.interval.name}`), question.answers, most, supporting);
  const numbers = question.numbers.length ? [numbersTable("Mean and median", question.numbers)] : [];
  const notes = [];
  if (question.answers.some((answer) => answer.outside))
    notes.push(element("p", { class: "note" }, "* The estimate lies outside its own interval."
      + (failed(question) ? "" : " This is expected: the estimator is biased. Rely on the interval.")));
  if (question.rest)
    notes.push(element("p", { class: "note" }, "There are two answers: the share of ", said("q", question.rest), " is ",
      tight("100 %"), " minus that of ", said("q", question.answers[0].label), "."));
  if (question.mode === "several")
    notes.push(element("p", { class: "note" }, tight("Any number of options can apply: the shares need not sum to 100 %.")));
  if (question.left_out)
    notes.push(element("p", { class: "note" }, `Only the ${question.answers.length} largest shares are shown; `
      + `the files below contain ${counted(question.left_out, "more answer", "more answers")}.`));
  return [...numbers, shown, ...notes];
}

/** Notes that apply to all questions: the kinds of intervals, and the time of the check. */
function caveats(reading) {
  const kinds = new Map(reading.questions.filter(({ interval }) => interval).map(({ interval }) => [interval.name, interval.promise]));
  const lines = Array.from(kinds, ([name, promise]) =>
    element("p", { class: "note" }, element("strong", {}, tight(`${capital(name)}. `)), tight(promise)));
  if (reading.state === "open" && reading.questions.some((question) => !question.found))
    lines.push(element("p", { class: "note" }, element("strong", {}, "Check. "), "It is made once, when the survey is closed: "
      + "a test that is repeated at every step raises a false alarm sooner or later."));
  return lines;
}

const failed = (question) => question.check !== null && !question.check.fits;
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function groupsFold(question, kept) {
  if (!question.groups.length) return [];
  const fold = folded("groups", kept, question.found ? "Answers found in each group" : "Shares by group");
  for (const group of question.groups) {
    fold.append(said("h3", group.text));
    for (const value of group.values) {
      const caption = () => element("span", {}, said("strong", value.value), `, ${counted(value.reports, "report", "reports")}`);
      const numbers = value.numbers.length ? [numbersTable(caption(), value.numbers)] : [];
      const none = element("p", {}, caption(), ": no answer rises above the noise.");
      fold.append(value.answers.length ? element("div", { class: "wide" }, ...numbers, answersTable(caption(), value.answers, most, question.supporting)) : none);
    }
    if (group.promise) fold.append(element("p", { class: "note" }, tight(`Each group was searched on its own. ${group.promise}`)));
  }
  return [fold];
}

function madeFold(question, kept) {
  if (question.made === null || !question.reports) return [];
  const fold = folded("made", kept, "Reports as received");
  fold.append(table("Number of reports", ["Report", { node: "Reports", class: "number" }],
    question.made.map((made) => [said("span", made.label), { node: number(made.reports), class: "number" }])));
  return [fold];
}

function folded(name, kept, summary) {
  return element("details", { "data-name": name, ...(kept.has(name) ? { open: "" } : {}) }, element("summary", {}, summary));
}

function downloads(question) {
  const link = (format, text) => element("a", {
    href: `/dashboard/export?format=${format}&question=${encodeURIComponent(question.id)}`, download: "" }, text);
  return question.answers.length
    ? [element("p", { class: "exports" }, question.found ? "Answers found as " : "Estimates as ", link("csv", "CSV"), ", ", link("parquet", "Parquet"), " or ",
      link("html", "HTML report")),
    ...(question.formulas ? [element("p", { class: "note" }, element("strong", {}, "Note: "), `${question.formulas}.`)] : [])] : [];
}

function card(question, reading, wish, old) {
  const kept = new Set(Array.from(old?.querySelectorAll("details[open]") ?? [], (fold) => fold.dataset.name));
  const heading = `question-${question.id}`;
  const how = folded("design", kept, "How answers are randomized");
  how.append(...question.design.map((sentence) => said("p", sentence)));
  if (question.interval?.how) how.append(element("p", {}, `Intervals: ${question.interval.how}.`));
  return element("section", { "aria-labelledby": heading, class: "card", "data-question": question.id },
    said("h2", question.text, { id: heading }),
    ...(question.help ? [said("p", question.help, { class: "help" })] : []),
    element("p", { class: "mode" }, question.mode === "person"
      ? "Randomized by the respondent, who enters only the report." : "Randomized by the browser."),
    ...(failed(question) ? [element("p", { class: "alarm" }, element("strong", {}, "Warning: "), question.check.verdict,
      " The estimates rely on the design: find the cause first, with ", element("code", {}, "warner check"), ".")] : []),
    element("div", { class: "wide" }, ...results(question, reading)),
    facts([
      ["Reports", number(question.reports)],
      [capital(question.blank), question.skipped === null ? null : number(question.skipped)],
      ["Epsilon of a report", question.epsilon],
      [`Still needed for ${points(reading.half_widths[wish])}`, reading.state === "open" && question.needed.length ? needed(question, wish, reading.stop) : null],
      ["Fake reports", question.influence.replace(/^Fake reports: /, "")],
      ["Check", failed(question) ? null : verdict(question, reading)],
    ]),
    ...groupsFold(question, kept), ...madeFold(question, kept), how, ...downloads(question));
}

// The head

const link = document.body.dataset.link;
const sharing = JSON.parse(document.body.dataset.sharing);
const main = document.getElementById("dashboard");
const heading = main.querySelector("h1");
const connection = document.getElementById("connection");
const parts = {
  summary: element("div", { class: "summary" }),
  announced: element("p", { class: "hidden", role: "status" }),
  questions: element("div", { class: "questions" }),
  caveats: element("div", { class: "caveats" }),
  closing: element("section", { class: "card closing", "aria-labelledby": "closing" }),
};
const wishes = element("select", { id: "wish", autocomplete: "off" });
const targets = element("select", { id: "target", autocomplete: "off" },
  new Option("the population", "population"), new Option("these respondents (sample)", "sample"));
let shown = null;

function publicLink() {
  const button = element("button", { type: "button", class: "small" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(link);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(button.previousElementSibling);
      button.textContent = "Press Ctrl+C";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 3000);
  });
  return element("span", {}, element("a", { href: link, rel: "noreferrer" }, link), " ", button,
    ...(sharing.reason ? [element("p", { class: "alarm" }, `Not for other devices: ${sharing.reason}.`)] : []),
    ...(sharing.code ? [element("img", { class: "code", src: "/dashboard/code.svg", alt: "QR code of the public link" })] : []));
}
const linked = publicLink();

function certificate(kept) {
  if (!sharing.certificate) return null;
  const fold = folded("certificate", kept, "Self-signed: browsers warn of it");
  fold.append(element("p", {}, sharing.warning), element("p", {}, "SHA-256: ", element("code", {}, sharing.certificate)),
    element("p", {}, sharing.proxy), element("pre", {}, sharing.lines.join("\n")));
  return fold;
}

function fingerprint(reading, kept) {
  const fold = folded("fingerprint", kept, `${reading.fingerprint.slice(0, 8)}…`);
  fold.append(element("code", {}, reading.fingerprint));
  return fold;
}

function responses(reading) {
  // Closing by hand publishes all waiting responses, however few they are.
  const steps = reading.state === "open"
    ? ` in steps of at least ${number(reading.batch)} until the survey is closed, so that no difference shows what one respondent sent` : "";
  const revoked = reading.revoked ? ` (${number(reading.revoked)} revoked)` : "";
  const invited = reading.invited === null ? "" : ` of ${number(reading.invited)} invited${revoked}`;
  return element("p", { class: "responses" }, element("strong", {}, number(reading.responses)),
    ` ${reading.responses === 1 ? "response" : "responses"}${invited}`,
    element("span", { class: "note" }, steps ? `published,${steps}` : "all published"));
}

/** Progress bar: received of planned responses. */
function progress(have, planned, words) {
  const text = `${number(have)} of ${number(planned)} ${words}`;
  return element("div", { class: "progress" }, element("progress", { max: planned, value: Math.min(have, planned), "aria-label": text }),
    " ", element("span", { class: "note" }, text));
}

function planned(reading) {
  const most = [reading.stop, reading.invited].filter((count) => count !== null);
  return most.length ? [progress(reading.responses, Math.min(...most), reading.stop === Math.min(...most) ? "planned responses" : "invited")] : [];
}

function byDay(reading, kept) {
  if (!reading.days.length) return [];
  const { days } = reading;
  const [first, last] = [days[0].day, days.at(-1).day];
  const fold = folded("days", kept, "Responses by day, as a table");
  fold.append(table("Published responses", ["Day", { node: "Responses", class: "number" }],
    days.map((day) => [day.day, { node: number(day.responses), class: "number" }])));
  return [element("figure", {}, dayChart(days),
    element("figcaption", {}, first === last ? `Published responses on ${first}`
      : `Published responses by day, ${first} to ${last}; at most ${number(Math.max(...days.map((day) => day.responses)))} per day`)),
  fold];
}

function summary(reading) {
  const kept = new Set(Array.from(parts.summary.querySelectorAll("details[open]"), (fold) => fold.dataset.name));
  const closed = reading.state === "closed";
  parts.summary.replaceChildren(
    element("p", { class: `state ${reading.state}` }, closed ? "Closed" : "Open"),
    responses(reading),
    ...planned(reading),
    ...reading.doubts.map((doubt) => element("p", { class: "alarm" }, element("strong", {}, "Note: "), `${doubt}.`)),
    ...byDay(reading, kept),
    facts([
      [reading.invited === null ? "Public link" : "Survey page, by invitation", closed ? null : linked],
      ["Certificate", closed ? null : certificate(kept)],
      ["Opens", reading.opens === null || closed ? null : time(reading.opens)],
      ["Closes by itself", closed ? null : [reading.closes === null ? null : `on ${time(reading.closes)}`,
        reading.stop === null ? null : `with ${number(reading.stop)} responses`].filter(Boolean).join(", or ")],
      ["Epsilon of all questions together", reading.epsilon],
      ["Fingerprint", fingerprint(reading, kept)],
      ["Tallies of all questions", element("a", { href: "/dashboard/export?format=json", download: "" }, "JSON")],
      [element("label", { for: "wish" }, "Desired precision"), closed ? null : wishes],
      [closed ? element("label", { for: "target" }, "Results are for") : "Results are for", closed ? targets
        : "the population; once the survey is closed, also for the respondents themselves (sample)"],
    ]),
    parts.caveats);
}

function show(reading) {
  language = reading.language;
  const before = shown;
  shown = reading;
  if (!wishes.options.length)
    reading.half_widths.forEach((width, index) => wishes.append(new Option(points(width), index, index === 1, index === 1)));
  document.title = `${reading.title} – dashboard`;
  heading.textContent = reading.title;
  const focus = focused();
  summary(reading);
  cards();
  closing(reading);
  focus?.()?.focus();
  if (before && (before.responses !== reading.responses || before.state !== reading.state))
    parts.announced.textContent = `${counted(reading.responses, "response", "responses")} published; the survey is ${reading.state}.`;
}

function cards() {
  const questions = shown.questions.map((question) => (targets.value === "sample" ? { ...question, ...question.sample } : question));
  const reading = { ...shown, questions };
  most = scale(questions.flatMap(({ answers, groups }) =>
    [...answers, ...groups.flatMap(({ values }) => values.flatMap((value) => value.answers))]));
  parts.caveats.replaceChildren(...caveats(reading));
  const old = new Map(Array.from(parts.questions.children, (node) => [node.dataset.question, node]));
  parts.questions.replaceChildren(...questions.map((question) =>
    card(question, reading, wishes.selectedIndex, old.get(question.id))));
}
wishes.addEventListener("change", cards);
targets.addEventListener("change", cards);

/** Remember the focus, to restore it when the focused element is replaced. */
function focused() {
  const active = document.activeElement;
  if (!active || active === document.body || dialog.contains(active)) return null;
  const section = active.closest("[data-question]");
  const where = section ? `[data-question="${section.dataset.question}"]` : ".summary";
  const all = () => Array.from(document.querySelectorAll(`${where} :is(a, summary, select, button, .wide)`));
  const index = all().indexOf(active);
  return () => (active.isConnected ? active : all()[index]);
}

// Closing

const sure = element("button", { type: "button", class: "danger" }, "Close the survey for good");
const cancel = element("button", { type: "button", autofocus: "" }, "Keep it open");
const failure = element("p", { class: "alarm", role: "alert" });
const stays = element("p", { id: "stays" });
const dialog = element("dialog", { "aria-labelledby": "sure", "aria-describedby": "what stays" },
  element("h2", { id: "sure" }, "Close the survey for good?"),
  element("p", { id: "what" }, "No further responses will be accepted, and a closed survey cannot be reopened. The "
    + "responses that are still waiting will be published, however few they are: the difference to earlier "
    + "results can then show a single response. The check will be run."),
  stays,
  failure,
  element("p", { class: "buttons" }, cancel, " ", sure));
cancel.addEventListener("click", () => dialog.close());
sure.addEventListener("click", async () => {
  sure.disabled = true;
  failure.textContent = "";
  try {
    const reply = await fetch("/dashboard/close", { method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ survey: shown.fingerprint }) });
    if (!reply.ok) throw new Error();
    dialog.close();
  } catch {
    failure.textContent = "The server did not close the survey. Read its messages, and try again.";
  }
  sure.disabled = false;
});

function closing(reading) {
  stays.textContent = reading.stop === null
    ? "The intervals stay as they are, because the decision to close can depend on the results."
    : `The survey would close by itself at ${number(reading.stop)} responses. If you close it before, the intervals stay as they are, `
      + "and the narrower ones for one look are not shown, because the decision to close can depend on the results.";
  if (reading.state === "closed") {
    if (dialog.open) dialog.close();
    parts.closing.replaceChildren(element("h2", { id: "closing" }, "The survey is closed"),
      element("p", {}, reading.fixed
        ? `It closed by itself at ${number(reading.responses)} responses, as the survey file specifies. All responses are published.`
        : "No further responses are accepted. All responses are published."));
    return;
  }
  if (parts.closing.querySelector("button")) return;
  const button = element("button", { type: "button", class: "danger" }, "Close the survey…");
  button.addEventListener("click", () => { failure.textContent = ""; dialog.showModal(); });
  parts.closing.replaceChildren(element("h2", { id: "closing" }, "Close the survey"),
    element("p", {}, `${reading.stop === null ? "Close it once enough respondents have answered."
      : `Let it close by itself at ${number(reading.stop)} responses: only then are the narrower intervals for one look valid.`} `
      + "After closing, no responses are accepted, and closing cannot be undone."), button);
}

// The stream

const live = (words) => state(shown?.state === "closed" ? "The survey is closed. These results are final." : `Live. ${words} at ${clock()}.`, false);
const clock = () => new Date().toLocaleTimeString("en-GB");
function state(text, lost) {
  connection.textContent = text;
  connection.classList.toggle("lost", lost);
}

function listen() {
  const source = new EventSource("/dashboard/live");
  source.addEventListener("open", () => { if (shown) live("Connected"); });
  source.addEventListener("message", (event) => {
    show(JSON.parse(event.data));
    live("Last update");
  });
  source.addEventListener("trouble", (event) => {
    const trouble = JSON.parse(event.data);
    if (trouble) state(`The server has trouble with its database: ${trouble}`, true);
    else live("Connected");
  });
  source.addEventListener("error", () => {
    const gone = source.readyState === EventSource.CLOSED;
    state(gone ? "The server no longer accepts this page. If it was restarted, open the new link that it printed. If the session "
      + "has ended, warner survey link prints a new link."
      : `Connection lost at ${clock()}. Trying again.${shown ? " The numbers below are the last that arrived." : ""}`, true);
    if (gone) setTimeout(listen, RETRY);
  });
}

if (location.search) history.replaceState(null, "", location.pathname); // the key has done its work
if (window.isSecureContext) {
  main.append(parts.announced, parts.summary, parts.questions, parts.closing, dialog);
  listen();
} else state("Browsers keep the session only over HTTPS or at 127.0.0.1: please use one of these.", true);
