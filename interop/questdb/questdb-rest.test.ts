import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { callersFileOf, createCaller } from '../../apps/server/test/callers.ts';
import { type ServerProcess, startProcess, testFile } from '../../apps/server/test/server-process.ts';
import { recordClients } from '../record-clients.js';
import { exec } from './exec.ts';
import { here, providePrograms } from './provide-clients.ts';
import { startForwarding } from './start-forwarding.ts';

const VERSION = '5.0.2';
const programs = providePrograms();
const writer = createCaller('alpha', ['tsdb', 'write']);
const ends: (() => Promise<void>)[] = [];

let open: ServerProcess;
let secured: ServerProcess;
/** A server with frames, and without a database. */
let frames: ServerProcess;

beforeAll(async () => {
  const questdb = inject('questdbUrl');
  await exec(questdb, 'drop table if exists rest_trades');
  await exec(
    questdb,
    'create table rest_trades (symbol symbol, price double, ts timestamp) timestamp(ts) partition by day bypass wal',
  );
  await exec(questdb, "insert into rest_trades values ('BTC', 10.5, 0), ('ETH', 3.25, 1)");
  const onEnd = (end: () => Promise<void>) => void ends.push(end);
  const file = testFile('callers.toml', callersFileOf({ writer }));
  open = await startForwarding({ onEnd });
  frames = await startProcess({
    env: { SERVICE_SQL_DEFAULT_ENGINE: 'local', SERVICE_HTTP_DEFAULT_FMT: 'json' },
    onEnd,
  });
  await frames.put('coins', [
    { id: 1, name: 'ab' },
    { id: 2, name: 'cd' },
    { id: 3, name: 'ef' },
  ]);
  secured = await startForwarding({ env: { SERVICE_AUTH_CALLERS_FILE: file }, onEnd });
  return async () => {
    for (const end of ends) await end();
  };
});

/** Runs a program of the package with its configuration for a server; returns what it printed. */
async function run(
  server: ServerProcess,
  [name, ...args]: readonly [string, ...string[]],
  input = '',
): Promise<string> {
  const port = Number(new URL(server.url).port);
  const user = server === secured ? { user: 'any', password: writer.token } : {};
  const config = testFile('config.json', '');
  const home = dirname(config);
  mkdirSync(join(home, '.questdb-rest'));
  writeFileSync(join(home, '.questdb-rest/config.json'), JSON.stringify({ host: '127.0.0.1', port, ...user }));
  const running = promisify(execFile)(join(programs, name), args, {
    env: { HOME: home, PATH: `${programs}:${process.env['PATH']}`, LC_ALL: 'C.UTF-8' },
  });
  running.child.stdin?.end(input);
  return (await running).stdout;
}

/** The rows of a program's JSON. */
const rowsOf = (text: string): unknown => (JSON.parse(text) as { dataset: unknown }).dataset;

/** What works, in the words of the table of clients, with its commands. */
const WORKS: Readonly<Record<string, (server: ServerProcess) => Promise<void>>> = {
  'lists of tables and columns: `qdb-table-names`, `qdb-cols`, `qdb-cli schema`': async (server) => {
    expect((await run(server, ['qdb-table-names'])).split('\n')).toContain('rest_trades');
    expect(await run(server, ['qdb-cols', 'rest_trades'])).toContain('| price    | DOUBLE');
    expect(await run(server, ['qdb-cli', 'schema'], 'rest_trades\n')).toContain("CREATE TABLE 'rest_trades'");
  },
  'queries: `qdb-cli exec`, as JSON and as a table': async (server) => {
    const select = 'select symbol, price from rest_trades order by symbol';
    const rows = [
      ['BTC', 10.5],
      ['ETH', 3.25],
    ];
    expect(rowsOf(await run(server, ['qdb-cli', 'exec', '-q', select]))).toEqual(rows);
    expect(await run(server, ['qdb-cli', 'exec', '--psql', '-q', select])).toContain('| BTC      |   10.5  |');
  },
  'import and export: `qdb-cli imp`, `chk`, `exp`, `rename`, `drop`': async (server) => {
    const [table, other] = server === open ? ['rest_file', 'rest_other'] : ['rest_secured', 'rest_secured_other'];
    const file = testFile('x.csv', 'id,name\n1,ab\n2,cd\n');
    expect(await run(server, ['qdb-cli', 'imp', file, '--name', table, '--fmt', 'json'])).toContain(
      '"rowsImported": 2',
    );
    expect(await run(server, ['qdb-cli', 'chk'], `${table}\n`)).toContain('"status": "Exists"');
    const csv = '"id","name"\r\n1,"ab"\r\n2,"cd"\r\n';
    expect(await run(server, ['qdb-cli', 'exp', table])).toBe(csv);
    expect(await run(server, ['qdb-cli', 'rename', table, other])).toContain('"status": "OK"');
    expect(await run(server, ['qdb-cli', 'drop'], `${other}\n`)).toContain('"status": "OK"');
  },
  'the library `questdb_rest`: `imp`, `table_exists`, `exec` with `limit` and `count`, `exp`': (server) =>
    useLibrary(server, 'rest_library', '"id","name"\r\n1,"ab"\r\n2,"cd"\r\n'),
};

/** Uses the library from a program of its own. */
async function useLibrary(server: ServerProcess, table: string, exported: string): Promise<void> {
  const { port } = new URL(server.url);
  const args = [here('rest_session.py'), port, server === secured ? writer.token : '', table] as const;
  const printed = await run(server, ['python', ...args]);
  const [exists, nothing, answer, page, names, csv, refused] = printed
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  expect([exists, nothing, page, names, refused]).toEqual([true, false, [[1, 'ab']], ['ab', 'cd'], 400]);
  expect(answer).toMatchObject({
    dataset: [
      [1, 'ab'],
      [2, 'cd'],
    ],
    count: 2,
  });
  expect(csv).toBe(exported);
}

