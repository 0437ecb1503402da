// The rules of deploy/prometheus and the panels of deploy/grafana, asked of a real Prometheus that scrapes the real server.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { provideDebian } from '../../tools/debian-packages.js';
import { freePorts } from '../../tools/free-ports.js';
import { providePython } from '../../tools/python-environment.js';
import { startServer } from '../../tools/server-process.js';

const deploy = fileURLToPath(new URL('../../deploy', import.meta.url));
const programs = join(provideDebian('prometheus'), 'usr/bin');
const requirements = fileURLToPath(new URL('requirements.txt', import.meta.url));
const python = join(providePython('interop-deploy', requirements), 'python');
const read = (path: string): string => readFileSync(join(deploy, path), 'utf8');

const promtool = (...args: readonly string[]): { status: number | null; output: string } => {
  const { status, stdout, stderr } = spawnSync(join(programs, 'promtool'), args, { cwd: deploy, encoding: 'utf8' });
  return { status, output: stdout + stderr };
};

const rules = read('prometheus/alerts.yml');
const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map((match) => match[1] ?? '');

describe('the rules', () => {
  test.each([
    ['check', 'rules', 'prometheus/alerts.yml'],
    ['check', 'config', 'prometheus/prometheus.yml'],
    ['test', 'rules', 'prometheus/alerts.test.yml'],
  ])('promtool %s %s %s', (...args) => {
    expect(promtool(...args)).toEqual({ status: 0, output: expect.stringContaining('SUCCESS') });
  });

  test.each(alerts)('%s is tested: it is quiet, fires, and resolves', (alert) => {
    const cases = read('prometheus/alerts.test.yml')
      .split(/- (?:\{ )?eval_time/)
      .filter((text) => text.includes(`alertname: ${alert}`));
    const quiet = cases.filter((text) => text.includes('exp_alerts: []')).length;
    // At least once before it fires, and once after.
    expect(quiet).toBeGreaterThanOrEqual(2);
    expect(cases.length - quiet).toBeGreaterThan(0);
  });
});

/** Every expression of the dashboard, without the variables of Grafana. */
function panelExpressions(): [string, string][] {
  interface Panel {
    readonly title: string;
    readonly targets?: readonly { readonly expr: string }[];
  }
  const { panels } = JSON.parse(read('grafana/dashboard.json')) as { panels: readonly Panel[] };
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }): [string, string] => [
      title,
      expr.replaceAll('$__rate_interval', '20s').replaceAll('$instance', '.+'),
    ]),
  );
}

/** Every expression of an alert without its limit, over a shorter time. */
function alertExpressions(): [string, string][] {
  const found = rules.matchAll(/- alert: (\w+)[^]*?expr: (?:\|\n)?([^]*?)\n {8}(?:for|labels):/g);
  return [...found].map(([, name = '', expression = '']) => [
    name,
    expression
      .replaceAll(/\s+/g, ' ')
      .replaceAll(/ (?:==|>|<) [\d.e]+/g, '')
      .replaceAll(/\[(?:5m|15m)\]/g, '[20s]'),
  ]);
}

