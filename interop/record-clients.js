// What works with which client, as a suite has seen it: docs/clients.md has the table.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Compares the rows of a suite with those that are kept; with SVC_RECORD=1, keeps them. Returns whether they are the same. */
export function recordClients(suite, rows) {
  const file = fileURLToPath(new URL(`clients/${suite}.json`, import.meta.url));
  const text = `${JSON.stringify(rows, null, 2)}\n`;
  if (process.env.SVC_RECORD) writeFileSync(file, text);
  const isSame = existsSync(file) && readFileSync(file, 'utf8') === text;
  if (!isSame) console.error(`${file} is out of date: run the suite with SVC_RECORD=1, then npm run docs.`);
  return isSame;
}

/** Returns what a program has printed about a client, in lines that begin with `works` or `lacks`. */
export function seenIn(stdout) {
  const seen = (kind) => stdout.split('\n').flatMap((line) => (line.startsWith(`${kind} `) ? line.slice(6) : []));
  return { works: seen('works'), lacks: seen('lacks') };
}
