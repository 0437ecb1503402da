/** A frame of HTTP/2. */
function http2Frame(type: number, stream: number, payload: Uint8Array, flags = 0): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** The HTTP/2 connection preface. */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** The default HTTP/2 settings of a client. */
export const SETTINGS = http2Frame(4, 0, new Uint8Array(0));

/** Cancels a stream. */
export function rstStream(stream: number): Buffer {
  return http2Frame(3, stream, Buffer.of(0, 0, 0, 8));
}

/** Asks for an answer. */
export const PING = http2Frame(6, 0, new Uint8Array(8));

/** The headers of a gRPC call on a stream. */
export function grpcHeaders(path: string, stream = 1): Buffer {
  const fields = [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', path],
    [':authority', 'localhost'],
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
  ];
  // HPACK: literal fields with literal names, none of them longer than 126 bytes.
  const text = (value: string): Buffer => Buffer.from([value.length, ...Buffer.from(value)]);
  const block = fields.flatMap(([name = '', value = '']) => [Buffer.of(0), text(name), text(value)]);
  return http2Frame(1, stream, Buffer.concat(block), END_HEADERS);
}

/** One gRPC message on stream 1, with which the client half-closes the call if `isLast`. */
export function grpcMessage(message: Uint8Array, { isLast }: { readonly isLast: boolean }): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return dataFrame(Buffer.concat([head, message]), { stream: 1, isLast });
}

/** Bytes on a stream, with which the client half-closes the call if `isLast`. */
export function dataFrame(bytes: Uint8Array, { stream, isLast }: { stream: number; isLast: boolean }): Buffer {
  return http2Frame(0, stream, bytes, isLast ? END_STREAM : 0);
}

/** Returns the error code of the GOAWAY among the bytes of a server; undefined if there is none. */
export function goawayCode(bytes: Buffer): number | undefined {
  for (let at = 0; at + 17 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
    if (bytes[at + 3] === 7) return bytes.readUInt32BE(at + 13);
  }
  return undefined;
}

/** Whether the bytes of a server contain headers that end a stream. */
export function hasTrailers(bytes: Buffer): boolean {
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
    if (bytes[at + 3] === 1 && ((bytes[at + 4] ?? 0) & END_STREAM) !== 0) return true;
  }
  return false;
}

const END_STREAM = 1;
const END_HEADERS = 4;
