import { decodeBounded, type MessageBounds } from '@svc/proto';

/**
 * The most bytes of a message without rows: enough for a statement of one MiB, and little enough to decode within the
 * milliseconds that one call may keep the event loop.
 */
const MAX_REQUEST_BYTES = 1024 ** 2 + 64 * 1024;
/** The same for what clients return to the server: tickets, and infos with the schema of a wide result. */
const MAX_RETURNED_BYTES = 4 * 1024 ** 2;
/** The most bytes of a compressed message: grpc-js copies all of it in one step. */
export const MAX_DECOMPRESSED_BYTES = 8 * 1024 ** 2;

/** Enough to name all columns of the widest frame. */
const BOUNDS: MessageBounds = { maxNumbers: 12_000, maxTextBytes: MAX_REQUEST_BYTES };

const ROWS: ReadonlySet<string> = new Set(['DoPut', 'PutFrame']);
const RETURNED: ReadonlySet<string> = new Set(['DoGet', 'DoAction']);

/** Returns the most bytes of a message to a method. `maxBytes`: of a message with rows. */
export function messageLimit(path: string, maxBytes: number): number {
  const method = path.slice(path.lastIndexOf('/') + 1);
  if (ROWS.has(method)) return maxBytes;
  return Math.min(maxBytes, RETURNED.has(method) ? MAX_RETURNED_BYTES : MAX_REQUEST_BYTES);
}

/** Decodes a message. */
export type Codec<Message> = Parameters<typeof decodeBounded<Message>>[0];

/** A service whose methods read messages. */
interface Readable {
  readonly methods: Readonly<Record<string, { readonly requestType: Codec<unknown> }>>;
}

/** Returns the service with bounds on its messages. */
export function boundedService<Definition extends Readable>(definition: Definition): Definition {
  const methods = Object.entries(definition.methods).map(([name, method]) => {
    const decode = (bytes: Uint8Array): unknown => decodeRequest(method.requestType, bytes);
    return [name, { ...method, requestType: { ...method.requestType, decode } }] as const;
  });
  return { ...definition, methods: Object.fromEntries(methods) };
}

/** Decodes a message of a client. Throws if it is not valid, or has more fields or text than any valid one. */
export function decodeRequest<Message>(codec: Codec<Message>, bytes: Uint8Array): Message {
  return decodeBounded(codec, bytes, BOUNDS);
}

/** The hint for an undecodable message. */
export const REQUEST_HINT =
  'Check that client and server use the same .proto file. A message has at most ' +
  `${BOUNDS.maxNumbers} fields and ${BOUNDS.maxTextBytes} bytes of text.`;
