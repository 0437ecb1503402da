import { flight, flightSql, packFlightSql } from '@svc/proto';
import { beforeAll, describe, expect, test } from 'vitest';
import { CAN_MEASURE, MAX_BLOCK_MS } from './measured-server.ts';
import { drained, longestBlockOf, type Prepare, startWide, wideRequests, type WideServer } from './wide-requests.ts';

/** A sample of the table: event-loop-wide.slow.test.ts has all. */
const SAMPLE: ReadonlySet<string> = new Set(['a put as NDJSON', 'DoGet of a frame', 'GetFlightInfo of SQL']);
const sampleOf = (columns: number): [string, Prepare][] =>
  Object.entries(wideRequests(columns)).filter(([name]) => SAMPLE.has(name));

async function* update(query: string) {
  const value = flightSql.CommandStatementUpdate.encode(flightSql.CommandStatementUpdate.fromPartial({ query }));
  const cmd = packFlightSql('CommandStatementUpdate', value.finish());
  yield { flightDescriptor: { type: flight.FlightDescriptorDescriptorType.CMD, cmd, path: [] } };
}

/** Declarations of columns that cannot be read. */
const DECLARED: Readonly<Record<string, () => string>> = {
  '10,000 columns, of which the last has a key': () =>
    `${Array.from({ length: 9999 }, (_, i) => `"column ${i}" decimal(18, 2) null`).join()}, a int primary key`,
  'a column type with 500 kB of blanks': () => `a double${' '.repeat(500_000)}x`,
  'a column type with 1 MB of parentheses': () => `a ${'()'.repeat(500_000)}`,
  'a column type with 60 kB of texts, of 10': () =>
    Array.from({ length: 10 }, (_, i) => `a${i} ${"'' ".repeat(15_000)}`).join(),
};
const declared = (columns: () => string): Prepare => {
  const sql = `create table t (${columns()})`;
  return (wide) => async () => {
    await expect(drained(wide.flight.doPut(update(sql)))).rejects.toThrow('INVALID_ARGUMENT');
  };
};

/** Names of columns that are longer in SQL. */
const QUOTES = Array.from({ length: 1000 }, (_, i) => `${'"'.repeat(990)}${i}`);

const selectQuotes: Prepare = async ({ server }) => {
  await server.put('wide', [Object.fromEntries(QUOTES.map((name) => [name, 0.5]))]);
  return async () => {
    const response = await server.fetch('/exec?query=select+*+from+wide&engine=local&fmt=json');
    expect(await response.json()).toMatchObject({ columns: QUOTES.map((name) => ({ name })) });
  };
};

describe.runIf(CAN_MEASURE)(
  `the event loop is kept for at most ${MAX_BLOCK_MS} ms in one piece, with 3000 columns, by`,
  () => {
    let wide: WideServer;
    beforeAll(async () => {
      wide = await startWide((columns) => sampleOf(columns).map(([, prepare]) => prepare));
      return () => wide.close();
    });

    test.each([
      ...sampleOf(3000),
      ...Object.entries(DECLARED).map(([name, columns]) => [name, declared(columns)] as const),
      ['SQL of a frame whose names are 1 MB of quotes', selectQuotes] as const,
    ])('%s', async (_, prepare) => {
      expect(await longestBlockOf(prepare, wide)).toBeLessThanOrEqual(MAX_BLOCK_MS);
    });
  },
);