describe('questdb-rest through a server with tsdb.forward = all', { timeout: 180_000 }, () => {
  test.each(Object.entries(WORKS))('%s', async (_what, use) => use(open));

  test.each(Object.entries(WORKS))('with a token as the password: %s', async (_what, use) => use(secured));
});

/** A program that fails: what it printed. */
const refusalOf = (running: Promise<string>): Promise<string> =>
  running.then(
    (printed) => printed,
    (error: { stdout: string; stderr: string }) => error.stdout + error.stderr,
  );

/** What works with frames. */
const WORKS_WITH_FRAMES: Readonly<Record<string, (server: ServerProcess) => Promise<void>>> = {
  'queries of frames: `qdb-cli exec`, as JSON and as a table, and pages of them with `--limit`': async (server) => {
    const select = 'select id, name from coins order by id';
    expect(rowsOf(await run(server, ['qdb-cli', 'exec', '--limit', '0,2', '-q', select]))).toEqual([
      [1, 'ab'],
      [2, 'cd'],
    ]);
    expect(rowsOf(await run(server, ['qdb-cli', 'exec', '--limit', '3,3', '-q', select]))).toEqual([[3, 'ef']]);
    expect(await run(server, ['qdb-cli', 'exec', '--psql', '-q', select])).toContain('|    1 | ab     |');
  },
  'lists of tables and columns: `qdb-table-names`, `qdb-cols`': async (server) => {
    expect((await run(server, ['qdb-table-names'])).split('\n')).toContain('coins');
    expect(await run(server, ['qdb-table-names', '-f', 'coi.*'])).toContain('coins');
    expect(await run(server, ['qdb-cols', 'coins'])).toContain('| id       | LONG');
  },
  'export as CSV: `qdb-cli exp`, of SQL or of a frame by its name': async (server) => {
    const csv = 'id,name\r\n1,ab\r\n2,cd\r\n3,ef\r\n';
    expect(await run(server, ['qdb-cli', 'exp', 'from coins order by id'])).toBe(csv);
    expect(await run(server, ['qdb-cli', 'exp', 'coins'])).toBe(csv);
  },
  'import and `chk`: `qdb-cli imp`, `chk`': async (server) => {
    const file = testFile('x.csv', 'id,name\n1,ab\n2,cd\n');
    const imported = await run(server, ['qdb-cli', 'imp', file, '--name', 'rest_frame', '--fmt', 'json']);
    expect(imported).toContain('"rowsImported": 2');
    expect(await run(server, ['qdb-cli', 'chk'], 'rest_frame\n')).toContain('"status": "Exists"');
    expect(await run(server, ['qdb-cli', 'chk'], 'nothing_here\n')).toContain('"status": "Does not exist"');
    expect(await run(server, ['qdb-cli', 'exp', 'rest_frame'])).toBe('id,name\r\n1,ab\r\n2,cd\r\n');
  },
  'the library `questdb_rest`: `imp`, `table_exists`, `exec` with `limit` and `count`, `exp`': (server) =>
    useLibrary(server, 'rest_library_frame', 'id,name\r\n1,ab\r\n2,cd\r\n'),
  'errors, with their position': async (server) => {
    const printed = await refusalOf(run(server, ['qdb-cli', 'exec', '-q', 'select nothing from coins']));
    expect(printed).toContain('HTTP 400');
    expect(printed).toContain('"position": 7');
  },
};

/** What does not work with frames. */
const LACKS_WITH_FRAMES: Readonly<Record<string, (server: ServerProcess) => Promise<void>>> = {
  '`qdb-table-names` with a part of a name: `~` compares the whole text here; use `coi.*`': async (server) => {
    expect(await run(server, ['qdb-table-names', '-f', 'coi'])).not.toContain('coins');
  },
  "`qdb-cli schema`: `show create table` is QuestDB's; use `qdb-cols`": async (server) => {
    expect(await refusalOf(run(server, ['qdb-cli', 'schema'], 'coins\n'))).toContain('HTTP 400');
  },
  '`qdb-cli rename` and `drop`: `/exec` only reads; use `PATCH` and `DELETE /frames/{handle}`': async (server) => {
    expect(await refusalOf(run(server, ['qdb-cli', 'rename', 'coins', 'other']))).toContain('HTTP 40');
    expect(await refusalOf(run(server, ['qdb-cli', 'drop'], 'coins\n'))).toContain('HTTP 40');
    expect(await run(server, ['qdb-cli', 'chk'], 'coins\n')).toContain('"status": "Exists"');
  },
};

describe('questdb-rest with the frames of a server with sql.default_engine = local', { timeout: 180_000 }, () => {
  test.each(Object.entries({ ...WORKS_WITH_FRAMES, ...LACKS_WITH_FRAMES }))('%s', async (_what, use) => use(frames));
});

test('questdb-rest is in the table of clients', () => {
  const row = { client: 'questdb-rest', version: VERSION };
  const rows = [
    {
      ...row,
      through: '`tsdb.forward = "all"`',
      works: [...Object.keys(WORKS), 'a token as the password of any user'],
      lacks: [],
    },
    {
      ...row,
      through: '`sql.default_engine = "local"`',
      works: Object.keys(WORKS_WITH_FRAMES),
      lacks: Object.keys(LACKS_WITH_FRAMES),
    },
  ];
  expect(recordClients('questdb-rest', rows)).toBe(true);
});
