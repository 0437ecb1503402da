import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createApi } from '../api/api.ts';
import { createServerState, POLL_MS, type ServerState } from './server-state.ts';

const INFO = { version: '1', engines: ['local'], defaultEngine: 'local' };

/** A server whose answers the test changes. */
interface FakeServer {
  isUp: boolean;
  handles: string[];
  token?: string;
  refusal?: number;
  /** What the list is instead. */
  list?: () => Promise<Response>;
  info?: () => Promise<Response>;
  readonly requests: string[];
}

function answer(server: FakeServer, address: string, init: RequestInit = {}): Response | Promise<Response> {
  const { pathname } = new URL(address);
  const headers = new Headers(init.headers);
  server.requests.push(`${pathname}${headers.has('if-none-match') ? ' if changed' : ''}`);
  if (!server.isUp) throw new TypeError('Failed to fetch');
  if (server.token && headers.get('authorization') !== `Bearer ${server.token}`) {
    return Response.json({ error: 'No token.', code: 'unauthenticated' }, { status: 401 });
  }
  if (pathname === '/info') return server.info?.() ?? Response.json(INFO);
  if (server.list) return server.list();
  if (server.refusal) return Response.json({ error: 'No.', code: 'permission_denied' }, { status: server.refusal });
  const etag = `"${server.handles.join()}"`;
  if (headers.get('if-none-match') === etag) return new Response(null, { status: 304 });
  return Response.json({ frames: server.handles.map((handle) => ({ handle })) }, { headers: { etag } });
}

function create(given: Partial<FakeServer> = {}): { readonly server: FakeServer; readonly state: ServerState } {
  const server: FakeServer = { isUp: true, handles: ['a'], requests: [], ...given };
  const send = async (address: unknown, init?: RequestInit): Promise<Response> => answer(server, String(address), init);
  return { server, state: createServerState((observer) => createApi(new URL('http://svc.test/'), observer, send)) };
}

const handles = ({ frames }: ServerState): string[] => frames.value.map(({ handle }) => handle);
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test.each([
  ['an hour ahead', 3_600_000, 3_600_000],
  ['an hour behind', -3_600_000, -3_600_000],
  ['a second ahead, which is noise', 1000, 0],
])('the clock of the server is known: %s', async (_, aheadMs, expected) => {
  vi.setSystemTime('2026-01-01T00:00:00.000Z');
  const headers = { date: new Date(Date.now() + aheadMs).toUTCString() };
  const { state } = create({ info: async () => Response.json(INFO, { headers }) });
  await pass(0);
  expect(state.clockAheadMs.value).toBe(expected);
  state.setVisible(false);
});

test.each([
  ['3', POLL_MS],
  ['60', 60_000],
  ['3600', 300_000],
  ['Wed, 21 Oct 2026 07:28:00 GMT', POLL_MS],
])('a busy server that says Retry-After: %s is asked again after %i ms', async (seconds, afterMs) => {
  const headers = { 'retry-after': seconds };
  const busy = async (): Promise<Response> => Response.json({ error: 'Busy.' }, { status: 503, headers });
  const { server, state } = create({ list: busy });
  await pass(0);
  expect([state.connection.value, state.framesFailure.value?.message]).toEqual(['ready', 'Busy.']);
  delete server.list;
  await pass(afterMs - 1);
  expect(handles(state)).toEqual([]);
  await pass(1);
  expect([handles(state), state.framesFailure.value]).toEqual([['a'], undefined]);
  state.setVisible(false);
});

describe('a server that answers', () => {
  test('is loaded at once, and its list is asked for again only as changed', async () => {
    const { server, state } = create();
    await pass(0);
    expect([state.connection.value, handles(state), state.info.value?.version]).toEqual(['ready', ['a'], '1']);
    const before = state.frames.value;
    await pass(POLL_MS);
    expect(server.requests).toEqual(['/info', '/frames', '/frames if changed']);
    expect(state.frames.value).toBe(before);
    server.handles = ['a', 'b'];
    await pass(POLL_MS);
    expect(handles(state)).toEqual(['a', 'b']);
  });

  test('is not asked while the page is hidden, and at once when it is shown', async () => {
    const { server, state } = create();
    await pass(0);
    state.setVisible(false);
    await pass(10 * POLL_MS);
    expect(server.requests.length).toBe(2);
    state.setVisible(true);
    await pass(0);
    expect(server.requests.length).toBe(3);
  });

  test('that refuses the list is not gone', async () => {
    const { state } = create({ refusal: 403 });
    await pass(0);
    expect([state.connection.value, state.framesFailure.value?.code, state.hasFrames.value]).toEqual([
      'ready',
      'permission_denied',
      false,
    ]);
  });
});

