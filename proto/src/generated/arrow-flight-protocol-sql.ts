// Written by the script "generate" from arrow/flight/protocol/sql/flight_sql.proto: make changes there.
import protobuf from 'protobufjs/minimal.js';
import { bigintFromLong, longFromBigint, type Partially } from '../codec.ts';

/** Requests information about the server and its SQL. */
export interface CommandGetSqlInfo {
  /** The numbers of the requested values; empty = all. */
  readonly info: readonly number[];
}

/** Writes and reads `CommandGetSqlInfo`. */
export const CommandGetSqlInfo = {
  encode(message: CommandGetSqlInfo, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.info.length > 0) {
      writer.uint32(10).fork();
      for (const item of message.info) writer.uint32(item);
      writer.ldelim();
    }
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): CommandGetSqlInfo {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    const info: number[] = [];
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 8:
          info.push(reader.uint32());
          break;
        case 10:
          for (const stop = reader.uint32() + reader.pos; reader.pos < stop; ) info.push(reader.uint32());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('CommandGetSqlInfo ends inside a field.');
    return { info };
  },

  fromPartial(partial: Partially<CommandGetSqlInfo>): CommandGetSqlInfo {
    return {
      info: partial.info ?? [],
    };
  },
};

/** Requests the types of columns. */
export interface CommandGetXdbcTypeInfo {
  /** Only those with this XDBC type. */
  readonly dataType: number | undefined;
}

/** Writes and reads `CommandGetXdbcTypeInfo`. */
export const CommandGetXdbcTypeInfo = {
  encode(message: CommandGetXdbcTypeInfo, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.dataType !== undefined) writer.uint32(8).int32(message.dataType);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): CommandGetXdbcTypeInfo {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let dataType: number | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 8:
          dataType = reader.int32();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('CommandGetXdbcTypeInfo ends inside a field.');
    return { dataType };
  },

  fromPartial(partial: Partially<CommandGetXdbcTypeInfo>): CommandGetXdbcTypeInfo {
    return {
      dataType: partial.dataType,
    };
  },
};

/** Requests the catalogs. */
export interface CommandGetCatalogs {
}

/** Writes and reads `CommandGetCatalogs`. */
export const CommandGetCatalogs = {
  encode(_message: CommandGetCatalogs, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): CommandGetCatalogs {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    while (reader.pos < end) {
      const tag = reader.uint32();
      reader.skipType(tag & 7);
    }
    if (reader.pos !== end) throw new RangeError('CommandGetCatalogs ends inside a field.');
    return {  };
  },

  fromPartial(_partial: Partially<CommandGetCatalogs>): CommandGetCatalogs {
    return {
    };
  },
};

/** Requests the schemas. */
export interface CommandGetDbSchemas {
  /** Only in this catalog. */
  readonly catalog: string | undefined;
  /** Only those that match this pattern, with `%` for any text and `_` for any character. */
  readonly dbSchemaFilterPattern: string | undefined;
}

/** Writes and reads `CommandGetDbSchemas`. */
export const CommandGetDbSchemas = {
  encode(message: CommandGetDbSchemas, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.catalog !== undefined) writer.uint32(10).string(message.catalog);
    if (message.dbSchemaFilterPattern !== undefined) writer.uint32(18).string(message.dbSchemaFilterPattern);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): CommandGetDbSchemas {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let catalog: string | undefined;
    let dbSchemaFilterPattern: string | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          catalog = reader.string();
          break;
        case 18:
          dbSchemaFilterPattern = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('CommandGetDbSchemas ends inside a field.');
    return { catalog, dbSchemaFilterPattern };
  },

  fromPartial(partial: Partially<CommandGetDbSchemas>): CommandGetDbSchemas {
    return {
      catalog: partial.catalog,
      dbSchemaFilterPattern: partial.dbSchemaFilterPattern,
    };
  },
};

/** Requests the tables: the caller's frames. */
export interface CommandGetTables {
  /** Only in this catalog. */
  readonly catalog: string | undefined;
  /** Only in schemas that match this pattern. */
  readonly dbSchemaFilterPattern: string | undefined;
  /** Only those that match this pattern. */
  readonly tableNameFilterPattern: string | undefined;
  /** Only of these types; empty = all. */
  readonly tableTypes: readonly string[];
  /** Whether to add the Arrow schema of each. */
  readonly includeSchema: boolean;
}

