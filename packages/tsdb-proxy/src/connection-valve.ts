import type { OnReadOpts, Socket } from 'node:net';
import { createReadBuffers, SHARED_BUFFER } from './read-buffers.ts';

/** Stands between one connection and the parser of its answers, and holds it back while their reader is slow. */
export interface ConnectionValve {
  /** Takes the connection, or the one that replaces it. */
  attach(socket: Socket): void;
  /** From now until the response ends, reads are zero-copy: the parser gets the read buffer itself. */
  reuseBuffers(): void;
  /** The reader is done with all it got, and wants more. */
  open(): void;
  shut(): void;
  /** The answer is over, and maybe not read yet. */
  end(): void;
  /** What broke the connection, if anything. */
  failure(): Error | null;
}

const MIN_ZERO_COPY_BYTES = 8 * 1024;

const buffers = createReadBuffers();
const feeds = new WeakMap<object, (buffer: Uint8Array, length: number) => boolean>();
let nextBuffer = SHARED_BUFFER;

/**
 * How connections with a valve are read: into memory that is used again. Node's own way takes a new buffer of 64 KiB for
 * every read, however little comes, which then waits for a garbage collection; and leads it through a stream.
 */
export const VALVED_READS: OnReadOpts = {
  // Node asks for it when a connection is made and after each read.
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
 * undici's own way to hold a connection back is to pause its parser, and a paused parser takes the whole process down
 * when the database closes the connection (mended only in version 8, which does not run on Node 20). So the parser
 * never pauses: it is the socket that is not read.
 */
export function createConnectionValve(): ConnectionValve {
  let isShut = false;
  let isReusing = false;
  let inUse: Uint8Array[] = [];
  let fed: Buffer | null = null;
  let readOn: (() => void) | undefined;
  let connection: Socket | undefined;

  function feed(socket: Socket, buffer: Uint8Array, length: number): boolean {
    // A short read is copied: over TLS many of them come although nobody reads on, and each would hold a whole buffer.
    const isZeroCopy = isReusing && buffer !== SHARED_BUFFER && length >= MIN_ZERO_COPY_BYTES;
    const bytes = Buffer.from(buffer.buffer, buffer.byteOffset, length);
    if (isZeroCopy) inUse.push(buffer);
    // The parser keeps the parts of a head that it has not seen the end of.
    fed = isZeroCopy ? bytes : Buffer.from(bytes);
    socket.emit('readable');
    if (!isZeroCopy) buffers.giveBack(buffer);
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
      // A reset behind bytes that were still to be read is told as a proper end; to write nothing brings it to light.
      socket.prependListener('end', () => void socket.write(''));
      // A reset under its own code would be taken for the proper end of a body that only the close delimits.
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
      for (const buffer of inUse) buffers.giveBack(buffer);
      inUse = [];
      readOn?.();
    },

    shut() {
      isShut = true;
    },

    end() {
      // Not given back: somebody may still read in them.
      inUse = [];
      isReusing = false;
      if (!isShut) return;
      isShut = false;
      readOn?.();
    },

    failure: () => connection?.errored ?? null,
  };
}
