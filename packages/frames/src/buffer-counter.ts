import type { Data, RecordBatch } from 'apache-arrow';

/** Counts the memory that batches hold: whole buffers, each once, however many batches share it. */
export interface BufferCounter {
  /** Bytes of all batches so far. */
  readonly bytes: number;
  /** Adds a batch and returns how many bytes it holds that none before it did. */
  add(batch: RecordBatch): number;
}

/** A counter that has seen nothing yet. */
export function createBufferCounter(): BufferCounter {
  const seen = new Set<ArrayBufferLike>();
  let bytes = 0;

  function addView(view: ArrayBufferView | undefined): void {
    if (view === undefined || seen.has(view.buffer)) return;
    seen.add(view.buffer);
    bytes += view.buffer.byteLength;
  }

  function addData(data: Data): void {
    for (const view of Object.values(data.buffers).concat(data.variadicBuffers)) addView(view);
    for (const child of data.children) addData(child);
    for (const part of data.dictionary?.data ?? []) addData(part);
  }

  return {
    get bytes() {
      return bytes;
    },
    add: (batch) => {
      const before = bytes;
      addData(batch.data);
      return bytes - before;
    },
  };
}
