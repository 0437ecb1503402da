const MAX_BYTES = 8 * 1024 * 1024;
const MAX_MS = 1000;

/**
 * Reads what is left of a body that was refused, up to a limit. Its client can then send the next request on the same
 * connection; one that would go on for longer finds the connection closed.
 */
export async function discardRest(body: ReadableStream<Uint8Array>): Promise<void> {
  if (body.locked) return;
  const reader = body.getReader();
  const timer = setTimeout(() => void reader.cancel().catch(() => {}), MAX_MS);
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
