import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { freePorts } from '../../tools/free-ports.js';
import { cellsOf, openFrame, useBrowser } from './open-console.ts';

const open = useBrowser();

const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url));
/** Where the packages of the examples are found. */
const SERVER = fileURLToPath(new URL('../../apps/server/', import.meta.url));
const EMBEDDING = readFileSync(new URL('../../docs/embedding.md', import.meta.url), 'utf8');

/** Returns a line that the page about embedding adds to an example. */
function lineOf(text: string): string {
  const line = EMBEDDING.split('\n')
    .find((one) => one.startsWith(`+${text}`))
    ?.slice(1);
  if (line === undefined) throw new Error(`docs/embedding.md has no line "${text}".`);
  return line;
}

/** Runs an example with the lines for the console, as the page about embedding says, until the test ends. */
async function serveExample(name: string, mount: string): Promise<string> {
  const example = readFileSync(`${EXAMPLES}${name}.js`, 'utf8');
  const text = example.replace(/^(?=\w+\.notFound)/m, `${lineOf(mount)}\n`);
  const program = `${lineOf('import { createConsoleApp }')}\n${text}`;
  const [port] = await freePorts(1);
  const host = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: SERVER,
    env: { PATH: process.env['PATH'], PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void host.kill());
  const ended = once(host, 'exit').then(() => Promise.reject(new Error('The example ended.')));
  await Promise.race([once(host.stdout, 'data'), ended]);
  ended.catch(() => undefined);
  return `http://127.0.0.1:${port}/data`;
}

// `npm run check:examples` does so with Express, too, which is installed for it alone.
test.each(['embed-hono', 'embed-node-http'])('the console works below a path of the host of %s', async (name) => {
  const url = await serveExample(name, "app.route('/data', createConsoleApp());");
  const headers = { 'content-type': 'application/json' };
  const put = await fetch(`${url}/frames/trades`, { method: 'PUT', headers, body: '[{"symbol":"BTC","price":2.5}]' });
  expect(put.status).toBe(201);
  // Without the slash: the browser is led to it.
  const { page } = await open(url);
  expect(page.url()).toBe(`${url}/`);
  await openFrame(page, 'trades');
  expect(await cellsOf(page)).toEqual(['BTC', '2.5']);
  await page.getByRole('tab', { name: 'Info' }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'csv', exact: true }).click(),
  ]);
  expect(download.suggestedFilename()).toBe('trades.csv');
});
