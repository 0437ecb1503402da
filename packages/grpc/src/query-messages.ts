import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { SqlValue } from '@svc/frames';
import { type Partially, SqlValue as SqlValueMessage } from '@svc/proto';
import { ENGINE_NAMES, type EngineName, SQL_TARGETS, type SqlTarget } from '@svc/service';

/** Returns the statement of a request. Throws if it is empty. */
export function sqlFrom(sql: string): string {
  if (sql.trim() !== '') return sql;
  throw new ServiceError('invalid_argument', 'The field sql is empty.', { hint: 'Set sql to one SQL statement.' });
}

/** Returns the engine that runs a statement; undefined if the client names none. */
export function engineFrom(engine: string): EngineName | undefined {
  return nameFrom(engine, ENGINE_NAMES);
}

/** Returns the engine whose result is stored; undefined if the client names none. */
export function keepEngineFrom(engine: string): SqlTarget | undefined {
  return nameFrom(engine, SQL_TARGETS);
}

/** Converts a message to a parameter value. */
export function sqlValueFrom(message: SqlValueMessage): SqlValue {
  const { boolValue, intValue, doubleValue, stringValue, bytesValue, typedValue } = message;
  // Give a double its type: without one, a whole number would become an integer.
  if (doubleValue !== undefined) return { type: 'DOUBLE', text: String(doubleValue) };
  return boolValue ?? intValue ?? stringValue ?? bytesValue ?? typedValue ?? null;
}

/** Converts a parameter value to a message. */
export function sqlValueMessage(value: SqlValue): SqlValueMessage {
  if (value === null) return SqlValueMessage.fromPartial({});
  if (typeof value === 'boolean') return SqlValueMessage.fromPartial({ boolValue: value });
  if (typeof value === 'bigint') return SqlValueMessage.fromPartial(bigintPart(value));
  if (typeof value === 'number') return SqlValueMessage.fromPartial({ doubleValue: value });
  if (typeof value === 'string') return SqlValueMessage.fromPartial({ stringValue: value });
  if (value instanceof Uint8Array) return SqlValueMessage.fromPartial({ bytesValue: value });
  return SqlValueMessage.fromPartial({ typedValue: value });
}

function bigintPart(value: bigint): Partially<SqlValueMessage> {
  const isLong = BigInt.asIntN(64, value) === value;
  return isLong ? { intValue: value } : { typedValue: { type: 'HUGEINT', text: String(value) } };
}

function nameFrom<Name extends SqlTarget>(engine: string, names: readonly Name[]): Name | undefined {
  if (engine === '') return undefined;
  const known = names.find((name) => name === engine);
  if (known !== undefined) return known;
  throw new ServiceError('invalid_argument', `There is no engine ${quoted(engine)}.`, {
    hint: `Set engine to ${names.join(' or ')}, or leave it out.`,
  });
}
