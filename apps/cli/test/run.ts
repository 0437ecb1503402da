import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterEach } from 'vitest';
import type { Output } from '../src/output/output.ts';
import { packageVersion, runCli } from '../src/run-cli.ts';

/** The outcome of a run of `svc`. */
export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Options of a run. */
export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Default: none. */
  readonly homeDir?: string;
  readonly stdin?: string | Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
  /** Columns of a terminal. Default: none, as in a pipe. */
  readonly width?: number;
  /** The same for standard error. Default: as `width`. */
  readonly errorWidth?: number | undefined;
}

/** Runs `svc` inside this process. */
export async function run(argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { env = {}, homeDir = '', stdin = '', width } = options;
  const stdout = createSink(width);
  const stderr = createSink('errorWidth' in options ? options.errorWidth : width);
  const input = typeof stdin === 'string' ? [Buffer.from(stdin)] : stdin;
  const { signal } = new AbortController();
  const code = await runCli(argv, {
    version: packageVersion(),
    env,
    homeDir,
    stdin: Readable.from(input),
    stdout,
    stderr,
    signal,
  });
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

/** Creates an output that collects the text. */
export function createSink(width?: number): Output & { text(): string } {
  const chunks: Buffer[] = [];
  return {
    width,
    isStyled: false,
    write: async (chunk) => void chunks.push(Buffer.from(chunk)),
    text: () => Buffer.concat(chunks).toString(),
  };
}

/** The launcher of `svc`. */
export const BINARY = fileURLToPath(new URL('../bin/svc.js', import.meta.url));
const children: ChildProcess[] = [];

afterEach(async () => {
  await Promise.all(
    children.splice(0).map(async (child) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }),
  );
});

/** Starts the real binary; the caller ends it. */
export function spawnBinary(argv: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [BINARY, ...argv], { env: { ...process.env, ...env } });
}

/** The real binary while it runs. */
export interface StartedBinary extends ChildProcessWithoutNullStreams {
  readonly ran: Promise<Ran>;
}

/** Starts the real binary; it ends with the test. */
export function startBinary(argv: readonly string[], env?: NodeJS.ProcessEnv): StartedBinary {
  const child = spawnBinary(argv, env);
  children.push(child);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  // A command that does not read its input may close it before the test does.
  child.stdin.on('error', () => {});
  const ran = once(child, 'close').then(() => ({ code: child.exitCode, stdout, stderr }));
  return Object.assign(child, { ran });
}

/** Runs the real binary to its end. */
export async function runBinary(argv: readonly string[], stdin = '', env?: NodeJS.ProcessEnv): Promise<Ran> {
  const child = startBinary(argv, env);
  child.stdin.end(stdin);
  return child.ran;
}
