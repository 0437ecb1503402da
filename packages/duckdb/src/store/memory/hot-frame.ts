import { createMemoryStore, type FrameRef, type FrameStream, type OpenFrame, parseHandle } from '@svc/frames';
import type { RecordBatch, Schema } from 'apache-arrow';

/** A frame in memory that is made batch by batch. */
export interface HotFrame {
  /** Adds a batch; resolves with all bytes the frame holds then. */
  add(batch: RecordBatch): Promise<number>;
  /** The frame with all batches that were added. */
  finish(): Promise<OpenFrame>;
  /** Ends a frame that will not be finished. */
  abandon(): void;
}

const REF: FrameRef = { tenant: 'hot', handle: parseHandle('frame') };

/** A frame without rows. It is a memory store with one frame in it: that knows how to count, to slice and to select. */
export function createHotFrame(schema: Schema): HotFrame {
  const store = createMemoryStore({ maxBytes: Infinity });
  const rows = createPushedStream(schema);
  const put = store.put(REF, rows.stream);
  // Whoever adds or finishes hears of a failure; who abandons the frame does not care.
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
      if (frame === undefined) throw new Error('A frame that was put into memory is not there.');
      return frame;
    },
    abandon: () => void rows.push(undefined),
  };
}

interface PushedStream {
  readonly stream: FrameStream;
  /** Hands a batch (undefined: the end) to whoever reads the stream; resolves when it has been dealt with. */
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
      // Only when the reader comes back for the next one is it done with this one.
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
