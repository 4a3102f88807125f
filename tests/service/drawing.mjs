// Draws reports from given bytes, a batch per line of JSON: {"design", "draws": [[answer, hex], ...]} in, reports out.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { scripted } from "./vectors.mjs";

const folder = pathToFileURL(process.argv[2]);
const { design, randomizeCode } = await import(`${folder}/warner.js`);
await import(`${folder}/sets.js`);
for await (const line of createInterface({ input: process.stdin })) {
  const { design: json, draws } = JSON.parse(line);
  const read = design(json);
  const reports = draws.map(([answer, hex]) => {
    const { source, left } = scripted(hex);
    const report = String(randomizeCode(read, answer, source));
    return left() ? `${left()} bytes left` : report;
  });
  console.log(JSON.stringify(reports));
}
