import { quoted, ServiceError } from '@svc/errors';
import type { FrameStream, OpenFrame, ReadOptions } from '@svc/frames';
import type { RecordBatch, Schema } from 'apache-arrow';
import type { ContentReader } from './frame-contents.ts';
import type { Filling, HotTier } from './hot-tier.ts';
import { type FrameContents, infoOf, type StoredFrame } from './stored-frame.ts';

/** What reading frames works with. */
export interface FrameReading {
  readonly reader: ContentReader;
  readonly hot: HotTier<StoredFrame>;
}

/** A frame opened for reading, from memory where it is there, else from disk. `onClose` is called once. */
export function openStoredFrame(
  { reader, hot }: FrameReading,
  frame: StoredFrame,
  contents: FrameContents,
  onClose: () => void,
): OpenFrame {
  const info = infoOf(frame, contents, hot.has(frame));
  let pinned = hot.open(frame);
  let filling: Filling<StoredFrame> | undefined;
  let isOpen = true;

  function readCold({ offset = 0, limit = Infinity, columns, signal }: ReadOptions): FrameStream {
    const positions = columns && columnPositions(contents.schema, columns);
    const isWhole = positions === undefined && offset === 0 && limit >= contents.rows;
    const stream = reader.read(frame.source, contents, {
      offset,
      ...(limit < contents.rows && { limit }),
      ...(positions && { columns: positions }),
      ...(signal && { signal }),
    });
    return isWhole ? { schema: stream.schema, batches: fillWhileReading(stream) } : stream;
  }

  async function* fillWhileReading({ batches }: FrameStream): AsyncGenerator<RecordBatch> {
    const own = hot.fill(frame, contents.schema, contents.arrowBytes);
    filling = own ?? filling;
    try {
      let isFilling = own !== undefined;
      for await (const batch of batches) {
        isFilling = isFilling && own !== undefined && (await own.add(batch));
        yield batch;
      }
      await own?.finish();
      own?.keep(frame);
    } finally {
      own?.cancel();
    }
  }

  return {
    info,
    read(options = {}) {
      pinned ??= isOpen ? hot.open(frame) : undefined;
      return pinned ? pinned.read(options) : readCold(options);
    },
    close() {
      if (!isOpen) return;
      isOpen = false;
      // A reader that stopped without saying so has left its frame half read.
      filling?.cancel();
      pinned?.close();
      onClose();
    },
  };
}

/** Where the named columns are; an unknown one is `invalid_argument`. */
function columnPositions(schema: Schema, names: readonly string[]): readonly number[] {
  const places = new Map(schema.fields.map((field, index) => [field.name, index]));
  return names.map((name) => {
    const place = places.get(name);
    if (place !== undefined) return place;
    const known = schema.fields.slice(0, 20).map((field) => quoted(field.name));
    throw new ServiceError('invalid_argument', `There is no column ${quoted(name)}.`, {
      hint: `The columns are: ${known.join(', ')}${schema.fields.length > known.length ? ', …' : ''}.`,
    });
  });
}
