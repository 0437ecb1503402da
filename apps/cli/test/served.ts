import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll } from 'vitest';
import { runBinary, spawnBinary } from './run.ts';

const ONE = { columns: [{ name: '1', type: 'INT' }], dataset: [[1]], count: 1 };
const SQL_ERROR = { query: 'select nosuch', error: 'Invalid column: nosuch', position: 7 };

/** Three rows, as JSON. */
export const ROWS =
  '[{"id":9007199254740993,"price":1.5,"sym":"a"},{"id":2,"price":null,"sym":"null"},{"id":3,"sym":"é\\n"}]';

const tsdb = createServer((request, response) => {
  const isRight = request.url?.includes('select+1') || request.url?.includes('select%201');
  const isCsv = isRight && request.url?.startsWith('/exp?');
  response.writeHead(isRight ? 200 : 400, { 'content-type': isCsv ? 'text/csv' : 'application/json' });
  response.end(isCsv ? '1\r\n1\r\n' : JSON.stringify(isRight ? ONE : SQL_ERROR));
});

const children: ChildProcess[] = [];

/** The real binary against a real server. */
export interface Served {
  /** Runs `svc` with the URL of the server. */
  readonly svc: (argv: readonly string[], stdin?: string) => ReturnType<typeof runBinary>;
  readonly url: string;
  readonly grpc: string;
}

/** Starts `svc serve` and waits for the line that says it is ready. */
export async function startServer(): Promise<{ child: ChildProcess; http: string; grpc: string }> {
  const { port } = tsdb.address() as AddressInfo;
  const listen = ['--http-bind-address=127.0.0.1:0', '--grpc-host=127.0.0.1', '--grpc-port=0'];
  const child = spawnBinary(['serve', ...listen, `--tsdb-url=http://127.0.0.1:${port}`, '--log-format=json']);
  children.push(child);
  for await (const line of createInterface({ input: child.stderr })) {
    const ready = JSON.parse(line);
    if (ready.http === undefined) continue;
    child.stderr.resume();
    return { child, http: ready.http, grpc: `http://${ready.grpc}` };
  }
  throw new Error('The server ended before it was ready.');
}

/** Ends a server as Ctrl-C does, and returns its exit code. */
export async function stopServer(child: ChildProcess): Promise<number | null> {
  const isRunning = child.exitCode === null && child.signalCode === null;
  if (isRunning && child.kill('SIGINT')) await once(child, 'exit');
  return child.exitCode;
}

/** Starts `svc serve` for the tests of a file, in front of a stand-in for the time-series database. */
export function serveTests(): Served {
  const served = {
    url: '',
    grpc: '',
    svc: (argv: readonly string[], stdin?: string) => runBinary([...argv, '--url', served.url], stdin),
  };
  beforeAll(async () => {
    await new Promise<void>((resolve) => void tsdb.listen(0, '127.0.0.1', resolve));
    ({ http: served.url, grpc: served.grpc } = await startServer());
  });
  afterAll(async () => {
    await Promise.all(children.map(stopServer));
    await new Promise((resolve) => tsdb.close(resolve));
  });
  return served;
}
