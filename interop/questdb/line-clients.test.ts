import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, inject, test } from 'vitest';
import { bearer, callersFileOf, createCaller } from '../../apps/server/test/callers.ts';
import { startProcess, testFile } from '../../apps/server/test/server-process.ts';
import { exec } from './exec.ts';
import { provideClients } from './provide-clients.ts';

const clients = provideClients();
const run = promisify(execFile);

/** Runs a client against a server; returns what it printed. */
async function send(language: keyof typeof clients, conf: string, table: string): Promise<string> {
  const [program, ...args] = clients[language];
  return (await run(program, [...args, conf, table])).stdout;
}

const confOf = (url: string, rest = ''): string => `http::addr=${new URL(url).host};auto_flush=off;${rest}`;
const COLUMNS = 'symbol,side,price,amount,is_last,note,seen';

describe.each(Object.keys(clients) as (keyof typeof clients)[])("QuestDB's client for %s", (language) => {
  test('writes the same rows to a frame as to the database', async () => {
    const questdb = inject('questdbUrl');
    const table = `lines_${language.toLowerCase()}`;
    const server = await startProcess();
    await send(language, confOf(questdb), table);
    const rowsOfDatabase = async () => {
      const { dataset } = await exec(questdb, `select ${COLUMNS} from ${table} order by timestamp`);
      return dataset as unknown[][];
    };
    // The database acknowledges lines before its queries see them.
    await expect.poll(async () => (await rowsOfDatabase()).length, { timeout: 30_000 }).toBe(2);
    const printed = await send(language, confOf(server.url), table);
    const answer = await server.fetch(`/exec?handle=${table}&fmt=json&cols=${COLUMNS}`);
    const own = (await answer.json()) as { dataset: unknown[][] };
    expect(own.dataset[0]).toEqual([
      'BTC-USD',
      'sell, = é',
      39_269.98,
      -3,
      true,
      'a "b" \\ c\nd',
      '2023-11-14T22:13:20.000001Z',
    ]);
    // The database has no null for booleans.
    const isOther = (_: unknown, column: number): boolean => column !== 4;
    expect(own.dataset.map((row) => row.filter(isOther))).toEqual(
      (await rowsOfDatabase()).map((row) => row.filter(isOther)),
    );
    const times = await server.fetch(`/exec?handle=${table}&fmt=json&cols=timestamp`);
    expect(await times.json()).toMatchObject({
      dataset: [['2023-11-14T22:13:20.000007000Z'], ['2023-11-14T22:13:20.000008000Z']],
    });
    // One client shows the message, the other the whole body.
    expect(printed.replaceAll('\\"', '"')).toContain(
      `Line 1: column "is_last" is STRING here, but BOOLEAN in the frame "${table}".`,
    );
  });

  test('sends a token, and shows why it was refused', async () => {
    const callers = { writer: createCaller('alpha', ['write']), reader: createCaller('alpha', ['read']) };
    const file = testFile('callers.toml', callersFileOf(callers));
    const server = await startProcess({ env: { SERVICE_AUTH_CALLERS_FILE: file } });
    await send(language, confOf(server.url, `token=${callers.writer.token};`), 'secured');
    const shown = await server.fetch('/frames', { headers: { authorization: bearer(callers.reader.token) } });
    expect(await shown.json()).toMatchObject({ frames: [{ handle: 'secured', rows: 2 }] });
    const refused = send(language, confOf(server.url, `token=${callers.reader.token};`), 'secured');
    await expect(refused).rejects.toThrow(/permission_denied|lacks the permission write/);
  });
});
