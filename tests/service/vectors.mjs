// The test vectors of docs/reference/formats/draws.md: what disagrees with them. For Node and for browsers.

/** Bytes from hexadecimal, in the order in which they are asked for; `left` says how many were not. */
export function scripted(hex) {
  const all = Uint8Array.from(hex.match(/../g) ?? [], (digits) => parseInt(digits, 16));
  let taken = 0;
  const source = (size) => {
    if (taken + size > all.length) throw new Error("more bytes were asked for than there are");
    return all.slice(taken, (taken += size));
  };
  return { source, left: () => all.length - taken };
}

function drawn({ randomizeCode }, read, { answer, bytes, report, label }) {
  const { source, left } = scripted(bytes);
  // Answers are positions; those of open domains are themselves.
  const code = randomizeCode(read, typeof answer === "string" ? read.answers.indexOf(answer) : answer, source);
  // Labels by position; numbers and sets as they are written.
  const agrees = label === undefined ? String(code) === report : code === report && read.reports.at(code) === label;
  return agrees && left() === 0 ? [] : [`${bytes} after ${answer}: ${code} with ${left()} bytes left, not ${report}`];
}

function drawnSeveral({ randomizeCode }, read, { answers, bytes, reports }) {
  const { source, left } = scripted(bytes);
  const found = reports.map(() => null);
  if (read.pick) found[0] = String(read.reports.at(read.pick(answers.flatMap((answer, i) => (answer ? [] : [i])), source)));
  else for (const i of read.drawn(source)) {
    const part = read.parts?.[i] ?? read.each;
    found[i] = String(part.reports.at(randomizeCode(part, answers[i], source)));
  }
  const agrees = JSON.stringify(found) === JSON.stringify(reports) && left() === 0;
  return agrees ? [] : [`${bytes} after ${answers}: ${found} with ${left()} bytes left, not ${reports}`];
}

// Equal; of several questions, whose doubles are added, never less and hardly more
const SEVERAL = ["product", "split questionnaire", "select all"];
const near = ({ mechanism }, epsilon, exact) =>
  epsilon === (exact ?? Infinity) ||
  (SEVERAL.includes(mechanism) && epsilon >= exact && epsilon <= exact * (1 + 2 ** -46));

/** What disagrees, and how many draws and damaged designs were looked at until there were so many disagreements. */
export function disagreements(warner, file, most = Infinity) {
  const found = [];
  const attempt = (what, work) => {
    try {
      found.push(...work().map((complaint) => `${what}: ${complaint}`));
    } catch (error) {
      found.push(`${what}: ${error}`);
    }
  };
  let draws = 0;
  const unlike = ({ answers }, [answer, position]) =>
    `${answers.indexOf(answer)}` === (position ?? "-1") ? [] : [`${answer} is written ${answers.indexOf(answer)}, not ${position}`];
  for (const { design: json, epsilon, draws: given, written = [] } of [...file.vectors, ...file.open]) {
    if (found.length >= most) break;
    const what = JSON.stringify(json).slice(0, 200);
    attempt(what, () => {
      const read = warner.design(json);
      draws += given.length;
      const complaints = [
        ...written.flatMap((pair) => unlike(read, pair)), ...given.flatMap((draw) => drawn(warner, read, draw)),
      ];
      return near(json, read.epsilon, epsilon) ? complaints : [...complaints, `epsilon ${read.epsilon}, not ${epsilon}`];
    });
  }
  for (const { design: json, epsilon, draws: given } of file.several) {
    if (found.length >= most) break;
    attempt(JSON.stringify(json).slice(0, 200), () => {
      const read = warner.design(json);
      draws += given.length;
      const complaints = given.flatMap((draw) => drawnSeveral(warner, read, draw));
      return near(json, read.epsilon, epsilon) ? complaints : [...complaints, `epsilon ${read.epsilon}, not ${epsilon}`];
    });
  }
  for (const { why, design: json } of file.damaged) {
    if (found.length >= most) break;
    attempt(why, () => {
      try {
        warner.design(json);
      } catch (error) {
        return error instanceof TypeError && error.message.startsWith("this design is damaged") ? [] : [String(error)];
      }
      return [`was read: ${JSON.stringify(json)}`];
    });
  }
  return { draws, damaged: file.damaged.length, found };
}
