import type { Data, RecordBatch } from 'apache-arrow';
import type { ArrowMessage } from './arrow-message.ts';

/** The messages of batches that are encoded again and again: those of frames in memory. */
export interface KeptMessages {
  /** The estimated size of what is kept. */
  readonly bytes: number;
  /** Returns the messages of a batch, if they are kept. */
  get(batch: RecordBatch): readonly ArrowMessage[] | undefined;
  /** Starts to keep a batch that is encoded for the second time or later. A batch from disk is never seen again. */
  begin(batch: RecordBatch): MessageKeeper | undefined;
}

/** Takes the messages of one batch. */
export interface MessageKeeper {
  add(message: ArrowMessage): void;
  /** Keeps what was added, if it is not too large. Call it after the last message. */
  end(): void;
}

const MAX_BYTES = 32 * 1024 * 1024;
/** The size of a view of memory, and its place in an array. */
const PART_BYTES = 112;

/** Creates an empty store of at most `maxBytes`. Its messages are freed with their batches. */
export function createKeptMessages(maxBytes: number = MAX_BYTES): KeptMessages {
  const seen = new WeakSet<RecordBatch>();
  const kept = new WeakMap<RecordBatch, readonly ArrowMessage[]>();
  let total = 0;
  const freed = new FinalizationRegistry<number>((bytes) => {
    total -= bytes;
  });

  function keeperOf(batch: RecordBatch): MessageKeeper {
    const own = buffersOf(batch.data);
    let messages: ArrowMessage[] | undefined = [];
    let bytes = 0;
    return {
      add(message) {
        bytes += sizeOf(message, own);
        // For good: there may be room again before the last message, but then the first ones would be missing.
        if (total + bytes > maxBytes) messages = undefined;
        messages?.push(message);
      },
      end() {
        // Another reader may have been faster.
        if (messages === undefined || total + bytes > maxBytes || kept.has(batch)) return;
        kept.set(batch, messages);
        total += bytes;
        freed.register(batch, bytes);
      },
    };
  }

  return {
    get bytes() {
      return total;
    },
    get: (batch) => kept.get(batch),
    begin(batch) {
      if (seen.has(batch)) return keeperOf(batch);
      seen.add(batch);
      return undefined;
    },
  };
}

/** Estimates what a message needs besides the memory of its batch. */
function sizeOf({ header, body }: ArrowMessage, own: ReadonlySet<ArrayBufferLike>): number {
  const copied = body.filter((part) => !own.has(part.buffer)).reduce((sum, part) => sum + part.length, 0);
  return header.length + copied + PART_BYTES * (body.length + 1);
}

function buffersOf({ valueOffsets, values, nullBitmap, variadicBuffers, children }: Data): Set<ArrayBufferLike> {
  const views: readonly (ArrayBufferView | undefined)[] = [valueOffsets, values, nullBitmap, ...variadicBuffers];
  const buffers = new Set(views.flatMap((view) => (view === undefined ? [] : [view.buffer])));
  for (const child of children) for (const buffer of buffersOf(child)) buffers.add(buffer);
  return buffers;
}
