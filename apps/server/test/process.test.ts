import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FrameServiceDefinition } from '@svc/proto';
import { createChannel, createClient } from 'nice-grpc';
import { describe, expect, onTestFinished, test } from 'vitest';
import { byTier, SLOW } from '../../../test/tier.ts';
import { freePorts } from '../../../tools/free-ports.js';
import { LOCAL_LISTENERS } from '../../../tools/local-listeners.js';
import { childrenOf } from './children-of.ts';
import { runToEnd, type ServerProcess, startProcess, tomlFile } from './server-process.ts';
import { deferred, startTcpUpstream, startUpstream } from './upstream.ts';

async function takenPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

describe('the start', () => {
  for (const [options, rows] of byTier(['trace', 'info', 'ERROR', 'off'])) {
    test.each(rows)('at log level %s one line says ready, with both addresses', options, async (level) => {
      const server = await startProcess({ args: ['--log-level', level] });
      const ready = server.log.filter((line) => line.message === 'ready');
      expect(ready).toMatchObject([
        {
          http: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
          grpc: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
          console: `${server.url}/`,
        },
      ]);
      if (level === 'off') expect(server.log).toHaveLength(1);
    });
  }

  test('--log-format text writes lines for people', async () => {
    const child = spawn(process.execPath, [
      `${import.meta.dirname}/../bin/server.js`,
      ...LOCAL_LISTENERS,
      '--log-format',
      'text',
    ]);
    onTestFinished(() => void child.kill('SIGKILL'));
    let text = '';
    await new Promise<void>((resolve) =>
      child.stderr.on('data', (chunk) => {
        text += String(chunk);
        if (text.includes('ready')) resolve();
      }),
    );
    expect(text).toMatch(/INFO {2}ready http=http:\/\/127\.0\.0\.1:\d+ grpc=127\.0\.0\.1:\d+/);
  });

  test('once /ping answers, gRPC calls are answered too, also after a restart on the same ports', async () => {
    const [http, grpc] = await freePorts(2);
    const at = ['--http-bind-address', `127.0.0.1:${http}`, '--grpc-host', '127.0.0.1', '--grpc-port', String(grpc)];
    for (let start = 0; start < 2; start += 1) {
      const starting = startProcess({ listeners: at });
      const ping = () => fetch(`http://127.0.0.1:${http}/ping`).then(({ status }) => status);
      await expect.poll(() => ping().catch(() => 0), { interval: 1, timeout: 20_000 }).toBe(200);
      const channel = createChannel(`127.0.0.1:${grpc}`);
      const listed = await createClient(FrameServiceDefinition, channel).listFrames({});
      channel.close();
      expect(listed.frames).toEqual([]);
      const { child, exited } = await starting;
      child.kill('SIGTERM');
      expect(await exited).toEqual({ code: 0, signal: null });
    }
  });

  test.each([
    ['HTTP', (port: number) => ['--http-bind-address', `127.0.0.1:${port}`], 'server.http_bind_address'],
    ['gRPC', (port: number) => ['--grpc-port', String(port)], 'server.grpc_port'],
  ])('a %s port in use ends it with 1 and names address and setting', SLOW, async (_name, args, setting) => {
    const port = await takenPort();
    const given = args(port);
    const others = LOCAL_LISTENERS.filter((_, i) => LOCAL_LISTENERS[i - (i % 2)] !== given[0]);
    const { code, stderr, stdout } = await runToEnd([...others, ...given]);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`127.0.0.1:${port}`);
    expect(stderr).toContain(setting);
    expect(stderr).toContain('another process listens there');
  });

  test.each([
    ['a setting that is wrong', ['--grpc-port', 'none'], 2],
    ['a file of callers that does not exist', ['--auth-callers-file', '/none'], 2],
    ['a directory that cannot be used', ['--data-dir', '/dev/null'], 1],
    ['--print-config', ['--print-config'], 0],
    ['--help', ['--help'], 0],
  ])('%s leaves no child and no temporary files behind', async (_name, args, expected) => {
    const directory = mkdtempSync(join(tmpdir(), 'svc-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const { code } = await runToEnd([...LOCAL_LISTENERS.slice(0, 2), ...args], { TMPDIR: directory });
    expect([code, readdirSync(directory)]).toEqual([expected, []]);
  });

  test('warns that frames are lost at its end if no path is set', async () => {
    const warnings = async (args: string[]): Promise<string[]> => {
      const server = await startProcess({ args });
      return server.log.filter((line) => line.level === 'warn').map((line) => line.message);
    };
    expect(await warnings([])).toEqual([expect.stringContaining('are lost when this process ends')]);
    const directory = mkdtempSync(join(tmpdir(), 'svc-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    expect(await warnings(['--data-dir', directory])).toEqual([]);
  });

  test('a listener on all interfaces causes a warning of one sentence', { tags: ['slow'] }, async () => {
    const server = await startProcess();
    expect(JSON.stringify(server.log)).not.toContain('authentication');
    const open = spawn(process.execPath, [
      `${import.meta.dirname}/../bin/server.js`,
      ...LOCAL_LISTENERS.slice(2),
      '--http-bind-address',
      ':0',
      '--log-format',
      'json',
    ]);
    onTestFinished(() => void open.kill('SIGKILL'));
    let text = '';
    await new Promise<void>((resolve) =>
      open.stderr.on('data', (chunk) => {
        text += String(chunk);
        if (text.includes('"ready"')) resolve();
      }),
    );
    expect(text.match(/there is no authentication/g)).toHaveLength(1);
  });
});

describe('configuration', () => {
  test('--help, --version and --print-config print and exit with 0', async () => {
    const help = await runToEnd(['--help']);
    expect([help.code, help.stderr]).toEqual([0, '']);
    for (const name of ['--grpc-port', '--data-dir', 'SERVICE_TSDB_HTTP_URL', '0.0.0.0:9000'])
      expect(help.stdout).toContain(name);
    expect(await runToEnd(['--version'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
    const printed = await runToEnd(['--print-config', '--grpc-port', '1'], {
      SERVICE_TSDB_PASSWORD: 'hunter2',
      SERVICE_TSDB_USER: 'me',
      TSDB_HTTP_URL: 'http://db.example:9000',
    });
    expect(printed.code).toBe(0);
    expect(printed.stdout).toMatch(/grpc_port = 1 .*--grpc-port/);
    expect(printed.stdout).toMatch(/http_url = .*TSDB_HTTP_URL/);
    expect(printed.stdout).not.toContain('hunter2');
  });

  test('all problems are reported at once, each with source, value and hint, and the exit code is 2', async () => {
    const file = tomlFile('[server]\nmax_connections = "many"\n[logging]\nlevel = "loud"\n');
    const { code, stderr, stdout } = await runToEnd(['--config', file, '--grpc-port', '70000', '--grpc-prot', '1'], {
      SERVICE_HTTP_BIND_ADDRESS: 'nowhere',
    });
    expect([code, stdout]).toEqual([2, '']);
    for (const text of [
      'max_connections',
      'many',
      'loud',
      '--grpc-port',
      '70000',
      '--grpc-prot',
      'SERVICE_HTTP_BIND_ADDRESS',
      'nowhere',
    ]) {
      expect(stderr).toContain(text);
    }
  });

  test('a TOML file that does not parse ends with 2 and names line and column', async () => {
    const { code, stderr } = await runToEnd(['--config', tomlFile('[server]\ngrpc_port = = 1\n')]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/line 2/i);
  });

  test('a named file that is missing ends with 2', { tags: ['slow'] }, async () => {
    expect(await runToEnd([], { SERVICE_CONFIG: '/nonexistent/config.toml' })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('/nonexistent/config.toml'),
    });
  });

  test('unknown keys and variables cause a warning with the nearest name', async () => {
    const server = await startProcess({ toml: '[server]\ngrcp_port = 1\n', env: { SERVICE_GRPC_PROT: '1' } });
    const warnings = server.log
      .filter((line) => line.level === 'warn')
      .map((line) => line.message)
      .join('\n');
    expect(warnings).toMatch(/grcp_port[^]*grpc_port/);
    expect(warnings).toMatch(/SERVICE_GRPC_PROT[^]*SERVICE_GRPC_PORT/);
  });

  test('--print-config warns of unknown keys, too', async () => {
    const args = ['--print-config', '--config', tomlFile('[server]\ngrcp_port = 1\n')];
    const { code, stdout, stderr } = await runToEnd(args);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^\[server\]\n/)]);
    expect(stderr).toMatch(/"level":"warn".*grcp_port.*grpc_port/);
  });

  test('the file is ~/.service/config.toml, or the one that SERVICE_CONFIG names; an empty variable is none', async () => {
    const home = mkdtempSync(join(tmpdir(), 'svc-home-'));
    onTestFinished(() => rmSync(home, { recursive: true }));
    mkdirSync(join(home, '.service'));
    writeFileSync(join(home, '.service', 'config.toml'), '[grpc]\nmax_message_bytes = 1111\n');
    const printed = async (env: Record<string, string>): Promise<string> =>
      (await runToEnd(['--print-config'], env)).stdout;
    expect(await printed({ HOME: home })).toContain('max_message_bytes = 1111');
    const named = tomlFile('[grpc]\nmax_message_bytes = 2222\n');
    expect(await printed({ HOME: home, SERVICE_CONFIG: named })).toContain('max_message_bytes = 2222');
    expect(await printed({ HOME: home, SERVICE_CONFIG: '', SERVICE_GRPC_MAX_MESSAGE_BYTES: '' })).toContain('= 1111');
  });

  test('RUST_LOG gives the global level, and SERVICE_LOG_LEVEL wins over it', SLOW, async () => {
    const level = async (env: Record<string, string>): Promise<string | undefined> =>
      /^level = "(\w+)"/m.exec((await runToEnd(['--print-config'], env)).stdout)?.[1];
    expect(await level({})).toBe('info');
    expect(await level({ RUST_LOG: 'Warn,h2=trace' })).toBe('warn');
    expect(await level({ RUST_LOG: 'h2=trace' })).toBe('info');
    expect(await level({ RUST_LOG: 'warn', SERVICE_LOG_LEVEL: 'ERROR' })).toBe('error');
  });

  test('flags win over the environment, the environment over the file', { tags: ['slow'] }, async () => {
    const toml = '[storage]\ncache_size_gb = 0.0000001\n';
    const tier = async (env: Record<string, string>, args: string[]): Promise<string> => {
      const server = await startProcess({ toml, env, args });
      await server.fetch('/frames/t', { method: 'PUT', body: 'id\n1\n', headers: { 'content-type': 'text/csv' } });
      await (await server.fetch('/exec?handle=t&fmt=json')).text();
      return ((await (await server.fetch('/frames/t')).json()) as { tier: string }).tier;
    };
    expect(await tier({}, [])).toBe('disk');
    expect(await tier({ SERVICE_CACHE_SIZE: '1.0' }, [])).toBe('memory');
    expect(await tier({ SERVICE_CACHE_SIZE: '1.0' }, ['--cache-size', '0.0000001'])).toBe('disk');
  });
});

/** Sends the second signal, which counts if it is not at the same time as the first. */
function killAgain({ child }: ServerProcess): void {
  const timer = setInterval(() => child.kill('SIGTERM'), 100);
  onTestFinished(() => clearInterval(timer));
}

describe('the end', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('%s: exit code 0', async (signal) => {
    const server = await startProcess();
    await server.fetch('/ping');
    server.child.kill(signal);
    expect(await server.exited).toEqual({ code: 0, signal: null });
  });

  test('finishes a response in flight, refuses new connections, and answers requests on open ones', async () => {
    let finish = (): void => {};
    const { promise: asked, resolve: isAsked } = deferred();
    const upstream = await startUpstream((_request, response) => {
      finish = () => response.end('late but whole');
      isAsked();
    });
    const server = await startProcess({ env: { SERVICE_TSDB_HTTP_URL: upstream.url } });
    const running = server.fetch('/exec?query=x&fmt=json');
    const open = connect(server.port, '127.0.0.1');
    // Half of a request keeps the connection open while the server stops.
    open.write('GET /health HTTP/1.1\r\nHost: localhost\r\n');
    const other = connect(server.port, '127.0.0.1');
    other.write('GET /frames HTTP/1.1\r\nHost: localhost\r\n');
    await asked;
    server.child.kill('SIGTERM');
    await server.logged((line) => line.message === 'stopping');
    await expect
      .poll(() =>
        server.fetch('/ping').then(
          () => 'answered',
          () => 'refused',
        ),
      )
      .toBe('refused');
    const answered = new Promise<string>((resolve) => open.once('data', (chunk) => resolve(String(chunk))));
    open.write('\r\n');
    expect(await answered).toMatch(/^HTTP\/1.1 503[^]*"status":"draining"/);
    const listed = new Promise<string>((resolve) => other.once('data', (chunk) => resolve(String(chunk))));
    other.write('\r\n');
    expect(await listed).toMatch(/^HTTP\/1.1 200[^]*\r\nconnection: close[^]*"frames":/i);
    finish();
    expect(await (await running).text()).toBe('late but whole');
    expect(await server.exited).toEqual({ code: 0, signal: null });
  });

  test('requests in flight after server.shutdown_grace_ms are cancelled', { tags: ['slow'] }, async () => {
    const { promise: asked, resolve: isAsked } = deferred();
    const url = await startTcpUpstream((socket) => socket.once('data', () => isAsked()));
    const server = await startProcess({ env: { SERVICE_TSDB_HTTP_URL: url, SERVICE_SERVER_SHUTDOWN_GRACE_MS: '200' } });
    const running = server.fetch('/exec?query=x&fmt=json');
    const failed = expect(running).rejects.toThrow();
    await asked;
    server.child.kill('SIGTERM');
    await failed;
    expect(await server.exited).toEqual({ code: 0, signal: null });
    await server.logged((line) => line.level === 'warn' && line.message.includes('HTTP'));
  });

  test('a second signal exits at once', async () => {
    const { promise: asked, resolve: isAsked } = deferred();
    const url = await startTcpUpstream((socket) => socket.once('data', () => isAsked()));
    const server = await startProcess({ env: { SERVICE_TSDB_HTTP_URL: url } });
    server.fetch('/exec?query=x&fmt=json').catch(() => {});
    await asked;
    server.child.kill('SIGTERM');
    await server.logged((line) => line.message === 'stopping');
    killAgain(server);
    expect(await server.exited).toEqual({ code: 143, signal: null });
  });

  test.runIf(process.platform === 'linux')(
    'Ctrl-C at a terminal, which all processes get, ends no query',
    SLOW,
    async () => {
      const server = await startProcess({ env: { SERVICE_SERVER_SHUTDOWN_GRACE_MS: '60000' } });
      await server.fetch('/exec?engine=local&fmt=json&query=select+1');
      const sql = 'select count(*) from range(100000) a, range(300) b where a.range * b.range % 7 = 3';
      const running = server.fetch(`/exec?engine=local&fmt=json&query=${encodeURIComponent(sql)}`);
      await expect
        .poll(async () => ((await (await server.fetch('/queries')).json()) as { queries: unknown[] }).queries)
        .toHaveLength(1);
      await expect.poll(() => childrenOf(server).every(({ handlesSignals }) => handlesSignals)).toBe(true);
      const children = childrenOf(server);
      expect(children).not.toEqual([]);
      for (const { pid } of children) process.kill(pid, 'SIGINT');
      // npm passes it on, too.
      for (let i = 0; i < 2; i += 1) server.child.kill('SIGINT');
      expect(await (await running).json()).toMatchObject({ count: 1 });
      expect(await server.exited).toEqual({ code: 0, signal: null });
      expect(server.log.filter(({ message }) => message.startsWith('A process of the engine has ended'))).toEqual([]);
    },
  );

  test('a connection that never sent anything does not delay the shutdown', { tags: ['slow'] }, async () => {
    const server = await startProcess({ env: { SERVICE_SERVER_SHUTDOWN_GRACE_MS: '600000' } });
    const idle = connect(server.port, '127.0.0.1');
    idle.on('error', () => {});
    onTestFinished(() => void idle.destroy());
    await server.fetch('/ping');
    server.child.kill('SIGTERM');
    expect(await server.exited).toEqual({ code: 0, signal: null });
    expect(server.log.slice(-2).map(({ message }) => message)).toEqual(['stopping', 'stopped']);
  });

  test('a frame being read at shutdown is sent completely', { tags: ['slow'] }, async () => {
    const server = await startProcess();
    await server.put(
      't',
      Array.from({ length: 100_000 }, (_, id) => ({ id })),
    );
    const response = await server.fetch('/exec?handle=t&fmt=json&limit=100000');
    server.child.kill('SIGTERM');
    expect(await response.json()).toMatchObject({ count: 100_000 });
    expect(await server.exited).toEqual({ code: 0, signal: null });
  });
});
