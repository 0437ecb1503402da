import { createMemoryStore, type FrameRef, type FrameStream, type OpenFrame, parseHandle } from '@svc/frames';
import type { RecordBatch, Schema } from 'apache-arrow';

/** A frame in memory that is built batch by batch. */
export interface HotFrame {
  /** Adds a batch. Resolves with the size of the frame in bytes. */
  add(batch: RecordBatch): Promise<number>;
  /** Returns the frame with all added batches. */
  finish(): Promise<OpenFrame>;
  /** Discards a frame that will not be finished. */
  abandon(): void;
}

const REF: FrameRef = { tenant: 'hot', handle: parseHandle('frame') };

/** Creates a frame without rows. It uses a memory store with one frame, which implements counting, slicing and selection. */
export function createHotFrame(schema: Schema): HotFrame {
  const store = createMemoryStore({ maxBytes: Infinity });
  const rows = createPushedStream(schema);
  const put = store.put(REF, rows.stream);
  // Avoid an unhandled rejection; `add` and `finish` await `put` themselves.
  put.catch(() => {});
  return {
    async add(batch) {
      await Promise.race([rows.push(batch), put]);
      return (await store.usage()).bytes;
    },
    async finish() {
      await rows.push(undefined);
      await put;
      const frame = await store.open(REF);
      if (frame === undefined) throw new Error('A frame that was put into memory is missing.');
      return frame;
    },
    abandon: () => void rows.push(undefined),
  };
}

interface PushedStream {
  readonly stream: FrameStream;
  /** Passes a batch, or undefined for the end, to the reader of the stream. Resolves when the reader is done with it. */
  push(batch: RecordBatch | undefined): Promise<void>;
}

function createPushedStream(schema: Schema): PushedStream {
  interface Item {
    readonly batch: RecordBatch | undefined;
    readonly taken: () => void;
  }
  let waiting: ((item: Item) => void) | undefined;
  let pushed: Item | undefined;

  async function* batches(): AsyncGenerator<RecordBatch> {
    for (;;) {
      const { batch, taken } = pushed ?? (await new Promise<Item>((resolve) => (waiting = resolve)));
      pushed = undefined;
      waiting = undefined;
      if (batch !== undefined) yield batch;
      // The reader is done with a batch when it asks for the next one.
      taken();
      if (batch === undefined) return;
    }
  }

  return {
    stream: { schema, batches: batches() },
    push: (batch) =>
      new Promise((resolve) => {
        const item = { batch, taken: resolve };
        if (waiting) waiting(item);
        else pushed = item;
      }),
  };
}
