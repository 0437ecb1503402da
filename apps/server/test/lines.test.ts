import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SLOW } from '../../../test/tier.ts';
import { bearer, callersFileOf, createCaller } from './callers.ts';
import { type ServerProcess, startProcess, testFile } from './server-process.ts';

const write = (server: ServerProcess, body: string, headers: Record<string, string> = {}): Promise<Response> =>
  server.fetch('/write', { method: 'POST', body, headers });

async function rowsOf(server: ServerProcess, handle: string): Promise<unknown> {
  const response = await server.fetch(`/exec?handle=${handle}&fmt=json`);
  return ((await response.json()) as { dataset?: unknown }).dataset ?? response.status;
}

describe('line protocol', () => {
  test('acknowledged lines survive kill -9, can be queried, and take the types of frames', SLOW, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'svc-lines-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const first = await startProcess({ args: ['--data-dir', directory] });
    const answers = [
      await write(first, 'all,tag=a d=1.5,i=-2i,u=3u,b=t,s="x y",m=1700000000000001t,n=5n 1700000000000000007\n'),
      await write(first, 'all d=2 8\nother x=1 9\n'),
      await write(first, 'all i=3i,tag2="a" 9\n'),
      await write(first, 'all,tag=a s="x" 9\nall b=1i'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([204, 204, 400, 400]);
    expect(await answers[2]?.json()).toMatchObject({ line: 1, error: 'Line 1: the frame "all" has no column "tag2".' });
    expect(await answers[3]?.json()).toMatchObject({ code: 'invalid_data', line: 2 });
    // A frame that was put, with types of its own.
    await first.put('put', [{ id: 1, name: 'a', price: 1.5, timestamp: '2024-01-02T03:04:05Z' }], {
      query: '?columns=id:INT,name:STRING,price:DOUBLE,timestamp:TIMESTAMP',
    });
    expect((await write(first, 'put,name=b id=2i,price=2i 1700000000000000000\n')).status).toBe(204);
    expect(await (await write(first, 'put id=3000000000i 1700000000000000000\n')).json()).toMatchObject({ line: 1 });
    first.child.kill('SIGKILL');
    await first.exited;
    const second = await startProcess({ args: ['--data-dir', directory] });
    const time = ['2023-11-14T22:13:20.000001Z', '1970-01-01T00:00:00.000000005Z', '2023-11-14T22:13:20.000000007Z'];
    expect(await rowsOf(second, 'all')).toEqual([
      ['a', 1.5, -2, 3, true, 'x y', ...time],
      [null, 2, null, null, null, null, null, null, '1970-01-01T00:00:00.000000008Z'],
    ]);
    expect(await rowsOf(second, 'other')).toEqual([[1, '1970-01-01T00:00:00.000000009Z']]);
    expect(await rowsOf(second, 'put')).toEqual([
      [1, 'a', 1.5, '2024-01-02T03:04:05.000000Z'],
      [2, 'b', 2, '2023-11-14T22:13:20.000000Z'],
    ]);
    const sql = encodeURIComponent(
      "select tag, date_trunc('hour', timestamp) h, count(*) n from all_rows group by all",
    );
    expect((await write(second, 'all_rows,tag=a x=1 1700000000000000000')).status).toBe(204);
    const answer = await second.fetch(`/exec?engine=local&fmt=json&query=${sql}`);
    expect(await answer.json()).toMatchObject({ dataset: [['a', expect.stringMatching(/^2023-11-14T22:00:00/), 1]] });
  });

  test(
    'a tenant that may have one frame gets the lines of one table stored, and an error that says so',
    SLOW,
    async () => {
      const caller = createCaller('one-frame', ['write']);
      const toml = `${callersFileOf({ caller })}\n[[tenant]]\nname = "one-frame"\nmax_frames = 1\n`;
      const server = await startProcess({ env: { SERVICE_AUTH_CALLERS_FILE: testFile('callers.toml', toml) } });
      const authorization = bearer(caller.token);
      expect((await write(server, 'a x=1\nb x=1\n')).status).toBe(401);
      const answer = await write(server, 'a x=1\nb x=1\n', { authorization });
      expect([answer.status, await answer.json()]).toMatchObject([
        422,
        { code: 'partial_write', message: expect.stringMatching(/^Only the lines of "[ab]" are stored/) },
      ]);
    },
  );
});
