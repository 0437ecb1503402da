import { ServiceError } from '@svc/errors';
import type { Call, FrameStream, ListedFrame } from '@svc/frames';
import { createYield, encapsulate, encodeArrowSchema, sqlNames } from '@svc/frames/internal';
import type { flightSql } from '@svc/proto';
import type { Service } from '@svc/service';
import { Schema } from 'apache-arrow';
import { CATALOG, SCHEMA, TABLE_TYPE } from '@svc/frames/statements';
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
import { smallTable } from './small-table.ts';
import { SQL_INFO_SCHEMA, sqlInfo } from './sql-info.ts';
import { xdbcTypes } from './xdbc-types.ts';

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
