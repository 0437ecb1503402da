// The real binary on a pseudo-terminal, which the command script makes.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { BINARY } from './run.ts';
import { sendJson, startStandIn } from './stand-in.ts';

const SCRIPT = 'script';
const hasScript = process.platform === 'linux' && spawnSync(SCRIPT, ['--version']).status === 0;

let folder: string;
let onEnd: (() => void)[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-terminal-'));
  onEnd = [];
});

afterEach(async () => {
  for (const end of onEnd) end();
  await rm(folder, { recursive: true });
});

interface OnTerminal {
  readonly ended: Promise<{ readonly code: number | null; readonly screen: string }>;
  /** Resolves when this text has been shown. */
  shows(text: string): Promise<void>;
  type(keys: string): void;
}

/** Runs a line of a shell on a terminal of 60 columns; in it `svc` is the binary. */
function onTerminal(line: string): OnTerminal {
  const setUp = `svc() { "${process.execPath}" "${BINARY}" "$@"; }; stty cols 60 rows 24`;
  const child = spawn(SCRIPT, ['-qec', `${setUp}; ${line}`, '/dev/null'], {
    env: { ...process.env, TERM: 'xterm', SHELL: '/bin/bash', NO_COLOR: '1' },
  });
  onEnd.push(() => child.kill('SIGKILL'));
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (screen += text));
  const ended = once(child, 'close').then(() => ({ code: child.exitCode, screen }));
  return {
    ended,
    async shows(text) {
      await expect.poll(() => screen).toContain(text);
    },
    type: (keys) => void child.stdin.write(keys),
  };
}

describe.skipIf(!hasScript)('on a terminal (skipped without the command script)', () => {
  const table = {
    query: 'handle:t',
    columns: [
      { name: 'id', type: 'LONG' },
      { name: 's', type: 'STRING' },
    ],
    dataset: [[1, 'x'.repeat(100)]],
    count: 1,
  };

  test('a table is cut to its width', async () => {
    const { url } = await startStandIn((_, response) => sendJson(response, table));
    const { code, screen } = await onTerminal(`svc get t --url ${url}`).ended;
    expect(code).toBe(0);
    expect(screen.split('\r\n').slice(3)).toEqual([`   1  ${'x'.repeat(53)}…`, '1 row', '']);
  });

  test('Arrow is refused on a terminal, not in a pipe', async () => {
    const { url } = await startStandIn((_, response) =>
      response.writeHead(200, { 'content-type': 'application/vnd.apache.arrow.stream' }).end('ARROW'),
    );
    expect(await onTerminal(`svc get t --arrow --url ${url}`).ended).toMatchObject({
      code: 2,
      screen: expect.stringContaining('error: Arrow is a binary format and cannot be shown on a terminal.'),
    });
    expect(await onTerminal(`svc get t --arrow --url ${url} | wc -c`).ended).toMatchObject({ screen: '5\r\n' });
  });

  test('an upload shows its progress and clears it', { tags: ['slow'] }, async () => {
    const file = join(folder, 'large.arrow');
    await writeFile(file, new Uint8Array(64 * 1024 * 1024));
    // The server reads nothing before the bar is shown.
    const { url } = await startStandIn(async (request, response) => {
      await shell.shows(' %  ');
      request.resume().on('end', () => {
        void shell.shows('waiting for the server').then(() => sendJson(response, { rows: 1, version: 'v' }, 201));
      });
    });
    const shell = onTerminal(`svc put t ${file} --url ${url}`);
    const { code, screen } = await shell.ended;
    expect(code).toBe(0);
    expect(screen).toMatch(/\r█*░+ +\d+ % {2}[\d.]+ k?M?B of 67\.1 MB {2}[\d.]+ k?M?B\/s/);
    expect(screen).toMatch(/\r {59}\rt: 1 row, version v \(new\)\r\ntry: svc query .*\r\n +http:.*\r\n$/);
  });

  test('Ctrl-C ends an upload with 130 and clears its bar', async () => {
    const { url } = await startStandIn(() => {});
    const shell = onTerminal(`trap : INT; yes | svc put t - --fmt ndjson --url ${url}; echo code $?`);
    await shell.shows('B/s');
    shell.type('\u0003');
    expect((await shell.ended).screen).toMatch(/B\/s[^]*\r {59}\r[^]*code 130\r\n$/);
  });

  test('svc query is a prompt, which completes at Tab, draws, and outlives Ctrl-C', { tags: ['slow'] }, async () => {
    const shell = onTerminal(
      `export SVC_HISTORY=${folder}/history; echo '[{"price":1},{"price":2}]' | svc put ${folder}/data trades - --fmt json; ` +
        `svc query ${folder}/data; echo code $?`,
    );
    await shell.shows('svc> ');
    shell.type('\\d\r');
    await shell.shows('1 frame');
    shell.type('select pri');
    await shell.shows('select pri');
    shell.type('\t');
    await shell.shows('price');
    shell.type(' from trades;\r');
    await shell.shows('2 rows');
    shell.type('\\chart price\r');
    await shell.shows('price: 2 rows, min 1, max 2, mean 1.5');
    shell.type('from range(100000000000);\r');
    await shell.shows('\n  999\r\n');
    shell.type('\u0003');
    await shell.shows('Cancelled.');
    shell.type('select 6 * 7 as answer;\r');
    await shell.shows('    42\r\n1 row');
    shell.type('\u0004');
    expect((await shell.ended).screen).toMatch(/code 0\r\n$/);
  });

  test('bash completes a handle at Tab', { tags: ['slow'] }, async () => {
    const columns: unknown[] = [];
    const info = { rows: 1, bytes: 1, columns, created: 'c', version: 'v', expires: null, tier: 'memory' };
    const { url } = await startStandIn((_, response) =>
      sendJson(response, { frames: [{ handle: 'trades', ...info }] }),
    );
    const bin = `ln -s ${BINARY} ${folder}/svc; export PATH=${folder}:$PATH; unset -f svc`;
    const shell = onTerminal(`${bin}; PS1='> ' bash --norc --noprofile -i`);
    await shell.shows('> ');
    shell.type('eval "$(svc completion bash)"; echo rea""dy\n');
    await shell.shows('ready');
    shell.type(`svc get --url ${url} tr\t`);
    await shell.shows(`svc get --url ${url} trades `);
    shell.type('\u0015exit\n');
    await shell.ended;
  });
});
