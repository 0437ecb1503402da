import { ServiceError } from '@svc/errors';
import type { Call, FrameStream, ListedFrame } from '@svc/frames';
import { createYield } from '@svc/frames/async';
import { encapsulate, encodeArrowSchema } from '@svc/frames/ipc';
import { sqlNames } from '@svc/frames/sql';
import { CATALOG, SCHEMA, TABLE_TYPE } from '@svc/frames/statements';
import type { flightSql } from '@svc/proto';
import type { Service } from '@svc/service';
import { Binary, Bool, type DataType, Field, Int32, List, Schema, Uint8, Utf8 } from 'apache-arrow';
import type { CountedCall } from '../call/calls.ts';
import { withColumnMetadata } from './column-metadata.ts';
import type { Command } from './command.ts';
import { likePattern } from './like-pattern.ts';
import { smallTable } from './small-table.ts';
import { SQL_INFO_SCHEMA, sqlInfo } from './sql-info.ts';

const utf8 = new Utf8();
const int32 = new Int32();
const bool = new Bool();
const optional = (name: string, type: DataType = utf8): Field => new Field(name, type, true);
const required = (name: string, type: DataType = utf8): Field => new Field(name, type, false);

// Clients compare these schemas exactly.
const CATALOGS_SCHEMA: Schema = new Schema([required('catalog_name')]);

const DB_SCHEMAS_SCHEMA: Schema = new Schema([optional('catalog_name'), required('db_schema_name')]);

const TABLE_TYPES_SCHEMA: Schema = new Schema([required('table_type')]);

const TABLE_FIELDS = [
  optional('catalog_name'),
  optional('db_schema_name'),
  required('table_name'),
  required('table_type'),
];

const TABLES_SCHEMA: Schema = new Schema(TABLE_FIELDS);

const TABLES_WITH_SCHEMAS_SCHEMA: Schema = new Schema([...TABLE_FIELDS, required('table_schema', new Binary())]);

const PRIMARY_KEYS_SCHEMA: Schema = new Schema([
  optional('catalog_name'),
  optional('db_schema_name'),
  required('table_name'),
  required('column_name'),
  required('key_sequence', int32),
  optional('key_name'),
]);

const FOREIGN_KEYS_SCHEMA: Schema = new Schema([
  optional('pk_catalog_name'),
  optional('pk_db_schema_name'),
  required('pk_table_name'),
  required('pk_column_name'),
  optional('fk_catalog_name'),
  optional('fk_db_schema_name'),
  required('fk_table_name'),
  required('fk_column_name'),
  required('key_sequence', int32),
  optional('fk_key_name'),
  optional('pk_key_name'),
  required('update_rule', new Uint8()),
  required('delete_rule', new Uint8()),
]);

const XDBC_TYPES_SCHEMA: Schema = new Schema([
  required('type_name'),
  required('data_type', int32),
  optional('column_size', int32),
  optional('literal_prefix'),
  optional('literal_suffix'),
  optional('create_params', new List(required('item'))),
  required('nullable', int32),
  required('case_sensitive', bool),
  required('searchable', int32),
  optional('unsigned_attribute', bool),
  required('fixed_prec_scale', bool),
  optional('auto_increment', bool),
  optional('local_type_name'),
  optional('minimum_scale', int32),
  optional('maximum_scale', int32),
  required('sql_data_type', int32),
  optional('datetime_subcode', int32),
  optional('num_prec_radix', int32),
  optional('interval_precision', int32),
]);

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

/** The radix of the size of a number. */
function radixOf({ name }: XdbcType): number {
  return name === 'FLOAT' || name === 'DOUBLE' ? 2 : 10;
}

/** A command for metadata instead of the rows of a frame. */
export type MetadataCommand = Extract<Command, { name: `CommandGet${string}` }>;

/** True for a command for metadata. */
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

/** A call for metadata, with the name of its client. */
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
  // The other commands ask for keys. Frames have none.
  return smallTable(metadataSchema(command), []);
}

/** True if the request can match the only schema. */
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
