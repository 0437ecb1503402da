import { flightSql } from '@svc/proto';
import { Metadata } from 'nice-grpc';
import { commandOf, flights, get, rpc, upload } from './flight-messages.ts';
import { drain, type GrpcOptions, one, SQL, type Target, type Way } from './way.ts';

/** The entry of a command of Flight SQL. */
export const commandEntry = (name: string): string => `command ${name}`;

/** What a command does when it is sent with one method: the outcome for each caller. */
type Outcome = Pick<Way, 'allowed' | 'audited' | 'elsewhere' | 'operation' | 'target'>;

interface CommandRow {
  readonly detail?: string;
  readonly message: (target: Target) => Uint8Array;
  /** With GetFlightInfo, and DoGet for the ticket. Default: any caller may read it. */
  readonly read?: Outcome;
  /** With PollFlightInfo. Default: as `read`. */
  readonly poll?: Outcome;
  /** With GetSchema. Default: as `poll`. */
  readonly schema?: Outcome;
  /** With DoPut. Default: it takes no data. */
  readonly put?: Outcome;
  /** The engine in the metadata. Default: none. */
  readonly engine?: string;
  /** Whether DoPut sends rows. Default true. */
  readonly hasRows?: boolean;
}

const NOT_READABLE = { allowed: 'invalid_argument' };
const NO_DATA = { allowed: 'invalid_argument' };
const NO_TABLE = { elsewhere: 'invalid_sql' };
const NO_STATEMENT = { elsewhere: 'invalid_argument' };
const NO_FRAME = { allowed: 'handle_not_found' };
const NO_CLUSTER = { target: 'scheduler', allowed: 'scheduler_not_configured' } as const;

const ANYONE: CommandRow = { message: () => new Uint8Array(0) };
const query = (sql: string) => () =>
  flightSql.CommandStatementQuery.encode({ query: sql, transactionId: undefined }).finish();
const update = (sql: string) => () =>
  flightSql.CommandStatementUpdate.encode({ query: sql, transactionId: undefined }).finish();
const prepared = (handle: (target: Target) => Uint8Array) => (target: Target) =>
  flightSql.CommandPreparedStatementQuery.encode({ preparedStatementHandle: handle(target) }).finish();

function ingest(ifNotExist: number, ifExists: number, table = 'ingested') {
  const command = { table, tableDefinitionOptions: { ifNotExist, ifExists } };
  const bytes = flightSql.CommandStatementIngest.encode(flightSql.CommandStatementIngest.fromPartial(command)).finish();
  return () => bytes;
}

