import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'pipe-launch-'));
});

afterEach(() => rm(directory, { recursive: true }));

const PROGRAM = `
  const { closeSync, openSync } = await import('node:fs');
  const { createFrameFiles, createSqlEngine } = await import(process.argv[1]);
  const tempDirectory = process.argv[2];
  const files = createFrameFiles({ tempDirectory });
  const call = { tenant: 'default', requestId: 'test', signal: new AbortController().signal };
  const held = [];
  try {
    for (;;) held.push(openSync('/dev/null'));
  } catch (error) {
    if (error.code !== 'EMFILE') throw error;
  }
  const engine = createSqlEngine({ store: { directories: () => [] }, tempDirectory, maxConcurrent: 1 });
  const ask = async () => (await engine.query(call, 'SELECT 1')).close();
  const said = [];
  const attempt = async (run) => said.push(await run().then(() => 'answered', ({ code }) => code));
  const attemptBoth = async () => {
    await attempt(() => files.tables(process.argv[3]));
    await attempt(ask);
  };
  await attemptBoth();
  await attemptBoth();
  for (const file of held) closeSync(file);
  await attemptBoth();
  await engine.close();
  await files.close();
  process.stdout.write(said.join(' '));
`;

test.runIf(existsSync('/bin/sh'))(
  'a child that cannot be started fails what needs it, and the next request tries again',
  async () => {
    const index = new URL('../../dist/index.js', import.meta.url).href;
    const program = [
      process.execPath,
      '--input-type=module',
      '-e',
      PROGRAM,
      index,
      directory,
      join(directory, 'a.duckdb'),
    ];
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', 'ulimit -n 1000; exec "$@"', 'sh', ...program]);
    expect(stdout).toBe('internal internal internal internal answered answered');
    expect(await readdir(directory)).toEqual(['a.duckdb']);
  },
);