/** Writes and reads `CommandGetTables`. */
export const CommandGetTables = {
  encode(message: CommandGetTables, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.catalog !== undefined) writer.uint32(10).string(message.catalog);
    if (message.dbSchemaFilterPattern !== undefined) writer.uint32(18).string(message.dbSchemaFilterPattern);
    if (message.tableNameFilterPattern !== undefined) writer.uint32(26).string(message.tableNameFilterPattern);
    for (const item of message.tableTypes) writer.uint32(34).string(item);
    if (message.includeSchema) writer.uint32(40).bool(message.includeSchema);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): CommandGetTables {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let catalog: string | undefined;
    let dbSchemaFilterPattern: string | undefined;
    let tableNameFilterPattern: string | undefined;
    const tableTypes: string[] = [];
    let includeSchema = false;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          catalog = reader.string();
          break;
        case 18:
          dbSchemaFilterPattern = reader.string();
          break;
        case 26:
          tableNameFilterPattern = reader.string();
          break;
        case 34:
          tableTypes.push(reader.string());
          break;
        case 40:
          includeSchema = reader.bool();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('CommandGetTables ends inside a field.');
    return { catalog, dbSchemaFilterPattern, tableNameFilterPattern, tableTypes, includeSchema };
  },

  fromPartial(partial: Partially<CommandGetTables>): CommandGetTables {
    return {
      catalog: partial.catalog,
      dbSchemaFilterPattern: partial.dbSchemaFilterPattern,
      tableNameFilterPattern: partial.tableNameFilterPattern,
      tableTypes: partial.tableTypes ?? [],
      includeSchema: partial.includeSchema ?? false,
    };
  },
};

/** Requests the types of tables. */
export interface CommandGetTableTypes {
}

/** Writes and reads `CommandGetTableTypes`. */
export const CommandGetTableTypes = {
  encode(_message: CommandGetTableTypes, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): CommandGetTableTypes {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    while (reader.pos < end) {
      const tag = reader.uint32();
      reader.skipType(tag & 7);
    }
    if (reader.pos !== end) throw new RangeError('CommandGetTableTypes ends inside a field.');
    return {  };
  },

  fromPartial(_partial: Partially<CommandGetTableTypes>): CommandGetTableTypes {
    return {
    };
  },
};

/** Requests the primary key of a table: frames have none. */
export interface CommandGetPrimaryKeys {
  /** Its catalog. */
  readonly catalog: string | undefined;
  /** Its schema. */
  readonly dbSchema: string | undefined;
  /** Its name. */
  readonly table: string;
}

/** Writes and reads `CommandGetPrimaryKeys`. */
export const CommandGetPrimaryKeys = {
  encode(message: CommandGetPrimaryKeys, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.catalog !== undefined) writer.uint32(10).string(message.catalog);
    if (message.dbSchema !== undefined) writer.uint32(18).string(message.dbSchema);
    if (message.table !== '') writer.uint32(26).string(message.table);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): CommandGetPrimaryKeys {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let catalog: string | undefined;
    let dbSchema: string | undefined;
    let table = '';
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          catalog = reader.string();
          break;
        case 18:
          dbSchema = reader.string();
          break;
        case 26:
          table = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('CommandGetPrimaryKeys ends inside a field.');
    return { catalog, dbSchema, table };
  },

  fromPartial(partial: Partially<CommandGetPrimaryKeys>): CommandGetPrimaryKeys {
    return {
      catalog: partial.catalog,
      dbSchema: partial.dbSchema,
      table: partial.table ?? '',
    };
  },
};

/** Requests the foreign keys that refer to a table: none. */
export interface CommandGetExportedKeys {
  /** Its catalog. */
  readonly catalog: string | undefined;
  /** Its schema. */
  readonly dbSchema: string | undefined;
  /** Its name. */
  readonly table: string;
}

/** Writes and reads `CommandGetExportedKeys`. */
export const CommandGetExportedKeys = {
  encode(message: CommandGetExportedKeys, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.catalog !== undefined) writer.uint32(10).string(message.catalog);
    if (message.dbSchema !== undefined) writer.uint32(18).string(message.dbSchema);
    if (message.table !== '') writer.uint32(26).string(message.table);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): CommandGetExportedKeys {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let catalog: string | undefined;
    let dbSchema: string | undefined;
    let table = '';
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          catalog = reader.string();
          break;
        case 18:
          dbSchema = reader.string();
          break;
        case 26:
          table = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('CommandGetExportedKeys ends inside a field.');
    return { catalog, dbSchema, table };
  },

  fromPartial(partial: Partially<CommandGetExportedKeys>): CommandGetExportedKeys {
    return {
      catalog: partial.catalog,
      dbSchema: partial.dbSchema,
      table: partial.table ?? '',
    };
  },
};

