// The same as guards.py for the guard that is a JavaScript package: cc-safety-net.
//
//     node guards.mjs < commands.jsonl > verdicts.jsonl
//
// It knows allow and deny.

import { createInterface } from "node:readline";
import { checkCommand } from "cc-safety-net/api";

for await (const line of createInterface({ input: process.stdin })) {
  const { id, command, cwd } = JSON.parse(line);
  const begun = process.hrtime.bigint();
  let verdict;
  try {
    verdict = checkCommand({ command, cwd }).kind;
  } catch {
    verdict = "error";
  }
  const seconds = Number(process.hrtime.bigint() - begun) / 1e9;
  console.log(JSON.stringify({ id, verdict, seconds }));
}