describe('a server that is gone', () => {
  test('is asked again after longer and longer times, and is loaded anew when it is back', async () => {
    const { server, state } = create({ isUp: false });
    await pass(0);
    expect(state.connection.value).toBe('gone');
    const counts: number[] = [];
    for (const ms of [999, 1, 1999, 1, 3999, 1]) {
      await pass(ms);
      counts.push(server.requests.filter((path) => path === '/frames').length);
    }
    expect(counts).toEqual([1, 2, 2, 3, 3, 4]);
    server.isUp = true;
    await pass(8000);
    expect([state.connection.value, handles(state)]).toEqual(['ready', ['a']]);
  });

  test('is asked again only after a pause if its list fails before its other answer comes', async () => {
    const list = async (): Promise<Response> => {
      throw new TypeError('Failed to fetch');
    };
    const info = async (): Promise<Response> => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return Response.json(INFO);
    };
    const { server, state } = create({ list, info });
    await pass(900);
    expect([state.connection.value, server.requests]).toEqual(['gone', ['/info', '/frames']]);
  });

  test.each([
    ['a list without frames', { list: async () => Response.json({}) }],
    ['null as its list', { list: async () => Response.json(null) }],
    ['a page as its list', { list: async () => new Response('<h1>Sign in</h1>') }],
    ['no engines', { info: async () => Response.json({}) }],
  ])('is one that answers with %s', async (_, given) => {
    const { server, state } = create(given);
    await pass(0);
    expect([state.connection.value, state.frames.value, state.info.value]).toEqual(['gone', [], undefined]);
    delete server.list;
    delete server.info;
    await pass(1000);
    expect([state.connection.value, handles(state)]).toEqual(['ready', ['a']]);
  });

  test('is noticed by any request, and keeps what was loaded', async () => {
    const { server, state } = create();
    await pass(0);
    server.isUp = false;
    await expect(state.api.send({ path: 'exec' })).rejects.toThrow('The server does not answer.');
    expect([state.connection.value, handles(state)]).toEqual(['gone', ['a']]);
    server.isUp = true;
    await pass(1000);
    expect(state.connection.value).toBe('ready');
  });
});

describe('a server that wants a token', () => {
  test('is signed out without one, and is not asked again', async () => {
    const { server, state } = create({ token: 'right' });
    await pass(10 * POLL_MS);
    expect([state.connection.value, server.requests.length]).toEqual(['signed-out', 2]);
  });

  test('refuses a wrong token and takes the right one', async () => {
    const { state } = create({ token: 'right' });
    await pass(0);
    await state.signIn('wrong');
    expect([state.connection.value, state.refusal.value?.message]).toEqual(['signed-out', 'No token.']);
    await state.signIn('right');
    expect([state.connection.value, handles(state)]).toEqual(['ready', ['a']]);
  });

  test('asks again when the token is no longer valid', async () => {
    const { server, state } = create({ token: 'right' });
    await state.signIn('right');
    server.token = 'new';
    await pass(POLL_MS);
    expect([state.connection.value, handles(state)]).toEqual(['signed-out', ['a']]);
  });
});

test('signing out removes everything that the server said, also an answer on its way', async () => {
  const { state } = create({ token: 't' });
  await state.signIn('t');
  expect([state.connection.value, handles(state)]).toEqual(['ready', ['a']]);
  const late = state.refresh();
  state.signOut();
  await late;
  await pass(POLL_MS * 2);
  expect([state.connection.value, handles(state), state.hasFrames.value, state.info.value]).toEqual([
    'signed-out',
    [],
    false,
    undefined,
  ]);
});