/** Requests the foreign keys of a table: none. */
export interface CommandGetImportedKeys {
  /** Its catalog. */
  readonly catalog: string | undefined;
  /** Its schema. */
  readonly dbSchema: string | undefined;
  /** Its name. */
  readonly table: string;
}

/** Writes and reads `CommandGetImportedKeys`. */
export const CommandGetImportedKeys = {
  encode(message: CommandGetImportedKeys, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.catalog !== undefined) writer.uint32(10).string(message.catalog);
    if (message.dbSchema !== undefined) writer.uint32(18).string(message.dbSchema);
    if (message.table !== '') writer.uint32(26).string(message.table);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): CommandGetImportedKeys {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let catalog: string | undefined;
    let dbSchema: string | undefined;
    let table = '';
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          catalog = reader.string();
          break;
        case 18:
          dbSchema = reader.string();
          break;
        case 26:
          table = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('CommandGetImportedKeys ends inside a field.');
    return { catalog, dbSchema, table };
  },

  fromPartial(partial: Partially<CommandGetImportedKeys>): CommandGetImportedKeys {
    return {
      catalog: partial.catalog,
      dbSchema: partial.dbSchema,
      table: partial.table ?? '',
    };
  },
};

/** Requests the foreign keys of a table that refer to another one: none. */
export interface CommandGetCrossReference {
  /** The catalog of the referenced table. */
  readonly pkCatalog: string | undefined;
  /** Its schema. */
  readonly pkDbSchema: string | undefined;
  /** Its name. */
  readonly pkTable: string;
  /** The catalog of the referencing table. */
  readonly fkCatalog: string | undefined;
  /** Its schema. */
  readonly fkDbSchema: string | undefined;
  /** Its name. */
  readonly fkTable: string;
}

/** Writes and reads `CommandGetCrossReference`. */
export const CommandGetCrossReference = {
  encode(message: CommandGetCrossReference, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.pkCatalog !== undefined) writer.uint32(10).string(message.pkCatalog);
    if (message.pkDbSchema !== undefined) writer.uint32(18).string(message.pkDbSchema);
    if (message.pkTable !== '') writer.uint32(26).string(message.pkTable);
    if (message.fkCatalog !== undefined) writer.uint32(34).string(message.fkCatalog);
    if (message.fkDbSchema !== undefined) writer.uint32(42).string(message.fkDbSchema);
    if (message.fkTable !== '') writer.uint32(50).string(message.fkTable);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): CommandGetCrossReference {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let pkCatalog: string | undefined;
    let pkDbSchema: string | undefined;
    let pkTable = '';
    let fkCatalog: string | undefined;
    let fkDbSchema: string | undefined;
    let fkTable = '';
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          pkCatalog = reader.string();
          break;
        case 18:
          pkDbSchema = reader.string();
          break;
        case 26:
          pkTable = reader.string();
          break;
        case 34:
          fkCatalog = reader.string();
          break;
        case 42:
          fkDbSchema = reader.string();
          break;
        case 50:
          fkTable = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('CommandGetCrossReference ends inside a field.');
    return { pkCatalog, pkDbSchema, pkTable, fkCatalog, fkDbSchema, fkTable };
  },

  fromPartial(partial: Partially<CommandGetCrossReference>): CommandGetCrossReference {
    return {
      pkCatalog: partial.pkCatalog,
      pkDbSchema: partial.pkDbSchema,
      pkTable: partial.pkTable ?? '',
      fkCatalog: partial.fkCatalog,
      fkDbSchema: partial.fkDbSchema,
      fkTable: partial.fkTable ?? '',
    };
  },
};

/** Requests a prepared statement. */
export interface ActionCreatePreparedStatementRequest {
  /** The SQL. */
  readonly query: string;
  /** Absent: transactions are not supported. */
  readonly transactionId: Uint8Array | undefined;
}

