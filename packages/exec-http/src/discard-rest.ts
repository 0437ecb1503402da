/** How long to read the rest of a refused body, for clients that read the response only after a long upload. */
const MAX_MS = 10_000;

/**
 * Reads and discards the rest of a refused body. If the connection were closed instead, clients that send the whole body
 * first would never see the response. After ten seconds the stream is cancelled, and with it the connection. `reading` is
 * the current reader of the body; it is closed first, because a last read may still be pending.
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
    // The client disconnected: nothing is left to read.
  }
}
