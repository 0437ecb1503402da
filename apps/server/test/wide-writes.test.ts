import { expect, test } from 'vitest';
import { sharedProcess } from './server-process.ts';

test.each([
  ['20 tables of 5000 columns', 20, 5000],
  ['1000 tables of 500 columns', 1000, 500],
])(
  'lines with more columns than a request may have are refused before anything is stored: %s',
  async (_, tables, columns) => {
    const server = await sharedProcess();
    const fields = Array.from({ length: columns }, (__, i) => `c${i}=1`).join(',');
    const body = Array.from({ length: tables }, (__, i) => `t${i} ${fields}\n`).join('');
    const response = await server.fetch('/write', { method: 'POST', body });
    expect([response.status, await response.json()]).toMatchObject([
      413,
      { code: 'payload_too_large', hint: expect.stringContaining('Send fewer tables, columns or lines') },
    ]);
    expect(await (await server.fetch('/frames')).json()).toMatchObject({ frames: [] });
  },
);
