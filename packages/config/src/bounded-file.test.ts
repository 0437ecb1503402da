import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readBoundedFile, readFailure } from './bounded-file.ts';

/** A named pipe. */
function makePipe(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-pipe-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  return path;
}

/** Starts a process that writes the texts to a pipe, with a pause before each. */
function writeInto(path: string, ...texts: readonly string[]): void {
  const commands = texts.map((text) => `sleep 0.1; printf '${text}'`);
  const writer = spawn('/bin/sh', ['-c', `{ ${commands.join('; ')}; } > "$0"`, path], { stdio: 'ignore' });
  onTestFinished(() => void writer.kill());
}

describe.skipIf(process.platform === 'win32')('a pipe', () => {
  test('is read to its end, even if its writer is late', () => {
    const path = makePipe();
    writeInto(path, 'first ', 'second');
    expect(Buffer.from(readBoundedFile(path, 100)).toString()).toBe('first second');
  });

  test('returns at most one byte more than the limit', () => {
    const path = makePipe();
    writeInto(path, '123456789');
    expect(readBoundedFile(path, 3)).toHaveLength(4);
  });

  test('does not change how Node resolves links afterwards', () => {
    const path = makePipe();
    const folder = realpathSync(dirname(path));
    mkdirSync(join(folder, 'package'));
    for (const name of ['first.js', 'second.js']) writeFileSync(join(folder, 'package', name), '');
    symlinkSync('package', join(folder, 'link'));
    const { resolve } = createRequire(import.meta.url);
    resolve(join(folder, 'link', 'first.js'));
    // What was looked at before, by any test, is forgotten.
    statSync(folder);
    writeInto(path, 'text');
    readBoundedFile(path, 100);
    expect(resolve(join(folder, 'link', 'second.js'))).toBe(join(folder, 'package', 'second.js'));
  });

  test('that nothing writes to is an error after a timeout', () => {
    const path = makePipe();
    let failure: unknown;
    try {
      readBoundedFile(path, 100, 50);
    } catch (error) {
      failure = error;
    }
    expect(readFailure(failure)).toBe('it is a pipe that nothing writes to');
  });
});
