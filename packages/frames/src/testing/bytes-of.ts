/** Collects all chunks. */
export async function chunksOf(source: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of source) chunks.push(chunk);
  return chunks;
}

/** Collects all bytes. */
export async function bytesOf(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await chunksOf(source));
}

/** Splits bytes or a text into a body of chunks. */
export async function* bodyOf(content: Uint8Array | string, chunkBytes = Infinity): AsyncGenerator<Uint8Array> {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
}
