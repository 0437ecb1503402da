import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { type ServerProcess, startProcess } from '../../apps/server/test/server-process.ts';

/** Frames that servers leave behind; removed after the tests of a file. */
const workplace = mkdtempSync(join(tmpdir(), 'svc cluster, 100%-'));
afterAll(() => rmSync(workplace, { recursive: true, force: true }));

/** Options of `startWith`. */
interface StartOptions {
  /** More settings of the section `scheduler`. */
  readonly toml?: string;
  /** Registers the cleanup. Default: the server ends with the test. */
  readonly onEnd?: (end: () => Promise<void>) => void;
}

/** Starts a server whose scheduler is on this port. */
export async function startWith(port: number, { toml = '', onEnd }: StartOptions = {}): Promise<ServerProcess> {
  return startProcess({
    args: ['--data-dir', mkdtempSync(join(workplace, 'data-'))],
    toml: `[scheduler]\nurl = "sc://127.0.0.1:${port}"\n${toml}`,
    ...(onEnd && { onEnd }),
  });
}

/** The JSON answer to a statement. */
export interface Answer {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly dataset: readonly (readonly unknown[])[];
}

/** The names of the engines that read frames. */
export type EngineName = 'local' | 'scheduler';

/** Sends a statement. */
export async function send(
  { url }: Pick<ServerProcess, 'url'>,
  engine: EngineName,
  sql: string,
  { params = [], signal }: { readonly params?: readonly unknown[]; readonly signal?: AbortSignal } = {},
): Promise<Response> {
  const query = new URLSearchParams({ query: sql, engine, fmt: 'json', quoteLargeNum: 'true' });
  for (const value of params) query.append('param', JSON.stringify(value));
  return fetch(`${url}/exec?${query}`, signal ? { signal } : {});
}

/** Runs a statement that must succeed. */
export async function run(
  server: Pick<ServerProcess, 'url'>,
  engine: EngineName,
  sql: string,
  params: readonly unknown[] = [],
): Promise<Answer> {
  const response = await send(server, engine, sql, { params });
  const text = await response.text();
  expect(response.status, `${sql}: ${text.slice(0, 1000)}`).toBe(200);
  return JSON.parse(text);
}

/** Runs a statement that must fail. */
export async function fail(
  server: Pick<ServerProcess, 'url'>,
  sql: string,
): Promise<{ status: number; body: unknown }> {
  const response = await send(server, 'scheduler', sql);
  return { status: response.status, body: JSON.parse(await response.text()) };
}
