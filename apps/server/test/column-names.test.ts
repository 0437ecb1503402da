// The names of all columns of a frame together have at most 1 MiB, whichever way the frame is made.
import { encodeArrowStream, streamFromTable } from '@svc/frames';
import { flightSql, FrameServiceDefinition } from '@svc/proto';
import { makeVector, Table } from 'apache-arrow';
import { createChannel, createClient } from 'nice-grpc';
import { expect, onTestFinished, test } from 'vitest';
import { byTier } from '../../../test/tier.ts';
import { commandOf, createFlightClient, pathOf, put } from '../../../packages/grpc/test/flight-client.ts';
import { sharedProcess, type ServerProcess } from './server-process.ts';

const MAX_BYTES = 1 << 20;

/** Names with this many bytes together. SQL cuts a name of more than 1000 characters. */
function namesOf(bytes: number): readonly string[] {
  const names = Array.from({ length: Math.floor(bytes / 1000) }, (_, i) => String(i).padStart(1000, '_'));
  return ['x'.repeat(bytes % 1000), ...names];
}

const tableOf = (names: readonly string[]): Table => {
  const column = makeVector(new Float64Array([0.5]));
  return new Table(Object.fromEntries(names.map((name) => [name, column])));
};

async function arrowOf(names: readonly string[]): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of encodeArrowStream(streamFromTable(tableOf(names)))) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const valuesOf = (names: readonly string[]): string => names.map(() => '0.5').join(',');
const rowOf = (names: readonly string[]): string =>
  JSON.stringify(Object.fromEntries(names.map((name) => [name, 0.5])));

/** Makes the frame `made`. Returns a failure of a gRPC call as text. */
type Make = (server: ServerProcess, names: readonly string[]) => Promise<Response | string>;

const sending =
  (type: string, bodyOf: (names: readonly string[]) => Promise<Uint8Array> | string, method = 'PUT'): Make =>
  async (server, names) =>
    server.fetch('/frames/made', { method, headers: { 'content-type': type }, body: await bodyOf(names) });

/** Stores the rows of SQL. Its text has the names of half of the columns: a longer one is refused. */
const storing: Make = async (server, names) => {
  const [half, rest] = [names.slice(0, names.length / 2), names.slice(names.length / 2)];
  await server.put('half', [Object.fromEntries(half.map((name) => [name, 0.5]))]);
  const sql = `select *, ${rest.map((name) => `0.5 as "${name}"`).join()} from half`;
  return server.fetch('/frames', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sql, handle: 'made' }),
  });
};

const calling =
  (call: (channel: ReturnType<typeof createChannel>, names: readonly string[]) => Promise<unknown>): Make =>
  async (server, names) => {
    const channel = createChannel(server.grpcAddress);
    onTestFinished(() => channel.close());
    return call(channel, names).then(() => 'ok', String);
  };

const INGEST = flightSql.CommandStatementIngest.encode(
  flightSql.CommandStatementIngest.fromPartial({
    table: 'made',
    tableDefinitionOptions: { ifNotExist: 1, ifExists: 1 },
  }),
).finish();

async function* upload(names: readonly string[]) {
  yield { target: { handle: 'made' } };
  yield { chunk: await arrowOf(names) };
}

const WAYS: readonly (readonly [string, Make])[] = [
  ['CSV', sending('text/csv', (names) => `${names.join(',')}\n${valuesOf(names)}\n`)],
  ['appended CSV', sending('text/csv', (names) => `${names.join(',')}\n${valuesOf(names)}\n`, 'POST')],
  ['JSON', sending('application/json', (names) => `[${rowOf(names)}]`)],
  ['NDJSON', sending('application/x-ndjson', rowOf)],
  ['Arrow', sending('application/vnd.apache.arrow.stream', arrowOf)],
  ['appended Arrow', sending('application/vnd.apache.arrow.stream', arrowOf, 'POST')],
  [
    'lines',
    // A line has at most 1 MiB, and the last column is the time.
    (server, names) => {
      const lines = [names.slice(0, 500), names.slice(500)].map((some) => some.map((name) => `${name}=0.5`).join());
      const body = `other x=0.5\n${lines.map((line) => `made ${line}\n`).join('')}`;
      return server.fetch('/write', { method: 'POST', body });
    },
  ],
  ['the result of SQL', storing],
  ['PutFrame', calling((channel, names) => createClient(FrameServiceDefinition, channel).putFrame(upload(names)))],
  ['DoPut', calling((channel, names) => put(createFlightClient(channel), pathOf('made'), tableOf(names)))],
  [
    'an ingest',
    calling((channel, names) =>
      put(createFlightClient(channel), commandOf('CommandStatementIngest', INGEST), tableOf(names)),
    ),
  ],
];

for (const [options, ways] of byTier(WAYS)) {
  test.each(ways)(
    'names of 1 MiB can be stored, and longer ones are refused before anything is: %s',
    options,
    async (way, make) => {
      const server = await sharedProcess();
      const outcomeOf = async (bytes: number): Promise<unknown> => {
        const made = await make(server, namesOf(bytes - (way === 'lines' ? 'timestamp'.length : 0)));
        return typeof made === 'string' ? made : `${made.status} ${await made.text()}`;
      };
      expect(await outcomeOf(MAX_BYTES + 1)).toMatch(
        /(?:^400|INVALID_ARGUMENT).*The names and metadata of the columns take 1048577 bytes; at most 1048576 are allowed/,
      );
      expect(await (await server.fetch('/frames?prefix=made')).json()).toMatchObject({ frames: [] });
      expect((await server.fetch('/frames/other')).status).toBe(404);
      expect(await outcomeOf(MAX_BYTES)).toMatch(/^(?:20[014] |ok)/);
    },
  );
}