/** Writes and reads `ActionCreatePreparedStatementRequest`. */
export const ActionCreatePreparedStatementRequest = {
  encode(message: ActionCreatePreparedStatementRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.query !== '') writer.uint32(10).string(message.query);
    if (message.transactionId !== undefined) writer.uint32(18).bytes(message.transactionId);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ActionCreatePreparedStatementRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let query = '';
    let transactionId: Uint8Array | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          query = reader.string();
          break;
        case 18:
          transactionId = reader.bytes();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ActionCreatePreparedStatementRequest ends inside a field.');
    return { query, transactionId };
  },

  fromPartial(partial: Partially<ActionCreatePreparedStatementRequest>): ActionCreatePreparedStatementRequest {
    return {
      query: partial.query ?? '',
      transactionId: partial.transactionId,
    };
  },
};

/** A prepared statement. */
export interface ActionCreatePreparedStatementResult {
  /** The handle. Only the tenant that it was issued to can use it, for a limited time. */
  readonly preparedStatementHandle: Uint8Array;
  /** The result schema: an encapsulated Arrow IPC message; empty for an update. */
  readonly datasetSchema: Uint8Array;
  /** The parameter schema; empty if there are no parameters. */
  readonly parameterSchema: Uint8Array;
  /** Whether the statement changes frames. */
  readonly isUpdate: boolean | undefined;
}

/** Writes and reads `ActionCreatePreparedStatementResult`. */
export const ActionCreatePreparedStatementResult = {
  encode(message: ActionCreatePreparedStatementResult, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.preparedStatementHandle.length > 0) writer.uint32(10).bytes(message.preparedStatementHandle);
    if (message.datasetSchema.length > 0) writer.uint32(18).bytes(message.datasetSchema);
    if (message.parameterSchema.length > 0) writer.uint32(26).bytes(message.parameterSchema);
    if (message.isUpdate !== undefined) writer.uint32(32).bool(message.isUpdate);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ActionCreatePreparedStatementResult {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let preparedStatementHandle: Uint8Array = new Uint8Array(0);
    let datasetSchema: Uint8Array = new Uint8Array(0);
    let parameterSchema: Uint8Array = new Uint8Array(0);
    let isUpdate: boolean | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          preparedStatementHandle = reader.bytes();
          break;
        case 18:
          datasetSchema = reader.bytes();
          break;
        case 26:
          parameterSchema = reader.bytes();
          break;
        case 32:
          isUpdate = reader.bool();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ActionCreatePreparedStatementResult ends inside a field.');
    return { preparedStatementHandle, datasetSchema, parameterSchema, isUpdate };
  },

  fromPartial(partial: Partially<ActionCreatePreparedStatementResult>): ActionCreatePreparedStatementResult {
    return {
      preparedStatementHandle: partial.preparedStatementHandle ?? new Uint8Array(0),
      datasetSchema: partial.datasetSchema ?? new Uint8Array(0),
      parameterSchema: partial.parameterSchema ?? new Uint8Array(0),
      isUpdate: partial.isUpdate,
    };
  },
};

/** Closes a prepared statement. */
export interface ActionClosePreparedStatementRequest {
  /** The handle of the statement. */
  readonly preparedStatementHandle: Uint8Array;
}

/** Writes and reads `ActionClosePreparedStatementRequest`. */
export const ActionClosePreparedStatementRequest = {
  encode(message: ActionClosePreparedStatementRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.preparedStatementHandle.length > 0) writer.uint32(10).bytes(message.preparedStatementHandle);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ActionClosePreparedStatementRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let preparedStatementHandle: Uint8Array = new Uint8Array(0);
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          preparedStatementHandle = reader.bytes();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ActionClosePreparedStatementRequest ends inside a field.');
    return { preparedStatementHandle };
  },

  fromPartial(partial: Partially<ActionClosePreparedStatementRequest>): ActionClosePreparedStatementRequest {
    return {
      preparedStatementHandle: partial.preparedStatementHandle ?? new Uint8Array(0),
    };
  },
};

/** A query. */
export interface CommandStatementQuery {
  /** The SQL. */
  readonly query: string;
  /** Absent: transactions are not supported. */
  readonly transactionId: Uint8Array | undefined;
}

/** Writes and reads `CommandStatementQuery`. */
export const CommandStatementQuery = {
  encode(message: CommandStatementQuery, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.query !== '') writer.uint32(10).string(message.query);
    if (message.transactionId !== undefined) writer.uint32(18).bytes(message.transactionId);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): CommandStatementQuery {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let query = '';
    let transactionId: Uint8Array | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          query = reader.string();
          break;
        case 18:
          transactionId = reader.bytes();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('CommandStatementQuery ends inside a field.');
    return { query, transactionId };
  },

  fromPartial(partial: Partially<CommandStatementQuery>): CommandStatementQuery {
    return {
      query: partial.query ?? '',
      transactionId: partial.transactionId,
    };
  },
};

