import type { Http2Session, ServerHttp2Stream } from 'node:http2';

/**
 * Limits the chunks of data that a client sends at once. Node calls a function for each, so thousands of a few bytes would
 * keep the event loop. As a client may send only 64 KiB ahead, those of a usual size are few. `onFlood` must close the
 * connection.
 */
export function limitChunks(session: Http2Session, onFlood: () => void): void {
  let chunks = 0;
  const endTurn = (): void => void (chunks = 0);
  session.on('stream', (stream: ServerHttp2Stream) => {
    const push = stream.push.bind(stream);
    stream.push = (chunk: unknown, encoding?: BufferEncoding) => {
      if (chunks === 0) setImmediate(endTurn);
      chunks += 1;
      if (chunks === MAX_CHUNKS_AT_ONCE) onFlood();
      return push(chunk, encoding);
    };
  });
}

/** The most chunks of a connection in one turn of the event loop. */
export const MAX_CHUNKS_AT_ONCE = 2048;
