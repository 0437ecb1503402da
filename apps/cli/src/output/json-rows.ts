const NEWLINE = 0x0a;

/** Converts NDJSON to one JSON array, with a row per line. */
export async function* rowsAsJson(lines: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  // The last line break is held back: a comma follows it only if there is another row.
  let open = '[';
  for await (const chunk of lines) {
    if (chunk.length === 0) continue;
    const isLineEnd = chunk.at(-1) === NEWLINE;
    const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length - (isLineEnd ? 1 : 0)).toString('latin1');
    yield Buffer.from(open + text.replaceAll('\n', ',\n'), 'latin1');
    open = isLineEnd ? ',\n' : '';
  }
  yield Buffer.from(open === '[' ? '[]\n' : ']\n');
}
