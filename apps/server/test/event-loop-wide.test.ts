import { streamFromTable } from '@svc/frames';
import { encodeArrowMessages } from '@svc/frames/internal';
import { flight, flightSql, packFlightSql } from '@svc/proto';
import { Table, vectorFromArray } from 'apache-arrow';
import { createChannel, createClient } from 'nice-grpc';
import { beforeAll, describe, expect, test } from 'vitest';
import { pathOf, queryOf, ticketOf } from './flight-client.ts';
import { CAN_MEASURE, MAX_BLOCK_MS, type MeasuredServer, startMeasured } from './measured-server.ts';

const connectTo = (address: string) => {
  const channel = createChannel(address);
  return { channel, client: createClient(flight.FlightServiceDefinition, channel) };
};
type Client = ReturnType<typeof connectTo>['client'];

async function* upload(handle: string, columns: number) {
  const column = vectorFromArray(new Float64Array(1));
  const table = new Table(Object.fromEntries(Array.from({ length: columns }, (_, i) => [`column_${i}`, column])));
  for await (const { header, body } of encodeArrowMessages(streamFromTable(table))) {
    yield { flightDescriptor: pathOf(handle), dataHeader: header, dataBody: Buffer.concat(body) };
  }
}

async function* update(query: string) {
  const value = flightSql.CommandStatementUpdate.encode(flightSql.CommandStatementUpdate.fromPartial({ query }));
  const cmd = packFlightSql('CommandStatementUpdate', value.finish());
  yield { flightDescriptor: { type: flight.FlightDescriptorDescriptorType.CMD, cmd, path: [] } };
}

async function drained(messages: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of messages);
}

/** Prepares a call about frames of many columns, and returns the part of it that is measured. */
type Prepare = (client: Client) => Promise<() => Promise<unknown>> | (() => Promise<unknown>);

const reading =
  (descriptor: flight.FlightDescriptor): Prepare =>
  async (client) => {
    const ticket = await ticketOf(client, descriptor);
    return () => drained(client.doGet({ ticket }));
  };

const CALLS: Readonly<Record<string, Prepare>> = {
  'the list of a frame of 3,000 columns': (client) => () => drained(client.listFlights({})),
  'the read of a frame of 3,000 columns': reading(pathOf('wide')),
  'the read of a query of 1,500 columns': reading(queryOf('select * from half')),
  'a column type with 500 kB of blanks': (client) => async () => {
    const sql = `create table t (a double${' '.repeat(500_000)}x)`;
    await expect(drained(client.doPut(update(sql)))).rejects.toThrow('INVALID_ARGUMENT');
  },
};

describe.runIf(CAN_MEASURE)(`the event loop is kept for at most ${MAX_BLOCK_MS} ms in one piece by`, () => {
  let server: MeasuredServer;
  let client: Client;
  beforeAll(async () => {
    let end: (() => Promise<void>) | undefined;
    server = await startMeasured({ onEnd: (ending) => void (end = ending) });
    const connection = connectTo(server.grpcAddress);
    ({ client } = connection);
    // The first calls load modules and compile functions.
    for (const columns of [10, 100, 1000]) {
      await drained(client.doPut(upload('warm', columns)));
      for (const descriptor of [pathOf('warm'), queryOf('select * from warm')]) {
        const read = await reading(descriptor)(client);
        await read();
      }
    }
    await drained(client.doPut(upload('wide', 3000)));
    await drained(client.doPut(upload('half', 1500)));
    return async () => {
      connection.channel.close();
      await end?.();
    };
  });

  test.each(Object.entries(CALLS))('%s', async (_, prepare) => {
    const run = await prepare(client);
    await server.longestBlock();
    await run();
    expect(await server.longestBlock()).toBeLessThanOrEqual(MAX_BLOCK_MS);
  });
});