/** Runs a prepared query, or (in DoPut) binds its parameters. */
export interface CommandPreparedStatementQuery {
  /** The handle of the statement. */
  readonly preparedStatementHandle: Uint8Array;
}

/** Writes and reads `CommandPreparedStatementQuery`. */
export const CommandPreparedStatementQuery = {
  encode(message: CommandPreparedStatementQuery, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.preparedStatementHandle.length > 0) writer.uint32(10).bytes(message.preparedStatementHandle);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): CommandPreparedStatementQuery {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let preparedStatementHandle: Uint8Array = new Uint8Array(0);
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          preparedStatementHandle = reader.bytes();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('CommandPreparedStatementQuery ends inside a field.');
    return { preparedStatementHandle };
  },

  fromPartial(partial: Partially<CommandPreparedStatementQuery>): CommandPreparedStatementQuery {
    return {
      preparedStatementHandle: partial.preparedStatementHandle ?? new Uint8Array(0),
    };
  },
};

/** Changes frames: CREATE TABLE … AS, DROP TABLE. */
export interface CommandStatementUpdate {
  /** The SQL. */
  readonly query: string;
  /** Absent: transactions are not supported. */
  readonly transactionId: Uint8Array | undefined;
}

/** Writes and reads `CommandStatementUpdate`. */
export const CommandStatementUpdate = {
  encode(message: CommandStatementUpdate, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.query !== '') writer.uint32(10).string(message.query);
    if (message.transactionId !== undefined) writer.uint32(18).bytes(message.transactionId);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): CommandStatementUpdate {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let query = '';
    let transactionId: Uint8Array | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          query = reader.string();
          break;
        case 18:
          transactionId = reader.bytes();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('CommandStatementUpdate ends inside a field.');
    return { query, transactionId };
  },

  fromPartial(partial: Partially<CommandStatementUpdate>): CommandStatementUpdate {
    return {
      query: partial.query ?? '',
      transactionId: partial.transactionId,
    };
  },
};

/** Runs a prepared statement that changes frames. */
export interface CommandPreparedStatementUpdate {
  /** The handle of the statement. */
  readonly preparedStatementHandle: Uint8Array;
}

/** Writes and reads `CommandPreparedStatementUpdate`. */
export const CommandPreparedStatementUpdate = {
  encode(message: CommandPreparedStatementUpdate, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.preparedStatementHandle.length > 0) writer.uint32(10).bytes(message.preparedStatementHandle);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): CommandPreparedStatementUpdate {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let preparedStatementHandle: Uint8Array = new Uint8Array(0);
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          preparedStatementHandle = reader.bytes();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('CommandPreparedStatementUpdate ends inside a field.');
    return { preparedStatementHandle };
  },

  fromPartial(partial: Partially<CommandPreparedStatementUpdate>): CommandPreparedStatementUpdate {
    return {
      preparedStatementHandle: partial.preparedStatementHandle ?? new Uint8Array(0),
    };
  },
};

/** What to do if the table does not exist. */
export const CommandStatementIngestTableDefinitionOptionsTableNotExistOption = {
  /** The same as TABLE_NOT_EXIST_OPTION_FAIL. */
  TABLE_NOT_EXIST_OPTION_UNSPECIFIED: 0,
  /** Create the table. */
  TABLE_NOT_EXIST_OPTION_CREATE: 1,
  /** Fail with NOT_FOUND. */
  TABLE_NOT_EXIST_OPTION_FAIL: 2,
} as const;
/** A number of `CommandStatementIngestTableDefinitionOptionsTableNotExistOption`, or one that a newer peer knows. */
export type CommandStatementIngestTableDefinitionOptionsTableNotExistOption = number;

/** What to do if the table exists. */
export const CommandStatementIngestTableDefinitionOptionsTableExistsOption = {
  /** The same as TABLE_EXISTS_OPTION_FAIL. */
  TABLE_EXISTS_OPTION_UNSPECIFIED: 0,
  /** Fail with ALREADY_EXISTS. */
  TABLE_EXISTS_OPTION_FAIL: 1,
  /** Append the rows. */
  TABLE_EXISTS_OPTION_APPEND: 2,
  /** Replace the table. */
  TABLE_EXISTS_OPTION_REPLACE: 3,
} as const;
/** A number of `CommandStatementIngestTableDefinitionOptionsTableExistsOption`, or one that a newer peer knows. */
export type CommandStatementIngestTableDefinitionOptionsTableExistsOption = number;

