import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readBoundedFile, readFailure } from './bounded-file.ts';

/** A named pipe. */
function makePipe(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-pipe-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
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
