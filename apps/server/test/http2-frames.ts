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

/** The headers of a gRPC call on a stream, and further bytes of HPACK. */
export function grpcHeaders(path: string, stream = 1, more: Uint8Array = new Uint8Array(0)): Buffer {
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
  return http2Frame(1, stream, Buffer.concat([...block, more]), END_HEADERS);
}

/** Headers of different names in HPACK, which the server remembers. */
export function newHeaders(count: number): Buffer {
  const text = (value: string): Buffer => Buffer.from([value.length, ...Buffer.from(value)]);
  return Buffer.concat(Array.from({ length: count }, (_, i) => [Buffer.of(0x40), text(`h${i}`), text('')]).flat());
}

/** The remembered headers, which take a byte or two each. */
export function sameHeaders(count: number): Buffer {
  const index = (i: number): number[] => (i < 127 ? [0x80 | i] : [0xff, i - 127]);
  return Buffer.from(Array.from({ length: count }, (_, i) => index(62 + i)).flat());
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

/** Counts the headers that end a stream among the bytes of a server. */
export function countTrailers(bytes: Buffer): number {
  let count = 0;
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
    if (bytes[at + 3] === 1 && ((bytes[at + 4] ?? 0) & END_STREAM) !== 0) count += 1;
  }
  return count;
}

const END_STREAM = 1;
const END_HEADERS = 4;
