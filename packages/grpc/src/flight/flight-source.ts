import type { SqlValue } from '@svc/frames';
import { QueryRequest } from '@svc/proto';
import type { EngineName } from '@svc/service';
import { engineFrom, sqlValueFrom, sqlValueMessage } from '../query-messages.ts';

/** A statement, the values of its parameters, and the engine that runs it. */
export interface BoundStatement {
  readonly sql: string;
  readonly params: readonly SqlValue[];
  readonly engine: EngineName;
}

/** The source of the data of a ticket. */
export type FlightSource =
  | { readonly kind: 'frame'; readonly handle: string }
  | ({ readonly kind: 'query' } & BoundStatement)
  /** A statement that changes frames but is run like a query; its result is empty. */
  | ({ readonly kind: 'update' } & BoundStatement)
  /** A Flight SQL command that asks for metadata. */
  | { readonly kind: 'command'; readonly command: Uint8Array };

const KINDS: readonly FlightSource['kind'][] = ['frame', 'query', 'update', 'command'];

/** Encodes a source as the content of a ticket. */
export function encodeSource(source: FlightSource): Uint8Array {
  return Buffer.concat([Uint8Array.of(KINDS.indexOf(source.kind)), payloadOf(source)]);
}

/** Decodes the source in the content of a ticket. */
export function decodeSource(content: Uint8Array): FlightSource {
  const kind = KINDS[content[0] ?? 0] ?? 'frame';
  const payload = content.subarray(1);
  if (kind === 'frame') return { kind, handle: Buffer.from(payload).toString() };
  if (kind === 'command') return { kind, command: payload };
  const { sql, params, engine } = QueryRequest.decode(payload);
  return { kind, sql, params: params.map(sqlValueFrom), engine: engineFrom(engine) ?? 'local' };
}

function payloadOf(source: FlightSource): Uint8Array {
  if (source.kind === 'frame') return Buffer.from(source.handle);
  if (source.kind === 'command') return source.command;
  const { sql, params, engine } = source;
  const request = QueryRequest.fromPartial({ sql, params: params.map(sqlValueMessage), engine });
  return QueryRequest.encode(request).finish();
}
