import { createMemoryStore, type ListedFrame, parseHandle } from '@svc/frames';
import { createService } from '@svc/service';
import * as v from 'valibot';
import { expect, test } from 'vitest';
import { createExecApp } from '../create-exec-app.ts';
import { SCHEMAS } from '../openapi/schemas.ts';

const frameOf = (i: number): ListedFrame => ({
  handle: parseHandle(`f${i}`),
  rows: i,
  bytes: 8,
  columns: [{ name: 'id', type: 'LONG', nullable: true }],
  created: new Date(0),
  version: 'v1',
  expires: null,
  tier: 'disk',
});
const appOf = (list: () => readonly ListedFrame[]) =>
  createExecApp({ service: createService({ store: { ...createMemoryStore(), list: async () => list() } }) });

test('a frame whose file was not read yet has null for its rows and columns, and the etag changes with them', async () => {
  let frames: readonly ListedFrame[] = [{ ...frameOf(0), rows: null, columns: null }];
  const app = appOf(() => frames);
  const first = await app.request('/frames');
  const etag = first.headers.get('etag') ?? '';
  const body: unknown = await first.json();
  expect(body).toMatchObject({ frames: [{ handle: 'f0', rows: null, columns: null, bytes: 8 }] });
  expect(v.safeParse(SCHEMAS.FrameList, body).issues).toBeUndefined();
  const isSame = async () => (await app.request('/frames', { headers: { 'if-none-match': etag } })).status === 304;
  expect(await isSame()).toBe(true);
  frames = [frameOf(0)];
  expect(await isSame()).toBe(false);
  expect(await (await app.request('/frames?columns=false')).json()).toMatchObject({
    frames: [{ handle: 'f0', rows: 0 }],
  });
});

test('a long list is complete, and other requests have turns while it is encoded', async () => {
  const frames = Array.from({ length: 20_000 }, (_, i) => frameOf(i));
  const app = appOf(() => frames);
  let turns = 0;
  let isOver = false;
  const turn = (): void => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  const response = await app.request('/frames', { headers: { 'accept-encoding': 'identity' } });
  isOver = true;
  expect(turns).toBeGreaterThan(2);
  expect(await response.text()).toBe(JSON.stringify({ frames }));
});
