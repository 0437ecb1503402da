import type { Http2Session, ServerHttp2Stream } from 'node:http2';
import type { Server } from 'node:net';

/** A connection, and its calls that wait for their turn, the oldest first. Some may have been cancelled. */
interface Waiting {
  readonly session: Http2Session;
  readonly calls: [stream: ServerHttp2Stream, ...rest: unknown[]][];
}

/** What becomes of clients that cancel calls. */
export interface CancelOptions {
  /** Called with the session of a client that cancels calls faster than they begin: it must destroy the session. */
  readonly onFlood: (session: Http2Session) => void;
  /** Called with the number of calls that a client has cancelled before they began. It may destroy the session. */
  readonly onDropped: (session: Http2Session, count: number) => void;
}

/**
 * Begins the calls of a listener in the turn after their headers, a few in each turn, one of each connection at a time. A
 * call that its client has cancelled by then is dropped, and costs little. Call it after the other listeners for `stream`
 * are added.
 */
export function beginCalls(listener: Server, { onFlood, onDropped }: CancelOptions): void {
  const begin = listener.listeners('stream');
  /** The connections with calls that wait, in the order of their turns. */
  const row = new Set<Waiting>();

  function beginSome(): void {
    let left = CALLS_OF_A_TURN;
    for (const waiting of row) {
      // The connection goes to the end of the row, or leaves it.
      row.delete(waiting);
      const { session, calls } = waiting;
      const first = calls.findIndex(([stream]) => !stream.closed && !stream.destroyed);
      const dropped = first === -1 ? calls.length : first;
      const call = calls.splice(0, dropped + 1)[dropped];
      if (dropped > 0) onDropped(session, dropped);
      if (call === undefined || session.destroyed) continue;
      if (calls.length > 0) row.add(waiting);
      for (const listen of begin) Reflect.apply(listen, listener, call);
      // A client that sends no message has ended its side before anyone listened.
      if (call[0].readableEnded) call[0].emit('end');
      left -= 1;
      if (left === 0) break;
    }
    if (row.size > 0) setImmediate(beginSome);
  }

  listener.removeAllListeners('stream');
  listener.on('session', (session: Http2Session) => {
    const waiting: Waiting = { session, calls: [] };
    session.on('stream', (stream: ServerHttp2Stream, ...rest: unknown[]) => {
      // grpc-js adds its listener when the call begins.
      stream.on('error', () => undefined);
      if (session.destroyed) return;
      if (row.size === 0) setImmediate(beginSome);
      row.add(waiting);
      waiting.calls.push([stream, ...rest]);
      if (waiting.calls.length <= MAX_CALLS_AT_ONCE) return;
      waiting.calls.length = 0;
      onFlood(session);
    });
  });
}

/** Calls that begin in one turn of the event loop. */
const CALLS_OF_A_TURN = 16;
/** The most calls that a client may send at once, with those that it cancels: 100 may be open at a time. */
export const MAX_CALLS_AT_ONCE = 128;
