import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { SqlValue } from '@svc/frames';
import { flight, QueryRequest } from '@svc/proto';
import type { EngineName } from '@svc/service';
import { type Command, parseCommand } from '../flight-sql/command.ts';
import { engineFrom, sqlValueFrom, sqlValueMessage } from '../messages.ts';

/** A statement, the values of its parameters, and its engine. */
export interface BoundStatement {
  readonly sql: string;
  readonly params: readonly SqlValue[];
  readonly engine: EngineName;
}

/** The source of the data of a ticket. */
export type FlightSource =
  | { readonly kind: 'frame'; readonly handle: string }
  | ({ readonly kind: 'query' } & BoundStatement)
  /** A statement run like a query although it changes frames; its result is empty. */
  | ({ readonly kind: 'update' } & BoundStatement)
  /** A Flight SQL command for metadata. */
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

/** The target of a descriptor: a frame, or a Flight SQL command. */
type FlightTarget =
  { readonly kind: 'frame'; readonly handle: string } | { readonly kind: 'command'; readonly command: Command };

/** Parses a descriptor. */
export function flightTarget(descriptor: flight.FlightDescriptor | undefined): FlightTarget {
  const { PATH, CMD } = flight.FlightDescriptorDescriptorType;
  if (descriptor?.type === CMD) return { kind: 'command', command: parseCommand(descriptor.cmd) };
  if (descriptor?.type !== PATH) {
    throw new ServiceError('invalid_argument', 'The descriptor has neither a path nor a command.', { hint: PATH_HINT });
  }
  const [handle, ...more] = descriptor.path;
  if (handle === undefined || handle === '' || more.length > 0) {
    const path = descriptor.path.join('/');
    throw new ServiceError(
      'invalid_argument',
      `The path ${quoted(path)} of the descriptor does not have exactly one part.`,
      {
        hint: PATH_HINT,
      },
    );
  }
  return { kind: 'frame', handle };
}

const PATH_HINT = 'Use a path with one part, the handle of a frame.';
