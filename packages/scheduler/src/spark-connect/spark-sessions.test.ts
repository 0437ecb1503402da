import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { connectSpark } from './connect-spark.ts';
import { createSparkSessions, type SparkSessions, type SparkSessionsOptions } from './spark-sessions.ts';
import { type SparkServer, startSparkServer } from '../testing/spark-server.ts';

const NEVER = new AbortController().signal;

async function start(options: SparkSessionsOptions): Promise<{ server: SparkServer; sessions: SparkSessions }> {
  const server = await startSparkServer({ batches: [] });
  const connection = connectSpark({ protocol: 'spark-connect', host: '127.0.0.1', port: server.port, hasTls: false });
  onTestFinished(async () => {
    connection.close();
    await server.close();
  });
  return { server, sessions: createSparkSessions(connection.clientFor(undefined), options) };
}

async function use(sessions: SparkSessions, tenant: string, isKept = true): Promise<string> {
  const { identity, giveBack } = await sessions.borrow(tenant, isKept, NEVER);
  await giveBack();
  return identity.sessionId;
}

const released = ({ calls }: SparkServer): string[] => calls.filter((call) => call.startsWith('releaseSession'));

describe('a session', () => {
  test('that is not kept ends with its statement', async () => {
    const { server, sessions } = await start({});
    const first = await use(sessions, 'a', false);
    expect(released(server)).toEqual(['releaseSession(a)']);
    expect(await use(sessions, 'a', false)).not.toBe(first);
  });

  test('that is not kept is not given to other statements', async () => {
    const { sessions } = await start({});
    const kept = await use(sessions, 'a');
    const [one, two] = await Promise.all([1, 2].map(() => sessions.borrow('a', false, NEVER)));
    expect(new Set([kept, one?.identity.sessionId, two?.identity.sessionId]).size).toBe(3);
  });

  test('ends when it was idle for long, but not while it is used', async () => {
    const { server, sessions } = await start({ idleMs: 1 });
    const { giveBack } = await sessions.borrow('a', true, NEVER);
    await use(sessions, 'b');
    await vi.waitFor(() => expect(released(server)).toEqual(['releaseSession(b)']));
    await giveBack();
    await vi.waitFor(() => expect(released(server)).toEqual(['releaseSession(b)', 'releaseSession(a)']));
  });

  test('gives way to those of other tenants, the least recently used first, when its statements have ended', async () => {
    const { server, sessions } = await start({ maxKept: 2 });
    const a = await sessions.borrow('a', true, NEVER);
    const b = await use(sessions, 'b');
    await use(sessions, 'c');
    expect(released(server)).toEqual([]);
    await a.giveBack();
    expect(released(server)).toEqual(['releaseSession(a)']);
    expect(await use(sessions, 'b')).toBe(b);
  });

  test('counts as given back once', async () => {
    const { server, sessions } = await start({});
    const first = await sessions.borrow('a', true, NEVER);
    const second = await sessions.borrow('a', true, NEVER);
    await first.giveBack();
    await first.giveBack();
    second.retire();
    expect(released(server)).toEqual([]);
    await second.giveBack();
    expect(released(server)).toEqual(['releaseSession(a)']);
  });

  test('in use ends after a close when it is given back', async () => {
    const { server, sessions } = await start({});
    const used = await sessions.borrow('a', true, NEVER);
    await use(sessions, 'b');
    await sessions.close();
    expect(released(server)).toEqual(['releaseSession(b)']);
    await used.giveBack();
    expect(released(server)).toEqual(['releaseSession(b)', 'releaseSession(a)']);
  });
});
