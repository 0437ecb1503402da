import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { LOCAL_LISTENERS } from '../../../tools/local-listeners.js';

const BINARY = fileURLToPath(new URL('../bin/server.js', import.meta.url));

export type LogLine = Readonly<Record<string, unknown>> & { readonly level: string; readonly message: string };

/** A real server process; it ends with the test. */
export interface ServerProcess {
  readonly url: string;
  readonly port: number;
  readonly grpcAddress: string;
  readonly child: ChildProcess;
  /** The log so far. */
  readonly log: readonly LogLine[];
  /** Resolves with the first line, past or future, that matches. */
  logged(fits: (line: LogLine) => boolean): Promise<LogLine>;
  fetch(path: string, init?: RequestInit): Promise<Response>;
  put(handle: string, rows: unknown, init?: RequestInit & { readonly query?: string }): Promise<Response>;
  /** Resolves when the process has ended. */
  readonly exited: Promise<ExitStatus>;
}

export interface ExitStatus {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ServerOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The text of the configuration file. */
  readonly toml?: string;
  /** Flags of the listeners. Default: free loopback ports. */
  readonly listeners?: readonly string[];
  /** What a shell runs before it becomes the server, such as `ulimit -n 90`. Default: there is no shell. */
  readonly shell?: string;
  /** Registers the cleanup. Default: the process ends with the test. */
  readonly onEnd?: (end: () => Promise<void>) => void;
}

let workplace: string | undefined;

/** A folder for the files of tests and what killed servers leave behind; removed after the tests of a file. */
function workFolder(): string {
  workplace ??= mkdtempSync(join(tmpdir(), 'svc-test-'));
  return workplace;
}

/** An empty home, so that no configuration of the machine reaches a test. */
function environment(env: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], HOME: mkdtempSync(join(workFolder(), 'home-')), TMPDIR: workFolder(), ...env };
}

/** Runs the server until it exits; returns its output and exit code. */
export async function runToEnd(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ExitStatus & { readonly stdout: string; readonly stderr: string }> {
  const child = spawn(process.execPath, [BINARY, ...args], {
    env: environment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  onTestFinished(() => void child.kill('SIGKILL'));
  const status = await exitOf(child);
  return { ...status, ...output };
}

/** Starts the server on free loopback ports and waits until it is ready. */
export async function startProcess({
  args = [],
  env = {},
  toml,
  listeners = LOCAL_LISTENERS,
  shell,
  onEnd = onTestFinished,
}: ServerOptions = {}): Promise<ServerProcess> {
  const config = toml === undefined ? [] : ['--config', tomlFile(toml)];
  const before = shell === undefined ? [] : ['/bin/sh', '-c', `${shell}; exec "$@"`, 'sh'];
  const [program, ...rest] = [...before, process.execPath, BINARY, ...listeners, ...config, ...args] as const;
  const child = spawn(program ?? '', rest, {
    env: environment(env),
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  const exited = exitOf(child);
  onEnd(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const log: LogLine[] = [];
  const waiting = new Set<(line: LogLine) => void>();
  createInterface({ input: child.stderr }).on('line', (text) => {
    const line = toLogLine(text);
    log.push(line);
    for (const listener of waiting) listener(line);
  });
  const logged = (fits: (line: LogLine) => boolean): Promise<LogLine> =>
    new Promise((resolve) => {
      const past = log.find(fits);
      if (past) return resolve(past);
      waiting.add((line) => fits(line) && resolve(line));
      return undefined;
    });
  const ready = await Promise.race([
    logged((line) => line.message === 'ready'),
    exited.then((status) => {
      throw new Error(`The server ended before it was ready: ${JSON.stringify({ status, log })}`);
    }),
  ]);
  const url = String(ready['http']);
  return {
    url,
    port: Number(new URL(url).port),
    grpcAddress: String(ready['grpc']),
    child,
    log,
    logged,
    fetch: (path, init) => fetch(`${url}${path}`, init),
    put: (handle, rows, { query = '', ...init } = {}) =>
      fetch(`${url}/frames/${handle}${query}`, {
        method: 'PUT',
        body: JSON.stringify(rows),
        ...init,
        headers: { 'content-type': 'application/json', ...init.headers },
      }),
    exited,
  };
}

let shared: Promise<ServerProcess> | undefined;
let endShared: (() => Promise<void>) | undefined;

/** A server with default settings, one for all tests of a file: it has no frames when a test begins. */
export async function sharedProcess(): Promise<ServerProcess> {
  shared ??= startProcess({ onEnd: (end) => void (endShared = end) });
  const server = await shared;
  onTestFinished(async () => {
    const { frames } = (await (await server.fetch('/frames')).json()) as { frames: { handle: string }[] };
    for (const { handle } of frames) await server.fetch(`/frames/${handle}`, { method: 'DELETE' });
  });
  return server;
}

/** Ends the shared server and removes the files of a test file: the next one in this process begins without them. */
export async function endTestFile(): Promise<void> {
  await endShared?.();
  shared = undefined;
  endShared = undefined;
  if (workplace !== undefined) rmSync(workplace, { recursive: true, force: true });
  workplace = undefined;
}

function exitOf(child: ChildProcess): Promise<ExitStatus> {
  return new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal })));
}

function toLogLine(text: string): LogLine {
  try {
    return JSON.parse(text) as LogLine;
  } catch {
    return { level: 'not JSON', message: text };
  }
}

/** Writes a configuration file for one test. */
export function tomlFile(text: string): string {
  return testFile('config.toml', text);
}

/** Writes a file for one test, in a new folder. */
export function testFile(name: string, text: string): string {
  const file = join(mkdtempSync(join(workFolder(), 'file-')), name);
  writeFileSync(file, text);
  return file;
}

/** Sends raw bytes and returns all that comes back until the server closes the connection. */
export function sendRaw(port: number, bytes: string | Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    let answer = '';
    socket.setEncoding('latin1').on('data', (text: string) => (answer += text));
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
    onTestFinished(() => void socket.destroy());
  });
}
