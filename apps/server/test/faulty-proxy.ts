import { expect } from 'vitest';
import { type FaultRelay, startFaultRelay } from '../../../packages/tsdb-proxy/src/testing/fault-relay.ts';
import {
  type RecordedDatabase,
  startRecordedDatabase,
} from '../../../packages/tsdb-proxy/src/testing/recorded-database.ts';
import { DEADLINE_SETTINGS, type FaultOutcome } from './fault-outcomes.ts';
import { isInTime, see } from './see-fault.ts';
import { type ServerProcess, startProcess } from './server-process.ts';

/** A statement, and the answer of the database to it. */
export const SQL = '/exec?query=select%201&fmt=json';
export const WHOLE =
  '{"query":"select 1","columns":[{"name":"1","type":"INT"}],"timestamp":-1,"dataset":[[1]],"count":1}';

/** A server whose way to the database can go wrong. */
export interface FaultyProxy {
  readonly database: RecordedDatabase;
  readonly relay: FaultRelay;
  readonly server: ServerProcess;
  close(): Promise<void>;
}

/** Starts one. */
export async function startFaultyProxy(): Promise<FaultyProxy> {
  const ends: (() => Promise<void>)[] = [];
  const database = await startRecordedDatabase();
  const relay = await startFaultRelay(database.url);
  const server = await startProcess({
    // Connections of clients that are idle are not what is counted by tests.
    env: { SERVICE_TSDB_HTTP_URL: relay.url, SERVICE_HTTP_KEEP_ALIVE_MS: '1000' },
    toml: DEADLINE_SETTINGS,
    onEnd: (end) => ends.push(end),
  });
  return {
    database,
    relay,
    server,
    async close() {
      for (const end of ends) await end();
      await relay.close();
      await database.close();
    },
  };
}

/** Fails where a client sees something else of a fault, or the next request does not succeed. */
export async function expectOutcome({ database, relay, server }: FaultyProxy, outcome: FaultOutcome): Promise<void> {
  // A connection used before makes some faults look different.
  for (const isUsed of [false, true]) {
    await relay.inject('refuses');
    await relay.inject(undefined);
    if (isUsed) expect((await see(`${server.url}${SQL}`, WHOLE)).seen).toBe('whole');
    const arrived = database.targets.length;
    await relay.inject(outcome.fault);
    const seen = await see(`${server.url}${SQL}`, WHOLE);
    expect(seen).toMatchObject({ seen: outcome.seen });
    expect(seen).toSatisfy((one: typeof seen) => isInTime(one, outcome));
    expect(seen.text).not.toMatch(/127\.0\.0\.1|ECONN|UND_ERR/);
    expect(database.targets.length - arrived).toBe(outcome.arrives);
    await relay.inject(undefined);
    expect((await see(`${server.url}${SQL}`, WHOLE)).seen).toBe('whole');
  }
}
