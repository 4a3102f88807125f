// Reports of memos: from the same secret, and the same bytes for the second round, the same as in Python. Reads cases from
// standard input, and writes what each gives.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const module = (name) => import(`${pathToFileURL(process.env.WARNER_WEB)}/${name}`);
const { randomizeCode } = await module("warner.js");
const { memo } = await module("memo.js");

const bytesOf = (hex) => Uint8Array.from(hex.match(/../g), (digits) => parseInt(digits, 16));
const written = [];
for (const { design, secret, draws } of JSON.parse(readFileSync(0, "utf8"))) {
  const bytes = bytesOf(secret);
  const made = memo(design, bytes);
  bytes.fill(0); // as a page does that wants no secret left in its memory
  const mine = await made;
  written.push(
    draws.map(({ answer, bytes }) => {
      const all = bytesOf(bytes);
      let taken = 0;
      const report = randomizeCode(mine, answer, (size) => all.slice(taken, (taken += size)));
      return { report: `${report}`, left: all.length - taken };
    }),
  );
}
console.log(JSON.stringify(written));