const COMMANDS: Readonly<Record<string, CommandRow | readonly CommandRow[]>> = {
  CommandGetCatalogs: ANYONE,
  CommandGetCrossReference: ANYONE,
  CommandGetDbSchemas: ANYONE,
  CommandGetExportedKeys: ANYONE,
  CommandGetImportedKeys: ANYONE,
  CommandGetPrimaryKeys: ANYONE,
  CommandGetSqlInfo: ANYONE,
  CommandGetTableTypes: ANYONE,
  CommandGetXdbcTypeInfo: ANYONE,
  // Its schema is always the same; its rows are the frames.
  CommandGetTables: { ...ANYONE, read: { operation: 'listFrames' }, poll: {} },
  CommandStatementQuery: [
    {
      message: query(SQL),
      read: { operation: 'query', ...NO_TABLE },
      schema: { operation: 'describeQuery', ...NO_TABLE },
    },
    {
      detail: 'on a cluster',
      message: query(SQL),
      engine: 'scheduler',
      read: { operation: 'query', ...NO_CLUSTER },
      schema: { operation: 'describeQuery', ...NO_CLUSTER },
    },
    {
      detail: 'DROP TABLE',
      message: query('drop table none'),
      read: { operation: 'dropFrame', ...NO_FRAME },
      poll: {},
    },
    {
      detail: 'CREATE TABLE AS',
      message: query(`create or replace table kept as ${SQL}`),
      read: { operation: 'keepQuery', ...NO_TABLE },
      poll: {},
    },
    {
      detail: 'INSERT',
      message: query('insert into none values (1)'),
      read: { operation: 'appendQuery', ...NO_FRAME },
      poll: {},
    },
    { detail: 'COMMIT', message: query('commit') },
  ],
  CommandPreparedStatementQuery: {
    message: prepared((target) => target.query),
    read: { operation: 'query', ...NO_STATEMENT },
    schema: { operation: 'describeQuery', ...NO_STATEMENT },
    put: { operation: 'query', ...NO_STATEMENT },
    hasRows: false,
  },
  CommandPreparedStatementUpdate: [
    {
      message: prepared((target) => target.update),
      read: NOT_READABLE,
      put: { operation: 'dropFrame', ...NO_FRAME, ...NO_STATEMENT },
    },
    {
      detail: 'INSERT of parameters',
      message: prepared((target) => target.insert),
      read: NOT_READABLE,
      put: { operation: 'appendRows', allowed: 'invalid_argument' },
    },
  ],
  CommandStatementUpdate: [
    {
      detail: 'DROP TABLE',
      message: update('drop table none'),
      read: NOT_READABLE,
      put: { operation: 'dropFrame', ...NO_FRAME },
      hasRows: false,
    },
    {
      detail: 'ALTER TABLE',
      message: update('alter table none rename to renamed'),
      read: NOT_READABLE,
      put: { operation: 'renameFrame', ...NO_FRAME },
      hasRows: false,
    },
    {
      detail: 'CREATE TABLE AS',
      message: update(`create or replace table kept as ${SQL}`),
      read: NOT_READABLE,
      put: { operation: 'keepQuery', ...NO_TABLE },
      hasRows: false,
    },
    {
      detail: 'CREATE TABLE AS on a cluster',
      message: update(`create or replace table kept as ${SQL}`),
      engine: 'scheduler',
      read: NOT_READABLE,
      put: { operation: 'keepQuery', ...NO_CLUSTER },
      hasRows: false,
    },
    {
      detail: 'CREATE TABLE with columns, on a cluster',
      message: update('create or replace table made (id bigint)'),
      engine: 'scheduler',
      read: NOT_READABLE,
      put: { operation: 'keepQuery' },
      hasRows: false,
    },
    {
      detail: 'INSERT',
      message: update('insert into none values (1)'),
      read: NOT_READABLE,
      put: { operation: 'appendQuery', ...NO_FRAME },
      hasRows: false,
    },
    {
      detail: 'INSERT on a cluster',
      message: update('insert into none values (1)'),
      engine: 'scheduler',
      read: NOT_READABLE,
      put: { operation: 'appendQuery', target: 'scheduler', ...NO_FRAME },
      hasRows: false,
    },
    {
      detail: 'COMMIT',
      message: update('commit'),
      read: NOT_READABLE,
      put: {},
      hasRows: false,
    },
  ],
  CommandStatementIngest: [
    { detail: 'append', message: ingest(1, 2), read: NOT_READABLE, put: { operation: 'appendFrame' } },
    {
      detail: 'append to an existing table',
      message: ingest(2, 2, 'none'),
      read: NOT_READABLE,
      put: { operation: 'appendFrame', ...NO_FRAME, audited: 'version_conflict' },
    },
    { detail: 'replace', message: ingest(1, 3), read: NOT_READABLE, put: { operation: 'putFrame' } },
  ],
};

/** Every way to use Flight SQL: each command with each method that takes a descriptor. */
export const FLIGHT_SQL_WAYS: readonly Way[] = Object.entries(COMMANDS).flatMap(([name, rows]) =>
  [rows].flat().flatMap((row): Way[] => waysOf(name, row)),
);

function waysOf(name: string, row: CommandRow): Way[] {
  const { message, detail, read = {}, poll = read, schema = poll, put = NO_DATA, hasRows = true } = row;
  const send: typeof flights = (run) =>
    flights((client, options, target) => run(client, onEngine(options, row.engine), target));
  const descriptor = (target: Target) => commandOf(name, message(target));
  const common = (method: string) =>
    ({ entries: [commandEntry(name), rpc(method)], detail: [method, detail].filter(Boolean).join(', ') }) as const;
  return [
    {
      ...common('GetFlightInfo'),
      ...read,
      send: send((client, options, target) => get(client, descriptor(target), options)),
    },
    {
      ...common('PollFlightInfo'),
      ...poll,
      send: send((client, options, target) => client.pollFlightInfo(descriptor(target), options)),
    },
    {
      ...common('GetSchema'),
      ...schema,
      send: send((client, options, target) => client.getSchema(descriptor(target), options)),
    },
    {
      ...common('DoPut'),
      ...put,
      send: send((client, options, target) => {
        const flightDescriptor = descriptor(target);
        return drain(client.doPut(hasRows ? upload(flightDescriptor) : one({ flightDescriptor }), options));
      }),
    },
  ];
}

/** Names the engine in the metadata. */
function onEngine(options: GrpcOptions, engine: string | undefined): GrpcOptions {
  return engine === undefined
    ? options
    : { ...options, metadata: Metadata(options.metadata).set('svc-engine', engine) };
}
