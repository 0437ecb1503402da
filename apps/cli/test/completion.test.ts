import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { COMMANDS } from '../src/commands/commands.ts';
import { BINARY, run } from './run.ts';
import { sendJson, type StandIn, startStandIn, unusedUrl } from './stand-in.ts';

const HANDLES = ['today', 'trades', 'trades.2024'];

function startFrames(): Promise<StandIn> {
  return startStandIn((request, response) => {
    const prefix = new URL(request.url ?? '', 'http://x').searchParams.get('prefix') ?? '';
    const columns = [{ name: 'id', type: 'LONG', nullable: true }];
    const rest = { rows: 3, bytes: 24, columns, created: 'c', version: 'v', expires: null, tier: 'memory' };
    sendJson(response, {
      frames: HANDLES.filter((one) => one.startsWith(prefix)).map((handle) => ({ handle, ...rest })),
    });
  });
}

/** Returns the kind of the candidates for the last word, then the candidates. */
async function complete(words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string[]> {
  const { code, stdout, stderr } = await run(['__complete', ...words], { env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t')[0]);
}

describe('the candidates at the cursor', () => {
  test('first: every command', async () => {
    expect(await complete([''])).toEqual(['words', ...COMMANDS.map(({ name }) => name), 'help', '--help', '--version']);
  });

  test.each([
    [['d'], ['words', 'describe', 'drop', 'doctor']],
    [['nosuch', ''], ['words']],
    [
      ['help', 'e'],
      ['words', 'exit-codes'],
    ],
    [['help', 'get', ''], ['words']],
    [
      ['get', 't', '--c'],
      ['words', '--cols', '--csv', '--ca-file', '--cert'],
    ],
    [['get', '--limit', '--c'], ['words']],
    [
      ['get', 't', '--'],
      ['words', ...Object.keys(COMMANDS[3].options).map((name) => `--${name}`), '--help'],
    ],
    [['get', 't', '-o', ''], ['files']],
    [['get', 't', 'x'], ['words']],
    [['put', 't', ''], ['files']],
    [['get', './da'], ['files']],
    [['put', './data', 't', ''], ['files']],
    [['put', './data', 't', 'x.csv', ''], ['words']],
    [['put', './da'], ['files']],
    [['put', 'nosuch'], ['files']],
    [
      ['put', 'package'],
      ['words', 'package.json'],
    ],
    [
      ['put', '--fmt', ''],
      ['words', 'json', 'ndjson', 'csv', 'arrow', 'parquet'],
    ],
    [
      ['put', '--fmt', 'n'],
      ['words', 'ndjson'],
    ],
    [['put', 't', '-', ''], ['words']],
    [['query', ''], ['words']],
    [
      ['completion', 'z'],
      ['words', 'zsh'],
    ],
    [
      ['serve', '--grpc'],
      ['words', '--grpc-host', '--grpc-port'],
    ],
    [
      ['serve', '--log-format', ''],
      ['words', 'text', 'json'],
    ],
    [['serve', '--config', ''], ['files']],
    [['config', '--config', 'x'], ['files']],
    [['ping', ''], ['words']],
  ])('svc %j', async (words, expected) => {
    expect(await complete(words, { SVC_URL: await unusedUrl() })).toEqual(expected);
  });

  test.each([
    [
      ['get', 'tr'],
      ['trades', 'trades.2024'],
    ],
    [['get', '--csv', 'to'], ['today']],
    [['get', '--cols', 'a', ''], HANDLES],
    [['describe', ''], HANDLES],
    [['list', 'to'], ['today']],
    [['put', 'to'], ['today']],
    [['drop', 'trades', ''], HANDLES],
    [
      ['drop', 'trades', 'today', 'tr'],
      ['trades', 'trades.2024'],
    ],
    [
      ['drop', '--', 'tr'],
      ['trades', 'trades.2024'],
    ],
  ])('svc %j: handles of the server', async (words, handles) => {
    const { url } = await startFrames();
    expect(await complete(words, { SVC_URL: url })).toEqual(['words', ...handles]);
  });

  test.each([[(url: string) => ['--url', url]], [(url: string) => [`--url=${url}`]]])(
    'handles come from the server that the line names',
    async (flag) => {
      const { url } = await startFrames();
      expect(await complete(['get', ...flag(url), 'tr'], { SVC_URL: await unusedUrl() })).toEqual([
        'words',
        'trades',
        'trades.2024',
      ]);
    },
  );

  test.each([
    ['', (file: string) => ['--token-file', file]],
    [' in the home directory', () => ['--token-file', '~/token']],
  ])('handles are requested with the token of the file that the line names%s', async (_where, flag) => {
    const homeDir = await mkdtemp(join(tmpdir(), 'svc-complete-'));
    onTestFinished(() => rm(homeDir, { recursive: true }));
    await writeFile(join(homeDir, 'token'), 'svc_from-file');
    const sent: unknown[] = [];
    const { url } = await startStandIn(({ headers }, response) => {
      sent.push(headers.authorization);
      sendJson(response, { frames: [] });
    });
    await run(['__complete', 'get', '--url', url, ...flag(join(homeDir, 'token')), ''], { homeDir });
    expect(sent).toEqual(['Bearer svc_from-file']);
  });

  test('handles come from the directory and the tenant that the line names', { tags: ['slow'] }, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-complete-'));
    try {
      await run(['put', folder, 'trades', '-', '--fmt', 'json'], { stdin: '[{"id":1}]' });
      // A busy machine may take longer than the timeout of a Tab.
      await expect.poll(() => complete(['get', folder, 'tr']), { timeout: 45_000 }).toEqual(['words', 'trades']);
      await run(['put', folder, 'trips', '-', '--fmt', 'json', '--tenant', 'alpha'], { stdin: '[{"id":1}]' });
      const ofAlpha = () => complete(['get', folder, '--tenant', 'alpha', 'tr']);
      await expect.poll(ofAlpha, { timeout: 45_000 }).toEqual(['words', 'trips']);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('a name that is not a handle is not completed', async () => {
    const info = { rows: 3, bytes: 24, columns: [], created: 'c', version: 'v', expires: null, tier: 'memory' };
    const { url } = await startStandIn((_, response) =>
      sendJson(response, { frames: ['$(reboot)', 'a b', 'a\n', 'ok'].map((handle) => ({ handle, ...info })) }),
    );
    expect(await complete(['get', ''], { SVC_URL: url })).toEqual(['words', 'ok']);
  });

  test.each([
    ['refuses', (): Promise<StandIn> => startStandIn((_, response) => sendJson(response, { error: 'no' }, 500))],
    ['is something else', () => startStandIn((_, response) => response.end('<html>'))],
    ['is silent', () => startStandIn(() => {})],
  ])('a server that %s costs no more than the handles', async (_name, start) => {
    const { url } = await start();
    expect(await complete(['get', ''], { SVC_URL: url })).toEqual(['words']);
    expect(await complete(['get', ''], { SVC_URL: 'nonsense' })).toEqual(['words']);
  });
});

describe('in a shell', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-path-'));
    await symlink(BINARY, join(folder, 'svc'));
  });

  afterAll(async () => {
    await rm(folder, { recursive: true });
  });

  async function shell(
    command: string,
    args: readonly string[],
    env: Readonly<Record<string, string>>,
  ): Promise<string> {
    const child = spawn(command, args, {
      env: { ...process.env, ...env, PATH: `${folder}:${process.env['PATH']}` },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let stdout = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    await once(child, 'close');
    return stdout;
  }

  const isInstalled = (name: string): boolean => spawnSync(name, ['--version']).status === 0;

  // Bash at a Tab: it calls the function with these variables and reads the candidates from COMPREPLY.
  const IN_BASH = `eval "$(svc completion bash)"
    complete -p svc
    COMP_LINE="svc $*" COMP_POINT=\${#COMP_LINE}
    _svc
    printf '%s\\n' "\${COMPREPLY[@]}"`;

  test.skipIf(!isInstalled('bash')).each([
    [['des'], 'describe\n'],
    [['get', 'tr'], 'trades\ntrades.2024\n'],
    [['get', 't', '--nd'], '--ndjson\n'],
    [['put', 't', ''], '\n'],
  ])('bash completes svc %j', { tags: ['slow'] }, async (words, stdout) => {
    const { url } = await startFrames();
    expect(await shell('bash', ['-c', IN_BASH, 'bash', ...words], { SVC_URL: url })).toBe(
      `complete -F _svc svc\n${stdout}`,
    );
    const named = [words[0], '--url', url, ...words.slice(1)];
    if (words.length > 1) {
      expect(await shell('bash', ['-c', IN_BASH, 'bash', ...named], {})).toBe(`complete -F _svc svc\n${stdout}`);
    }
  });

  test.skipIf(!isInstalled('fish'))('fish completes handles, with what they are (skipped without fish)', async () => {
    const { url } = await startFrames();
    const script = 'svc completion fish | source; complete -C "svc get tr"';
    expect(await shell('fish', ['--no-config', '-c', script], { SVC_URL: url })).toBe(
      'trades\t3 rows, 1 column\ntrades.2024\t3 rows, 1 column\n',
    );
  });

  test.skipIf(!isInstalled('zsh'))('zsh accepts the script (skipped without zsh)', async () => {
    const script = 'autoload -U compinit; compinit -D; eval "$(svc completion zsh)"; print $_comps[svc]';
    expect(await shell('zsh', ['-f', '-c', script], {})).toBe('_svc\n');
  });
});
