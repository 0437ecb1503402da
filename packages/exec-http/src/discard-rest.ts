const MAX_BYTES = 8 * 1024 * 1024;
const MAX_MS = 1000;

/**
 * Reads what is left of a body that was refused, up to a limit. Its client can then read the answer, and send the next
 * request on the same connection; one that would go on for longer finds the connection closed. `reading` is who has read
 * of it so far: it is ended first, because a last read may still be waiting for the client.
 */
export async function discardRest(body: ReadableStream<Uint8Array>, reading: AsyncIterator<Uint8Array>): Promise<void> {
  const end = Date.now() + MAX_MS;
  await Promise.race([reading.return?.().catch(() => {}), timePassed(MAX_MS)]);
  if (body.locked) return;
  const reader = body.getReader();
  const timer = setTimeout(() => void reader.cancel().catch(() => {}), end - Date.now());
  try {
    for (let bytes = 0; bytes < MAX_BYTES;) {
      const { done, value } = await reader.read();
      if (done) return;
      bytes += value.byteLength;
    }
  } catch {
    // The client went away: nothing is left to read.
  } finally {
    clearTimeout(timer);
    reader.releaseLock();
  }
}

function timePassed(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
