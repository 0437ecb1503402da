import { expect, test } from 'vitest';
import { BODIES, put } from './large-bodies.ts';
import { startProcess } from './server-process.ts';

const ROWS = 4_000;

test('an upload of twice the memory for frames is taken, in every format', async () => {
  const server = await startProcess({ args: ['--cache-size', '0.002'] });
  for (const [type, body] of Object.entries(BODIES)) {
    const last = type.includes('json') ? [[ROWS - 1], [-1]] : [[ROWS - 1]];
    const answer = await put(server, type, body(ROWS));
    expect([answer.ok, await answer.json()]).toMatchObject([true, { rows: ROWS - 1 + last.length, tier: 'disk' }]);
    const tail = await server.fetch(`/exec?handle=t&fmt=json&cols=id&limit=${ROWS},`);
    expect(await tail.json()).toMatchObject({ dataset: last });
  }
});
