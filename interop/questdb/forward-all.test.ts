import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, inject, test } from 'vitest';
import { exec } from './exec.ts';
import { provideClients } from './provide-clients.ts';
import { startForwarding } from './start-forwarding.ts';

const run = promisify(execFile);

describe('with tsdb.forward = all', () => {
  test('the pages of the database are the same through the server, byte for byte', async () => {
    const questdb = inject('questdbUrl');
    const server = await startForwarding();
    const index = await (await fetch(`${questdb}/index.html`)).text();
    const assets = [...index.matchAll(/(?:src|href)="\.?(\/?assets\/[^"]+)"/g)].map(([, path = '']) =>
      path.replace(/^\/?/, '/'),
    );
    expect(assets.length).toBeGreaterThan(0);
    for (const path of ['/', '/index.html', '/settings', '/warnings', ...assets.slice(0, 3)]) {
      const [own, theirs] = await Promise.all([server.url, questdb].map((url) => fetch(`${url}${path}`)));
      const bodies = await Promise.all([own, theirs].map((response) => response?.arrayBuffer()));
      expect([path, own?.status, own?.headers.get('content-type')]).toEqual([
        path,
        theirs?.status,
        theirs?.headers.get('content-type'),
      ]);
      expect(Buffer.from(bodies[0] ?? []).equals(Buffer.from(bodies[1] ?? []))).toBe(true);
    }
    const query = await server.fetch('/exec?query=select%201&limit=0,1000&count=true&src=con&timings=true');
    expect(await query.json()).toMatchObject({ dataset: [[1]] });
  });

  test('a file is imported with POST /imp', async () => {
    const server = await startForwarding();
    const form = new FormData();
    form.append('data', new Blob(['id,name\n1,a\n2,b\n'], { type: 'text/csv' }), 'x.csv');
    const answer = await server.fetch('/imp?fmt=json&name=imported&overwrite=true', { method: 'POST', body: form });
    expect([answer.status, await answer.json()]).toMatchObject([200, { status: 'OK', rowsImported: 2 }]);
    const rows = () => exec(inject('questdbUrl'), 'select id, name from imported order by id');
    await expect
      .poll(async () => (await rows()).dataset)
      .toEqual([
        [1, 'a'],
        [2, 'b'],
      ]);
  });

  test.each(Object.entries(provideClients()))(
    "QuestDB's client for %s writes to the database",
    async (language, command) => {
      const server = await startForwarding();
      const table = `through_${language.toLowerCase()}`;
      const [program, ...args] = command;
      await run(program, [...args, `http::addr=${new URL(server.url).host};auto_flush=off;`, table]);
      const rows = () => exec(inject('questdbUrl'), `select symbol, price from ${table} order by timestamp`);
      await expect
        .poll(async () => (await rows()).dataset, { timeout: 30_000 })
        .toEqual([
          ['BTC-USD', 39_269.98],
          ['ETH-USD', 1e-300],
        ]);
      expect(await (await server.fetch('/frames')).json()).toEqual({ frames: [] });
    },
  );
});
