// A long result is read while it arrives: memory does not grow with it.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { sharedProcess } from '../../../apps/server/test/server-process.ts';

const GB = 1e9;
/** Of the whole process; an empty one of Node has about 50 MB. */
const MAX_RSS_KB = 300_000;
/** Rows of about 100 bytes. */
const SQL = "select range as id, repeat('x', 85) as text from range(10500000)";

/** Runs a program with a client in a process with a heap of 64 MB, and returns what it sends. */
async function run(code: string): Promise<Record<string, number>> {
  const { url } = await sharedProcess();
  const program = `
    import { createClient } from '@svc/client';
    const client = createClient({ url: ${JSON.stringify(url)} });
    const options = { engine: 'local', format: 'arrow' };
    let size = 0;
    let next = 0n;
    ${code}
    console.log(JSON.stringify({ size, rows: Number(next), rss: process.resourceUsage().maxRSS }));`;
  const args = ['--max-old-space-size=64', '--input-type=module', '--eval', program];
  const cwd = fileURLToPath(new URL('..', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd });
  return JSON.parse(stdout) as Record<string, number>;
}

test('1 GB of rows is read in order, with flat memory', { timeout: 400_000 }, async () => {
  const { size, rows, rss } = await run(`
    for await (const { id, text } of await client.query(${JSON.stringify(SQL)}, options)) {
      if (id !== next) throw new Error('row ' + id + ' instead of ' + next);
      next += 1n;
      size += String(id).length + text.length + 5;
    }`);
  expect(rows).toBe(10_500_000);
  expect(size).toBeGreaterThan(GB);
  expect(rss).toBeLessThan(MAX_RSS_KB);
});

test('1 GB of bytes is read with flat memory', { timeout: 400_000 }, async () => {
  const { size, rss } = await run(`
    for await (const chunk of await client.queryStream(${JSON.stringify(SQL)}, options)) size += chunk.length;`);
  expect(size).toBeGreaterThan(GB);
  expect(rss).toBeLessThan(MAX_RSS_KB);
});
