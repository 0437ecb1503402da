import { ServiceError } from '@svc/errors';
import type { Call, FrameStream, ListedFrame } from '@svc/frames';
import { createYield, encapsulate, encodeArrowSchema, sqlNames } from '@svc/frames/internal';
import { CATALOG, SCHEMA, TABLE_TYPE } from '@svc/frames/statements';
import type { flightSql } from '@svc/proto';
import type { Service } from '@svc/service';
import {
  Bool,
  DenseUnion,
  Field,
  Int32,
  Int64,
  List,
  makeData,
  Map_ as ArrowMap,
  Schema,
  Struct,
  Uint32,
  Utf8,
} from 'apache-arrow';
import type { CountedCall } from '../call-traffic.ts';
import { withColumnMetadata } from './column-metadata.ts';
import type { Command } from './command.ts';
import { likePattern } from './like-pattern.ts';
import {
  CATALOGS_SCHEMA,
  DB_SCHEMAS_SCHEMA,
  FOREIGN_KEYS_SCHEMA,
  PRIMARY_KEYS_SCHEMA,
  TABLE_TYPES_SCHEMA,
  TABLES_SCHEMA,
  TABLES_WITH_SCHEMAS_SCHEMA,
  XDBC_TYPES_SCHEMA,
} from './metadata-schemas.ts';
import { columnOf, smallTable, streamOfColumns } from './small-table.ts';
import { type SqlInfoOptions, type SqlInfoValue, sqlInfoValues } from './sql-info-values.ts';

const ENTRIES = new Struct<{ key: Int32; value: List<Int32> }>([
  new Field('key', new Int32(), false),
  new Field('value', new List(new Field('item', new Int32(), true)), true),
]);

/** The kinds of values; the index of each is its type id in the union. */
const KINDS = [
  new Field('string_value', new Utf8(), false),
  new Field('bool_value', new Bool(), false),
  new Field('bigint_value', new Int64(), false),
  new Field('int32_bitmask', new Int32(), false),
  new Field('string_list', new List(new Field('item', new Utf8(), true)), false),
  new Field('int32_to_int32_list_map', new ArrowMap(new Field('entries', ENTRIES, false)), false),
];
const UNION = new DenseUnion(
  KINDS.map((_, i) => i),
  KINDS,
);

/** The schema of CommandGetSqlInfo. */
const SQL_INFO_SCHEMA: Schema = new Schema([
  new Field('info_name', new Uint32(), false),
  new Field('value', UNION, false),
]);

/** Returns the info values with these numbers, or all; unknown numbers are omitted. */
function sqlInfo(numbers: readonly number[], options: SqlInfoOptions): FrameStream {
  const all = sqlInfoValues(options);
  const asked = new Set(numbers);
  const wanted = [...all].filter(([number]) => asked.size === 0 || asked.has(number));
  const places = wanted.map(([, value]) => contentOf(value));
  const contents = KINDS.map((_, kind) => places.filter((place) => place.kind === kind));
  const union = makeData({
    type: UNION,
    length: wanted.length,
    nullCount: 0,
    typeIds: Int8Array.from(places, ({ kind }) => kind),
    valueOffsets: Int32Array.from(places, (place) => contents[place.kind]?.indexOf(place) ?? 0),
    children: KINDS.map((field, kind) => columnOf(field, contents[kind]?.map(({ content }) => content) ?? [])),
  });
  const names = makeData({ type: new Uint32(), data: Uint32Array.from(wanted, ([number]) => number) });
  return streamOfColumns(SQL_INFO_SCHEMA, wanted.length, [names, union]);
}

function contentOf(value: SqlInfoValue): { readonly kind: number; readonly content: unknown } {
  if (typeof value === 'string') return { kind: 0, content: value };
  if (typeof value === 'boolean') return { kind: 1, content: value };
  if (typeof value === 'bigint') return { kind: 2, content: value };
  if ('choice' in value) return { kind: 3, content: value.choice };
  return 'texts' in value ? { kind: 4, content: value.texts } : { kind: 5, content: value.conversions };
}

/** An SQL type in terms of XDBC. */
interface XdbcType {
  readonly name: string;
  /** The XDBC type code; negative codes are outside of its core. */
  readonly code: number;
  /** The most digits, characters or bytes of a value. */
  readonly size?: number;
  /** The prefix and suffix of literals, if they have any. */
  readonly literal?: readonly [prefix: string, suffix: string];
  readonly parameters?: readonly string[];
  readonly isNumber?: boolean;
  readonly isUnsigned?: boolean;
  readonly isFixedPoint?: boolean;
  readonly scale?: readonly [least: number, most: number];
  /** The general type and the subcode, for dates and times. */
  readonly time?: readonly [general: number, subcode: number];
  readonly isText?: boolean;
}

const QUOTES = ["'", "'"] as const;
const DATETIME = 9;
const INTERVAL = 10;