describe('a real Prometheus that scrapes the real server', () => {
  let folder: string;
  let prometheus: ChildProcess | undefined;
  let api: string;
  let server: Awaited<ReturnType<typeof startServer>>;
  const load = new AbortController();
  let loading: Promise<void>;
  const database = createServer((request, response) => {
    const isBad = request.url?.includes('bad') === true;
    response.writeHead(isBad ? 400 : 200, { 'content-type': 'application/json' });
    response.end(isBad ? '{"error":"no","position":0}' : '{"columns":[],"dataset":[],"count":0}');
  });

  const get = async (path: string): Promise<number> => {
    const response = await fetch(`${server.url}${path}`, { signal: AbortSignal.timeout(10_000) });
    await response.arrayBuffer();
    return response.status;
  };
  const put = (handle: string, rows: number, flags = ''): Promise<Response> => {
    const lines = Array.from({ length: rows }, (_, at) => `${at},${at / 7}`);
    const body = `id,value\n${lines.join('\n')}\n`;
    return fetch(`${server.url}/frames/${handle}?fmt=csv${flags}`, { method: 'PUT', body });
  };
  const sql = (text: string): string => `/exec?fmt=json&engine=local&query=${encodeURIComponent(text)}`;

  /** One of everything that the dashboard and the alerts show. */
  async function requestEverything(): Promise<void> {
    await put('trades', 2000);
    await fetch(`${server.url}/frames/trades?fmt=csv`, { method: 'POST', body: 'id,value\n1,2\n' });
    await put('short', 1, '&ttl=1');
    await put('dropped', 1);
    await fetch(`${server.url}/frames/dropped`, { method: 'DELETE' });
    for (let at = 0; at < 4; at += 1) await get('/exec?handle=trades&fmt=json&limit=10');
    await get('/exec?handle=trades&fmt=json');
    await get('/exec?handle=no-such-frame&fmt=json');
    await get(sql('select count(*) from trades'));
    await get('/exec?fmt=json&engine=tsdb&query=select%201');
    await damageFrame();
    await tooManyStatements();
    await killEngine();
  }

  /** A frame whose file has changed on disk is an internal error. */
  async function damageFrame(): Promise<void> {
    await put('broken', 100);
    const frame = join(folder, 'data/cold/default/broken');
    const name = readdirSync(frame).find((one) => one.endsWith('.parquet'));
    if (name === undefined) return;
    const bytes = readFileSync(join(frame, name));
    writeFileSync(
      join(frame, name),
      bytes.map((byte, at) => (at > 8 && at < 100 ? byte ^ 255 : byte)),
    );
    await get('/exec?handle=broken&fmt=json');
  }

  const LONG = 'select count(*) from range(100000000) a, range(100) b';

  async function tooManyStatements(): Promise<void> {
    await Promise.all(Array.from({ length: 6 }, (_, at) => get(sql(`${LONG} where a.range > ${at}`)).catch(() => 0)));
  }

  /** Kills the processes of the engine while one of them runs a statement. */
  async function killEngine(): Promise<void> {
    const running = get(sql(LONG)).catch(() => 0);
    for (const pid of childrenOf(server.pid ?? 0)) {
      spawnSync('kill', ['-9', pid]);
    }
    await running;
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'svc-prometheus-'));
    database.listen(0, '127.0.0.1');
    await once(database, 'listening');
    const { port } = database.address() as AddressInfo;
    const args = [`--data-dir=${join(folder, 'data')}`, `--tsdb-url=http://127.0.0.1:${port}`];
    const env = { SERVICE_SQL_TIMEOUT_MS: '2000', SERVICE_SQL_MAX_CONCURRENT: '1', SERVICE_SQL_MAX_QUEUED: '1' };
    // The server logs the errors that the load provokes.
    vi.spyOn(console, 'error').mockImplementation(() => {});
    server = await startServer(args, { env });
    const [listen = 0] = await freePorts(1);
    const config = read('prometheus/prometheus.yml')
      .replaceAll('15s', '1s')
      .replace('svc:9000', new URL(server.url).host)
      .replace('[alerts.yml]', `[${join(deploy, 'prometheus/alerts.yml')}]`);
    writeFileSync(join(folder, 'prometheus.yml'), config);
    prometheus = spawn(
      join(programs, 'prometheus'),
      [
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(folder, 'tsdb')}`,
        `--web.listen-address=127.0.0.1:${listen}`,
        '--log.level=error',
      ],
      { stdio: ['ignore', 'inherit', 'inherit'] },
    );
    api = `http://127.0.0.1:${listen}/api/v1`;
    const isUp = async (): Promise<void> => expect((await fetch(`${api}/status/buildinfo`)).status).toBe(200);
    await vi.waitFor(isUp, { timeout: 30_000, interval: 100 });
    loading = (async () => {
      while (!load.signal.aborted) await requestEverything();
    })();
  });

  afterAll(async () => {
    load.abort();
    await loading;
    prometheus?.kill('SIGKILL');
    if (prometheus) await once(prometheus, 'exit');
    await server?.stop();
    database.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** The values that an expression has now. */
  async function ask(expression: string): Promise<readonly number[]> {
    const response = await fetch(`${api}/query?${new URLSearchParams({ query: expression })}`);
    const answer = (await response.json()) as {
      status: string;
      error?: string;
      data: { result: { value: [number, string] }[] };
    };
    if (answer.status !== 'success') throw new Error(`${expression}: ${answer.error}`);
    return answer.data.result.map(({ value }) => Number(value[1])).filter((value) => !Number.isNaN(value));
  }

  test('scrapes the server', async () => {
    await expect.poll(() => ask('up{job="svc"}')).toEqual([1]);
  });

  test.each(panelExpressions())('the panel "%s" has data: %s', async (_title, expression) => {
    await expect.poll(() => ask(expression), { timeout: 60_000, interval: 500 }).not.toEqual([]);
  });

  test.each(alertExpressions())('the alert %s has data: %s', async (_name, expression) => {
    await expect.poll(() => ask(expression), { timeout: 60_000, interval: 500 }).not.toEqual([]);
  });

  const PARSE =
    'import sys; from prometheus_client.openmetrics.parser import *; [*text_string_to_metric_families(sys.stdin.read())]';

  test.each([
    ['text/plain', 'promtool', join(programs, 'promtool'), ['check', 'metrics']],
    ['application/openmetrics-text', 'the parser of OpenMetrics', python, ['-c', PARSE]],
  ])('the metrics as %s satisfy %s', async (accept, _what, program, args) => {
    const input = await (await fetch(`${server.url}/metrics`, { headers: { accept } })).text();
    expect(input).toContain('svc_engine_child_exits_total');
    const { status, stdout, stderr } = spawnSync(program, args, { input, encoding: 'utf8' });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
  });

  test('has all alerts', async () => {
    const { data } = (await (await fetch(`${api}/rules`)).json()) as {
      data: { groups: { rules: { name: string }[] }[] };
    };
    expect(data.groups.flatMap((group) => group.rules.map(({ name }) => name))).toEqual(alerts);
    expect(alertExpressions().map(([name]) => name)).toEqual(alerts);
  });
});

function childrenOf(pid: number): string[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
}
