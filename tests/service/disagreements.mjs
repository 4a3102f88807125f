// Whether vectors disagree with the modules of each of these folders: 1 or 0, one line each.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { disagreements } from "./vectors.mjs";

const [vectors, ...folders] = process.argv.slice(2);
const file = JSON.parse(readFileSync(vectors, "utf8"));
for (const folder of folders) {
  const warner = await import(`${pathToFileURL(folder)}/warner.js`);
  await import(`${pathToFileURL(folder)}/sets.js`);
  console.log(disagreements(warner, file, 1).found.length);
}