const TYPES: readonly XdbcType[] = [
  { name: 'BOOLEAN', code: -7, size: 1 },
  { name: 'TINYINT', code: -6, size: 3, isNumber: true },
  { name: 'BIGINT', code: -5, size: 19, isNumber: true },
  { name: 'UBIGINT', code: -5, size: 20, isNumber: true, isUnsigned: true },
  { name: 'BLOB', code: -3, literal: ["'", "'::BLOB"] },
  { name: 'VARCHAR', code: 12, literal: QUOTES, isText: true },
  { name: 'UUID', code: 1, size: 36, literal: ["'", "'::UUID"] },
  {
    name: 'DECIMAL',
    code: 3,
    size: 38,
    parameters: ['precision', 'scale'],
    isNumber: true,
    isFixedPoint: true,
    scale: [0, 38],
  },
  { name: 'HUGEINT', code: 2, size: 39, isNumber: true },
  { name: 'INTEGER', code: 4, size: 10, isNumber: true },
  { name: 'UINTEGER', code: 4, size: 10, isNumber: true, isUnsigned: true },
  { name: 'SMALLINT', code: 5, size: 5, isNumber: true },
  { name: 'USMALLINT', code: 5, size: 5, isNumber: true, isUnsigned: true },
  { name: 'UTINYINT', code: 5, size: 3, isNumber: true, isUnsigned: true },
  { name: 'FLOAT', code: 7, size: 24, isNumber: true },
  { name: 'DOUBLE', code: 8, size: 53, isNumber: true },
  { name: 'DATE', code: 91, size: 10, literal: ["DATE '", "'"], time: [DATETIME, 1] },
  { name: 'TIME', code: 92, size: 15, literal: ["TIME '", "'"], time: [DATETIME, 2] },
  { name: 'TIMESTAMP', code: 93, size: 26, literal: ["TIMESTAMP '", "'"], time: [DATETIME, 3] },
  { name: 'TIMESTAMP_NS', code: 93, size: 29, literal: ["TIMESTAMP_NS '", "'"], time: [DATETIME, 3] },
  { name: 'TIMESTAMP WITH TIME ZONE', code: 93, size: 32, literal: ["TIMESTAMPTZ '", "'"], time: [DATETIME, 5] },
  { name: 'INTERVAL', code: 10, literal: ["INTERVAL '", "'"], time: [INTERVAL, 110] },
];

/** Returns the XDBC types of columns, or only those with the given code. */
function xdbcTypes(code: number | undefined): FrameStream {
  const wanted = TYPES.filter((type) => code === undefined || type.code === code);
  return smallTable(XDBC_TYPES_SCHEMA, wanted.toSorted(byCodeAndName).map(rowOf));
}

function byCodeAndName(a: XdbcType, b: XdbcType): number {
  return a.code - b.code || (a.name < b.name ? -1 : 1);
}

const NULLABLE = 1;
const SEARCHABLE_BASIC = 2;
const SEARCHABLE_FULL = 3;

function rowOf(type: XdbcType): readonly unknown[] {
  const { isNumber = false, isText = false } = type;
  const [general, subcode] = type.time ?? [type.code, null];
  return [
    type.name,
    type.code,
    type.size ?? null,
    type.literal?.[0] ?? null,
    type.literal?.[1] ?? null,
    type.parameters ?? null,
    NULLABLE,
    isText,
    isText ? SEARCHABLE_FULL : SEARCHABLE_BASIC,
    isNumber ? (type.isUnsigned ?? false) : null,
    type.isFixedPoint ?? false,
    isNumber ? false : null,
    type.name,
    type.scale?.[0] ?? null,
    type.scale?.[1] ?? null,
    general,
    subcode,
    isNumber ? radixOf(type) : null,
    null,
  ];
}

/** The radix in which the size of a number is counted. */
function radixOf({ name }: XdbcType): number {
  return name === 'FLOAT' || name === 'DOUBLE' ? 2 : 10;
}

/** A command that asks for metadata instead of the rows of a frame. */
export type MetadataCommand = Extract<Command, { name: `CommandGet${string}` }>;

/** Whether a command asks for metadata. */
export function isMetadataCommand(command: Command): command is MetadataCommand {
  return command.name.startsWith('CommandGet');
}

/** Returns the result schema of a command. */
export function metadataSchema(command: MetadataCommand): Schema {
  if (command.name !== 'CommandGetTables') return SCHEMAS[command.name];
  return command.message.includeSchema ? TABLES_WITH_SCHEMAS_SCHEMA : TABLES_SCHEMA;
}

