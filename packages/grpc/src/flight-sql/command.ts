import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { Any, FLIGHT_SQL_TYPE_PREFIX, flightSql } from '@svc/proto';
import { type Codec, decodeRequest, REQUEST_HINT } from '../call/message-limits.ts';

/** A Flight SQL command, by the name of its message. */
export type Command = ReturnType<(typeof DECODERS)[keyof typeof DECODERS]['decode']>;

const DECODERS = {
  CommandGetCatalogs: decoder('CommandGetCatalogs', flightSql.CommandGetCatalogs),
  CommandGetCrossReference: decoder('CommandGetCrossReference', flightSql.CommandGetCrossReference),
  CommandGetDbSchemas: decoder('CommandGetDbSchemas', flightSql.CommandGetDbSchemas),
  CommandGetExportedKeys: decoder('CommandGetExportedKeys', flightSql.CommandGetExportedKeys),
  CommandGetImportedKeys: decoder('CommandGetImportedKeys', flightSql.CommandGetImportedKeys),
  CommandGetPrimaryKeys: decoder('CommandGetPrimaryKeys', flightSql.CommandGetPrimaryKeys),
  CommandGetSqlInfo: decoder('CommandGetSqlInfo', flightSql.CommandGetSqlInfo),
  CommandGetTables: decoder('CommandGetTables', flightSql.CommandGetTables),
  CommandGetTableTypes: decoder('CommandGetTableTypes', flightSql.CommandGetTableTypes),
  CommandGetXdbcTypeInfo: decoder('CommandGetXdbcTypeInfo', flightSql.CommandGetXdbcTypeInfo),
  CommandPreparedStatementQuery: decoder('CommandPreparedStatementQuery', flightSql.CommandPreparedStatementQuery),
  CommandPreparedStatementUpdate: decoder('CommandPreparedStatementUpdate', flightSql.CommandPreparedStatementUpdate),
  CommandStatementIngest: decoder('CommandStatementIngest', flightSql.CommandStatementIngest),
  CommandStatementQuery: decoder('CommandStatementQuery', flightSql.CommandStatementQuery),
  CommandStatementUpdate: decoder('CommandStatementUpdate', flightSql.CommandStatementUpdate),
} as const;

/** The names of all commands. */
export const COMMAND_NAMES: readonly string[] = Object.keys(DECODERS);

/** Parses the command of a descriptor. */
export function parseCommand(bytes: Uint8Array): Command {
  const { name, value } = unpack(bytes);
  if (!isKnown(name)) throw notOffered('command', name);
  const codec: Codec<Command> = DECODERS[name];
  return decodeMessage(name, codec, value);
}

/** Unpacks a Flight SQL message from an Any. Its name is without the package. */
export function unpack(bytes: Uint8Array): { readonly name: string; readonly value: Uint8Array } {
  const { typeUrl, value } = decodeMessage('Any', Any, bytes);
  if (!typeUrl.startsWith(FLIGHT_SQL_TYPE_PREFIX)) {
    throw new ServiceError('invalid_argument', `${quoted(typeUrl)} is not a message of Flight SQL.`, {
      hint: 'Send a message of arrow.flight.protocol.sql, packed in a google.protobuf.Any.',
    });
  }
  return { name: typeUrl.slice(FLIGHT_SQL_TYPE_PREFIX.length), value };
}

/** Decodes a message. Invalid bytes are an error of the client. */
export function decodeMessage<T>(name: string, codec: Codec<T>, bytes: Uint8Array): T {
  try {
    return decodeRequest(codec, bytes);
  } catch (cause) {
    throw new ServiceError('invalid_argument', `The bytes sent as ${quoted(name)} are not a valid message.`, {
      hint: REQUEST_HINT,
      cause,
    });
  }
}

/** Returns the error of an unsupported part of Flight SQL. */
export function notOffered(what: string, name: string): ServiceError {
  return new ServiceError('method_not_allowed', `This server has no ${what} ${quoted(name)}.`, {
    hint: 'CommandGetSqlInfo and ListActions list what is supported.',
  });
}

function isKnown(name: string): name is keyof typeof DECODERS {
  return Object.hasOwn(DECODERS, name);
}

function decoder<const Name extends string, Message>(
  name: Name,
  codec: Codec<Message>,
): Codec<{ readonly name: Name; readonly message: Message }> {
  return { decode: (input) => ({ name, message: codec.decode(input) }) };
}

/** Throws if a request has a transaction, because transactions are not supported. */
export function refuseTransaction(transactionId: Uint8Array | undefined): void {
  if (transactionId === undefined || transactionId.length === 0) return;
  throw new ServiceError(
    'invalid_argument',
    'The request names a transaction, but this server does not support transactions.',
    {
      hint: 'Every statement is committed on its own: leave the transaction out.',
    },
  );
}