/** What to do if the table exists, and if it does not. */
export interface CommandStatementIngestTableDefinitionOptions {
  /** If the table does not exist. */
  readonly ifNotExist: CommandStatementIngestTableDefinitionOptionsTableNotExistOption;
  /** If the table exists. */
  readonly ifExists: CommandStatementIngestTableDefinitionOptionsTableExistsOption;
}

/** Writes and reads `CommandStatementIngestTableDefinitionOptions`. */
export const CommandStatementIngestTableDefinitionOptions = {
  encode(message: CommandStatementIngestTableDefinitionOptions, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.ifNotExist !== 0) writer.uint32(8).int32(message.ifNotExist);
    if (message.ifExists !== 0) writer.uint32(16).int32(message.ifExists);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): CommandStatementIngestTableDefinitionOptions {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let ifNotExist = 0;
    let ifExists = 0;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 8:
          ifNotExist = reader.int32();
          break;
        case 16:
          ifExists = reader.int32();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('CommandStatementIngestTableDefinitionOptions ends inside a field.');
    return { ifNotExist, ifExists };
  },

  fromPartial(partial: Partially<CommandStatementIngestTableDefinitionOptions>): CommandStatementIngestTableDefinitionOptions {
    return {
      ifNotExist: partial.ifNotExist ?? 0,
      ifExists: partial.ifExists ?? 0,
    };
  },
};

/** Puts or appends the rows of the upload. */
export interface CommandStatementIngest {
  /** Whether to create, append or replace. */
  readonly tableDefinitionOptions: CommandStatementIngestTableDefinitionOptions | undefined;
  /** The name of the table: a handle. */
  readonly table: string;
  /** Its schema. */
  readonly schema: string | undefined;
  /** Its catalog. */
  readonly catalog: string | undefined;
  /** False: temporary tables are not supported. */
  readonly temporary: boolean;
  /** Absent: transactions are not supported. */
  readonly transactionId: Uint8Array | undefined;
  /** Server-specific options; this server has none. */
  readonly options: ReadonlyMap<string, string>;
}

/** Writes and reads `CommandStatementIngest`. */
export const CommandStatementIngest = {
  encode(message: CommandStatementIngest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.tableDefinitionOptions !== undefined) CommandStatementIngestTableDefinitionOptions.encode(message.tableDefinitionOptions, writer.uint32(10).fork()).ldelim();
    if (message.table !== '') writer.uint32(18).string(message.table);
    if (message.schema !== undefined) writer.uint32(26).string(message.schema);
    if (message.catalog !== undefined) writer.uint32(34).string(message.catalog);
    if (message.temporary) writer.uint32(40).bool(message.temporary);
    if (message.transactionId !== undefined) writer.uint32(50).bytes(message.transactionId);
    for (const [key, value] of message.options) {
      writer.uint32(8002).fork().uint32(10).string(key);
      writer.uint32(18).string(value);
      writer.ldelim();
    }
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): CommandStatementIngest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let tableDefinitionOptions: CommandStatementIngestTableDefinitionOptions | undefined;
    let table = '';
    let schema: string | undefined;
    let catalog: string | undefined;
    let temporary = false;
    let transactionId: Uint8Array | undefined;
    const options = new Map<string, string>();
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          tableDefinitionOptions = CommandStatementIngestTableDefinitionOptions.decode(reader, reader.uint32());
          break;
        case 18:
          table = reader.string();
          break;
        case 26:
          schema = reader.string();
          break;
        case 34:
          catalog = reader.string();
          break;
        case 40:
          temporary = reader.bool();
          break;
        case 50:
          transactionId = reader.bytes();
          break;
        case 8002: {
          const stop = reader.uint32() + reader.pos;
          let key = '';
          let value: string = '';
          while (reader.pos < stop) {
            const part = reader.uint32();
            if (part === 10) key = reader.string();
            else if (part === 18) value = reader.string();
            else reader.skipType(part & 7);
          }
          options.set(key, value);
          break;
        }
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('CommandStatementIngest ends inside a field.');
    return { tableDefinitionOptions, table, schema, catalog, temporary, transactionId, options };
  },

  fromPartial(partial: Partially<CommandStatementIngest>): CommandStatementIngest {
    return {
      tableDefinitionOptions: partial.tableDefinitionOptions === undefined ? undefined : CommandStatementIngestTableDefinitionOptions.fromPartial(partial.tableDefinitionOptions),
      table: partial.table ?? '',
      schema: partial.schema,
      catalog: partial.catalog,
      temporary: partial.temporary ?? false,
      transactionId: partial.transactionId,
      options: partial.options ?? new Map(),
    };
  },
};

