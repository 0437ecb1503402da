// `svc serve <file> --open`, with the real binary.
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { byTier } from '../../../test/tier.ts';
import { type StartedBinary, startBinary } from './run.ts';

const LISTEN = ['--http-bind-address=127.0.0.1:0', '--grpc-host', '127.0.0.1', '--grpc-port=0', '--log-format=json'];

function workFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-serve-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

function fileWith(folder: string, name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

/** A folder with a program that writes the URL that it should open into a file. */
function openerIn(folder: string): string {
  const opener = fileWith(
    folder,
    'xdg-open',
    `#!/bin/sh\nprintf %s "$1" > '${folder}/opened.new'\nmv '${folder}/opened.new' '${folder}/opened'\n`,
  );
  chmodSync(opener, 0o755);
  return folder;
}

/** The line of the log that says ready. */
async function ready(server: StartedBinary): Promise<{ http: string; console?: string }> {
  for await (const line of createInterface({ input: server.stderr })) {
    if (line.startsWith('{') && JSON.parse(line).message === 'ready') {
      server.stderr.resume();
      return JSON.parse(line);
    }
  }
  throw new Error('The server ended.');
}

test('puts each file under its name, and opens the console', async () => {
  const folder = workFolder();
  const files = [
    fileWith(folder, 'trades.csv', 'id,symbol\n1,BTC\n'),
    fileWith(folder, 'my quotes.json', '[{"id": 2}]'),
  ];
  const path = `${openerIn(folder)}:${process.env['PATH'] ?? ''}`;
  const server = startBinary(['serve', files[0], ...LISTEN, '--open', '--', files[1]], { PATH: path });
  const addresses = await ready(server);
  expect(addresses.console).toBe(`${addresses.http}/`);
  await expect
    .poll(() => readFileSync(join(folder, 'opened'), { encoding: 'utf8', flag: 'a+' }))
    .toBe(`${addresses.http}/`);
  const { frames } = (await (await fetch(`${addresses.http}/frames`)).json()) as { frames: { handle: string }[] };
  expect(frames.map(({ handle }) => handle)).toEqual(['my_quotes', 'trades']);
  server.kill('SIGTERM');
  expect(await server.ran).toMatchObject({ code: 0, stdout: expect.stringContaining('trades') });
});

test('says where the console is if no browser can be opened', async () => {
  const server = startBinary(['serve', ...LISTEN, '--open'], { PATH: workFolder() });
  let text = '';
  // Before it is ready: the sentence may be in the chunk that says so.
  server.stderr.on('data', (chunk) => (text += String(chunk)));
  const { http } = await ready(server);
  const sentence = `No browser could be opened. The console is at ${http}/\n`;
  await expect.poll(() => text).toContain(sentence);
  server.kill('SIGTERM');
  expect(await server.ran).toMatchObject({ code: 0 });
});

for (const [options, rows] of byTier<[what: string, file: () => string, code: number, sentence: RegExp]>([
  ['is missing', () => '/nowhere/trades.csv', 2, /cannot be read|There is no file|nowhere/],
  ['is broken', () => fileWith(workFolder(), 'broken.json', '[{"id": 1}, {'), 1, /error: /],
])) {
  test.each(rows)('a file that %s ends it with the code of svc put', options, async (_what, file, code, sentence) => {
    const { ran } = startBinary(['serve', file(), ...LISTEN]);
    expect(await ran).toMatchObject({ code, stderr: expect.stringMatching(sentence) });
  });
}
