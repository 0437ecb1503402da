import type { Server, Socket } from 'node:net';
import { MAX_CALLS_AT_ONCE } from './begin-calls.ts';
import { MAX_CHUNKS_AT_ONCE } from './limit-chunks.ts';

/** The connections of a listener that are not passed on yet. */
export interface Greetings {
  readonly size: number;
  destroy(): void;
}

/**
 * Answers clients that speak HTTP/1.1, and passes all other connections on to the listeners of the event by now: Node would
 * greet each client with HTTP/2 settings, which a browser takes for a broken response. For a server without TLS.
 */
export function answerHttp1(listener: Server, answer: string): Greetings {
  const accept = listener.listeners('connection');
  listener.removeAllListeners('connection');
  const waiting = new Set<Socket>();

  function begin(socket: Socket): void {
    waiting.add(socket);
    let head: Buffer = Buffer.alloc(0);
    const onClose = (): void => void waiting.delete(socket);
    function onReadable(): void {
      const bytes: unknown = socket.read();
      if (!(bytes instanceof Uint8Array)) return;
      head = Buffer.concat([head, bytes]);
      const protocol = protocolOf(head);
      if (protocol === undefined) return;
      socket.off('readable', onReadable);
      if (protocol === 'http1') return refuse(socket, answer);
      // Node reads all of it in one step, and tells of no call before the end.
      if (isFlood(head)) return void socket.destroy();
      onClose();
      socket.off('close', onClose).off('error', ignore);
      socket.unshift(head);
      for (const listen of accept) listen.call(listener, socket);
    }
    socket.on('close', onClose).on('error', ignore).on('readable', onReadable);
  }

  listener.on('connection', begin);
  return {
    get size() {
      return waiting.size;
    },
    destroy() {
      for (const socket of waiting) socket.destroy();
    },
  };
}

/** Returns the response to an HTTP/1.1 client: a status that keeps it from trying again, and a text. */
export function http1Answer(text: string): string {
  const fields = ['content-type: text/plain; charset=utf-8', `content-length: ${Buffer.byteLength(text)}`];
  return ['HTTP/1.1 400 Bad Request', ...fields, 'connection: close', '', text].join('\r\n');
}

/** Tells the protocol by the first bytes; undefined if more are needed. A client of HTTP/2 begins with `PRI `. */
function protocolOf(head: Buffer): 'http1' | 'other' | undefined {
  const text = head.toString('latin1', 0, MAX_METHOD_LENGTH + 1);
  if (/^[A-Z]{0,10}$/.test(text)) return undefined;
  return /^(?!PRI )[A-Z]+ /.test(text) ? 'http1' : 'other';
}

/** Whether the first bytes of an HTTP/2 client have too many calls, which are frames of headers, or too many frames. */
function isFlood(head: Buffer): boolean {
  let frames = 0;
  let calls = 0;
  for (let at = PREFACE_BYTES; at + FRAME_HEAD_BYTES <= head.length; at += FRAME_HEAD_BYTES + head.readUIntBE(at, 3)) {
    frames += 1;
    if (head[at + 3] === HEADERS) calls += 1;
  }
  return calls > MAX_CALLS_AT_ONCE || frames > MAX_CHUNKS_AT_ONCE;
}

/**
 * Sends the response, and reads on for a moment: unread bytes would make the system discard the response. Then it closes the
 * connection, also if the client does not.
 */
export function refuse(socket: Socket, answer: string): void {
  socket.end(answer);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), GOODBYE_MS).unref();
  socket.once('close', () => clearTimeout(timer));
}

/** A failed connection also closes. */
function ignore(): void {}

/** How long a client has to read the response. */
const GOODBYE_MS = 1000;
const MAX_METHOD_LENGTH = 10;
/** The first bytes of every HTTP/2 connection, before the frames. */
const PREFACE_BYTES = 24;
/** The length of the payload, the type, flags, and the stream. */
const FRAME_HEAD_BYTES = 9;
const HEADERS = 1;
