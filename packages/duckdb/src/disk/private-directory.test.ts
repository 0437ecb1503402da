import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

let parent: string;

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'private-directory-'));
});

afterEach(() => rm(parent, { recursive: true, force: true }));

/** Writes many files into the directory, as an engine that is still running may, and ends when the directory is gone. */
const WRITER = `
  const { writeFileSync } = require('node:fs');
  const [, directory] = process.argv;
  for (let i = 0; i < 20_000; i++) {
    writeFileSync(directory + '/' + i, '');
    if (i === 1000) process.stdout.write('writes');
  }
`;

/** Creates a directory, and exits as on Ctrl-C while the writer is writing. */
const PROGRAM = `
  import { spawn } from 'node:child_process';
  const [, module, parent, writer] = process.argv;
  const { createEndingDirectory } = await import(module);
  const { path } = createEndingDirectory(parent, 'svc-ending-');
  const child = spawn(process.execPath, ['-e', writer, path], { stdio: ['ignore', 'pipe', 'ignore'] });
  child.stdout.once('data', () => process.exit(130));
`;

test('a directory is removed when its process ends, even while another process writes into it', async () => {
  const module = new URL('../../dist/disk/private-directory.js', import.meta.url).href;
  const program: ChildProcess = spawn(
    process.execPath,
    ['--input-type=module', '-e', PROGRAM, module, parent, WRITER],
    {
      stdio: 'inherit',
    },
  );
  await once(program, 'exit');
  expect([program.exitCode, await readdir(parent)]).toEqual([130, []]);
});
