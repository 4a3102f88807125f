// Numbers as the page reads and rounds them, and the facts that designs tell: one case per line of JSON in, one out.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const folder = pathToFileURL(process.argv[2]);
const { design } = await import(`${folder}/warner.js`);
const { decimalText, gridOf, nearest, readNumber } = await import(`${folder}/numbers.js`);
await import(`${folder}/sets.js`);

const places = (size) => [...Array(size).keys()];
const asked = {
  read: ({ text, languages }) => {
    const number = readNumber(text, languages);
    return number && decimalText(number);
  },
  nearest: ({ domain, text }) => {
    const { answers } = design({
      format: "warner design", version: 1, mechanism: "randomized response", domain, odds: ["3", "1"],
    });
    const grid = gridOf(answers);
    const number = readNumber(text);
    return grid && number && nearest(grid, number);
  },
  facts: ({ design: json }) => {
    const { answers, reports, chance, held } = design(json);
    return { held, chances: chance && places(answers.size).map((x) => places(reports.size).map((y) => chance(x, y))) };
  },
};
for await (const line of createInterface({ input: process.stdin })) {
  const { what, ...given } = JSON.parse(line);
  console.log(JSON.stringify(asked[what](given) ?? null));
}
