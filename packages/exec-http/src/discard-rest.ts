/** How long the rest of a refused body is read: long uploads of clients that read the answer only at their end. */
const MAX_MS = 10_000;

/**
 * Reads the rest of a body that was refused, and throws it away. Closing the connection instead would keep clients that
 * send all of a body first from ever seeing the answer. What still comes after ten seconds is not waited for: the stream
 * is cancelled, and with it the connection. `reading` is what has read the body so far: it is ended first, because a last
 * read may still be waiting for the client.
 */
export async function discardRest(
  body: ReadableStream<Uint8Array>,
  reading: AsyncIterator<Uint8Array> | undefined,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, MAX_MS);
  });
  try {
    await Promise.race([Promise.resolve(reading?.return?.()).catch(() => {}), timeout]);
    if (body.locked) return;
    const reader = body.getReader();
    await Promise.race([readToEnd(reader), timeout]);
    void reader.cancel().catch(() => {});
  } finally {
    clearTimeout(timer);
  }
}

async function readToEnd(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  try {
    while (!(await reader.read()).done);
  } catch {
    // The client went away: nothing is left to read.
  }
}
