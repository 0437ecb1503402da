import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type AuditFile, type AuditLine, openAuditFile } from '../src/observers/audit.ts';
import { testFile } from './server-process.ts';

function lineOf(number: number): AuditLine {
  const nothing = { tenant: 'alpha', caller: null, handle: null };
  return { time: '2026-01-01T00:00:00.000Z', requestId: `r-${number}`, ...nothing, operation: 'x', outcome: 'ok' };
}

const idsIn = (path: string): string[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((text) => text !== '')
    .map((text) => (JSON.parse(text) as AuditLine).requestId);

/** A path of a file that does not exist. */
function newPath(): string {
  const path = testFile('audit.log', '');
  rmSync(path);
  return path;
}

interface Opened extends AuditFile {
  readonly failed: AuditLine[];
}

async function opened(path: string): Promise<Opened> {
  const failed: AuditLine[] = [];
  const file = await openAuditFile(path, { onFailure: (lines) => void failed.push(...lines) });
  return { ...file, failed };
}

test('lines are appended in order, to a file of mode 0600', async () => {
  const path = newPath();
  for (const start of [0, 1000]) {
    const file = await opened(path);
    for (let i = start; i < start + 1000; i += 1) file.write(lineOf(i));
    await file.close();
    expect(file.failed).toEqual([]);
  }
  expect(idsIn(path)).toEqual(Array.from({ length: 2000 }, (_, i) => `r-${i}`));
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

describe('the next line goes to a new file of the name if the file was', () => {
  test.each([
    ['renamed', (path: string) => renameSync(path, `${path}.1`)],
    ['removed', (path: string) => rmSync(path)],
    [
      'replaced',
      (path: string) => {
        writeFileSync(`${path}.new`, '');
        renameSync(`${path}.new`, path);
      },
    ],
  ])('%s', async (what, rotate) => {
    const path = newPath();
    const file = await opened(path);
    file.write(lineOf(1));
    await expect.poll(() => idsIn(path)).toEqual(['r-1']);
    rotate(path);
    file.write(lineOf(2));
    await file.close();
    expect(idsIn(path)).toEqual(['r-2']);
    if (what === 'renamed') expect(idsIn(`${path}.1`)).toEqual(['r-1']);
  });
});

test('a line that cannot be written is reported, and the next ones are written when that is possible again', async () => {
  const path = newPath();
  const file = await opened(path);
  rmSync(dirname(path), { recursive: true });
  file.write(lineOf(1));
  await expect.poll(() => file.failed).toEqual([lineOf(1)]);
  mkdirSync(dirname(path));
  file.write(lineOf(2));
  await file.close();
  expect(idsIn(path)).toEqual(['r-2']);
});

test('lines beyond those that may wait are reported at once', { tags: ['slow'] }, async () => {
  const path = newPath();
  const file = await opened(path);
  for (let i = 0; i < 20_000; i += 1) file.write(lineOf(i));
  const reported = file.failed.length;
  await file.close();
  expect(reported).toBeGreaterThan(0);
  expect(idsIn(path)).toHaveLength(20_000 - reported);
});

test('an exit that waits for nothing loses no line', () => {
  const path = newPath();
  const source = new URL('../dist/observers/audit.js', import.meta.url).href;
  const program = `
    const { openAuditFile } = await import(${JSON.stringify(source)});
    const file = await openAuditFile(${JSON.stringify(path)}, { onFailure: () => {} });
    for (let i = 0; i < 100; i += 1) {
      file.write({ requestId: 'r-' + i });
      if (i === 50) await new Promise(setImmediate);
    }
    process.exit(0);`;
  const { status } = spawnSync(process.execPath, ['--input-type=module', '-e', program]);
  expect(status).toBe(0);
  expect(new Set(idsIn(path)).size).toBe(100);
});

test.each([
  ['a directory', (path: string) => mkdirSync(path)],
  ['a FIFO', (path: string) => spawnSync('mkfifo', [path])],
])('%s cannot be opened', async (_what, make) => {
  const path = newPath();
  make(path);
  await expect(opened(path)).rejects.toThrow();
});
