import type { OnReadOpts, Socket } from 'node:net';

/** The size of one read. */
const BYTES = 64 * 1024;

/** The most free buffers in the pool. */
const MAX_FREE = 32;

/** Small responses are read into this buffer and copied out of it immediately. */
const SHARED_BUFFER: Uint8Array = Buffer.allocUnsafeSlow(BYTES);

/** A pool of buffers for the readers of large responses. */
interface ReadBuffers {
  take(): Uint8Array;
  /** Returns a buffer that is no longer in use to the pool. */
  release(buffer: Uint8Array): void;
}

function createReadBuffers(): ReadBuffers {
  const free: Uint8Array[] = [];
  return {
    take: () => free.pop() ?? Buffer.allocUnsafeSlow(BYTES),
    release: (buffer) => {
      if (buffer !== SHARED_BUFFER && free.length < MAX_FREE) free.push(buffer);
    },
  };
}

/** Sits between a connection and its response parser, and applies backpressure while the reader is slow. */
export interface ConnectionValve {
  /** Attaches to the connection, or to the one that replaces it. */
  attach(socket: Socket): void;
  /** From now until the response ends, reads are zero-copy: the parser gets the read buffer itself. */
  reuseBuffers(): void;
  /** The reader has consumed everything and wants more. */
  open(): void;
  shut(): void;
  /** The response is complete, though perhaps not read yet. */
  end(): void;
  /** The error that broke the connection, or null. */
  failure(): Error | null;
}

const MIN_ZERO_COPY_BYTES = 8 * 1024;

const buffers = createReadBuffers();
const feeds = new WeakMap<object, (buffer: Uint8Array, length: number) => boolean>();
let nextBuffer = SHARED_BUFFER;

/**
 * Reads into buffers that are reused. By default Node allocates 64 KiB for every read, however short, leaves it to the
 * garbage collector, and passes it through a stream.
 */
export const VALVED_READS: OnReadOpts = {
  // Node calls this when a connection opens and after each read.
  buffer: () => {
    const buffer = nextBuffer;
    nextBuffer = SHARED_BUFFER;
    return buffer;
  },
  callback(this: Socket, length: number, buffer: Uint8Array) {
    return feeds.get(this)?.(buffer, length) ?? false;
  },
};

/**
 * undici applies backpressure by pausing its parser, and a paused parser crashes the process when the database closes the
 * connection (fixed in version 8, which does not run on Node 20). So the parser never pauses; the socket does.
 */
export function createConnectionValve(): ConnectionValve {
  let isShut = false;
  let isReusing = false;
  let inUse: Uint8Array[] = [];
  let fed: Buffer | null = null;
  let readOn: (() => void) | undefined;
  let connection: Socket | undefined;

  function feed(socket: Socket, buffer: Uint8Array, length: number): boolean {
    // Copy a short read: over TLS many of them arrive while the socket is paused, and each would hold a whole buffer.
    const isZeroCopy = isReusing && buffer !== SHARED_BUFFER && length >= MIN_ZERO_COPY_BYTES;
    const bytes = Buffer.from(buffer.buffer, buffer.byteOffset, length);
    if (isZeroCopy) inUse.push(buffer);
    // Copied because the parser keeps references to incomplete headers.
    fed = isZeroCopy ? bytes : Buffer.from(bytes);
    socket.emit('readable');
    if (!isZeroCopy) buffers.release(buffer);
    nextBuffer = isReusing ? buffers.take() : SHARED_BUFFER;
    return !isShut;
  }

  return {
    attach(socket) {
      isShut = false;
      isReusing = false;
      inUse = [];
      fed = null;
      connection = socket;
      const read: (size?: number) => unknown = socket.read.bind(socket);
      readOn = () => read(0);
      socket.read = (size?: number) => {
        if (fed === null) return isShut ? null : read(size);
        const bytes = fed;
        fed = null;
        return bytes;
      };
      feeds.set(socket, (buffer, length) => feed(socket, buffer, length));
      // Node reports a reset after unread bytes as a normal end; an empty write reveals it.
      socket.prependListener('end', () => void socket.write(''));
      // undici takes ECONNRESET for the normal end of a body that is delimited by the close of the connection.
      socket.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ECONNRESET') error.code = 'UND_ERR_RESET';
      });
    },

    reuseBuffers() {
      isReusing = true;
    },

    open() {
      if (!isShut) return;
      isShut = false;
      for (const buffer of inUse) buffers.release(buffer);
      inUse = [];
      readOn?.();
    },

    shut() {
      isShut = true;
    },

    end() {
      // Not released: the reader may still be using them.
      inUse = [];
      isReusing = false;
      if (!isShut) return;
      isShut = false;
      readOn?.();
    },

    failure: () => connection?.errored ?? null,
  };
}