const SCHEMAS: Readonly<Record<Exclude<MetadataCommand['name'], 'CommandGetTables'>, Schema>> = {
  CommandGetCatalogs: CATALOGS_SCHEMA,
  CommandGetCrossReference: FOREIGN_KEYS_SCHEMA,
  CommandGetDbSchemas: DB_SCHEMAS_SCHEMA,
  CommandGetExportedKeys: FOREIGN_KEYS_SCHEMA,
  CommandGetImportedKeys: FOREIGN_KEYS_SCHEMA,
  CommandGetPrimaryKeys: PRIMARY_KEYS_SCHEMA,
  CommandGetSqlInfo: SQL_INFO_SCHEMA,
  CommandGetTableTypes: TABLE_TYPES_SCHEMA,
  CommandGetXdbcTypeInfo: XDBC_TYPES_SCHEMA,
};

/** A call that asks for metadata, with what its client calls itself. */
export type MetadataCall = Call & Pick<CountedCall, 'userAgent'>;

/** Returns the result of a command. */
export async function readMetadata(
  service: Service,
  call: MetadataCall,
  command: MetadataCommand,
): Promise<FrameStream> {
  if (command.name === 'CommandGetCatalogs') return smallTable(CATALOGS_SCHEMA, [[CATALOG]]);
  if (command.name === 'CommandGetTableTypes') return smallTable(TABLE_TYPES_SCHEMA, [[tableTypeFor(call)]]);
  if (command.name === 'CommandGetTables') return readTables(service, call, command.message);
  if (command.name === 'CommandGetXdbcTypeInfo') return xdbcTypes(command.message.dataType);
  if (command.name === 'CommandGetSqlInfo') return sqlInfo(command.message.info, service);
  if (command.name === 'CommandGetDbSchemas') {
    return smallTable(DB_SCHEMAS_SCHEMA, hasSchema(command.message) ? [[CATALOG, SCHEMA]] : []);
  }
  // The other commands ask for keys, which frames do not have.
  return smallTable(metadataSchema(command), []);
}

/** Whether the request can match the only schema. */
function hasSchema(asked: Pick<flightSql.CommandGetDbSchemas, 'catalog' | 'dbSchemaFilterPattern'>): boolean {
  return (asked.catalog ?? CATALOG) === CATALOG && likePattern(asked.dbSchemaFilterPattern)(SCHEMA);
}

/**
 * Returns the type of all tables. Drivers of ADBC call it `table`, those of JDBC `TABLE`: programs compare it with the word
 * that their driver has for other databases.
 */
function tableTypeFor({ userAgent = '' }: MetadataCall): string {
  return userAgent.startsWith('ADBC ') ? TABLE_TYPE.toLowerCase() : TABLE_TYPE;
}

async function readTables(
  service: Service,
  call: MetadataCall,
  asked: flightSql.CommandGetTables,
): Promise<FrameStream> {
  const { includeSchema, tableTypes } = asked;
  const isLike = likePattern(asked.tableNameFilterPattern);
  // Ignore case: Grafana asks for tables of the type `table`.
  const isType = tableTypes.length === 0 || tableTypes.some((type) => type.toUpperCase() === TABLE_TYPE);
  const isWanted = hasSchema(asked) && isType;
  const frames = isWanted ? await service.listFrames(call) : [];
  const type = tableTypeFor(call);
  async function* rows(): AsyncGenerator<readonly unknown[], void, undefined> {
    const turn = createYield();
    for (const frame of frames) {
      await turn();
      if (!isLike(frame.handle)) continue;
      const row = [CATALOG, SCHEMA, frame.handle, type];
      const schema = includeSchema ? await schemaOf(service, call, frame) : undefined;
      await turn();
      if (!includeSchema) yield row;
      else if (schema !== undefined) yield [...row, encapsulate(encodeArrowSchema(schema).header)];
    }
  }
  return smallTable(includeSchema ? TABLES_WITH_SCHEMAS_SCHEMA : TABLES_SCHEMA, rows());
}

/** Returns the schema of a frame with its SQL names; undefined if the list leaves it out. */
async function schemaOf(service: Service, call: Call, frame: ListedFrame): Promise<Schema | undefined> {
  const { handle } = frame;
  try {
    const reading = await service.readFrame(call, handle, { limit: 0 });
    reading.close();
    const { fields, metadata } = reading.stream.schema;
    const names = sqlNames(fields.map(({ name }) => name));
    const named = fields.map((field, i) => field.clone({ name: names[i] ?? field.name }));
    return withColumnMetadata(new Schema(named, metadata), handle);
  } catch (error) {
    if (isLeftOut(frame, error)) return undefined;
    throw error;
  }
}

/** True if a list leaves out a frame: it was dropped in the meantime, or its file turns out to be unreadable. */
export function isLeftOut({ rows }: ListedFrame, error: unknown): boolean {
  if (!(error instanceof ServiceError)) return false;
  const isUnreadable = rows === null && ['internal', 'invalid_data', 'payload_too_large'].includes(error.code);
  return isUnreadable || error.code === 'handle_not_found';
}