/** The result of an update or ingest. */
export interface DoPutUpdateResult {
  /** The number of rows; -1 = unknown. */
  readonly recordCount: bigint;
}

/** Writes and reads `DoPutUpdateResult`. */
export const DoPutUpdateResult = {
  encode(message: DoPutUpdateResult, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.recordCount !== 0n) writer.uint32(8).int64(longFromBigint(message.recordCount));
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): DoPutUpdateResult {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let recordCount = 0n;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 8:
          recordCount = bigintFromLong(reader.int64());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('DoPutUpdateResult ends inside a field.');
    return { recordCount };
  },

  fromPartial(partial: Partially<DoPutUpdateResult>): DoPutUpdateResult {
    return {
      recordCount: partial.recordCount ?? 0n,
    };
  },
};

/** The result of binding the parameters of a prepared statement. */
export interface DoPutPreparedStatementResult {
  /** The handle of the statement from now on. */
  readonly preparedStatementHandle: Uint8Array | undefined;
}

/** Writes and reads `DoPutPreparedStatementResult`. */
export const DoPutPreparedStatementResult = {
  encode(message: DoPutPreparedStatementResult, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.preparedStatementHandle !== undefined) writer.uint32(10).bytes(message.preparedStatementHandle);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): DoPutPreparedStatementResult {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let preparedStatementHandle: Uint8Array | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          preparedStatementHandle = reader.bytes();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('DoPutPreparedStatementResult ends inside a field.');
    return { preparedStatementHandle };
  },

  fromPartial(partial: Partially<DoPutPreparedStatementResult>): DoPutPreparedStatementResult {
    return {
      preparedStatementHandle: partial.preparedStatementHandle,
    };
  },
};

/** What to cancel, from older clients. */
export interface ActionCancelQueryRequest {
  /** A serialized FlightInfo. */
  readonly info: Uint8Array;
}

/** Writes and reads `ActionCancelQueryRequest`. */
export const ActionCancelQueryRequest = {
  encode(message: ActionCancelQueryRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.info.length > 0) writer.uint32(10).bytes(message.info);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ActionCancelQueryRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let info: Uint8Array = new Uint8Array(0);
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          info = reader.bytes();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ActionCancelQueryRequest ends inside a field.');
    return { info };
  },

  fromPartial(partial: Partially<ActionCancelQueryRequest>): ActionCancelQueryRequest {
    return {
      info: partial.info ?? new Uint8Array(0),
    };
  },
};

/** The outcomes of a cancellation. */
export const ActionCancelQueryResultCancelResult = {
  /** Unknown. */
  CANCEL_RESULT_UNSPECIFIED: 0,
  /** It was running and was cancelled. */
  CANCEL_RESULT_CANCELLED: 1,
  /** It is being cancelled. */
  CANCEL_RESULT_CANCELLING: 2,
  /** It was not running. */
  CANCEL_RESULT_NOT_CANCELLABLE: 3,
} as const;
/** A number of `ActionCancelQueryResultCancelResult`, or one that a newer peer knows. */
export type ActionCancelQueryResultCancelResult = number;

/** The result of a cancellation, for older clients. */
export interface ActionCancelQueryResult {
  /** The outcome. */
  readonly result: ActionCancelQueryResultCancelResult;
}

/** Writes and reads `ActionCancelQueryResult`. */
export const ActionCancelQueryResult = {
  encode(message: ActionCancelQueryResult, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.result !== 0) writer.uint32(8).int32(message.result);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ActionCancelQueryResult {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let result = 0;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 8:
          result = reader.int32();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ActionCancelQueryResult ends inside a field.');
    return { result };
  },

  fromPartial(partial: Partially<ActionCancelQueryResult>): ActionCancelQueryResult {
    return {
      result: partial.result ?? 0,
    };
  },
};
