import { ServiceError } from '@svc/errors';
import { type ByteBudget, createByteBudget } from '@svc/frames/internal';

/** The memory of the lines of a request. */
export interface LineBudget extends ByteBudget {
  /** Returns all bytes of the request. */
  close(): void;
}

/** Columns take up to this many times the bytes of their lines, while their buffers grow. */
const COLUMNS_PER_LINE = 4;

/** Bounds the memory of the lines of all requests together: as much as one request of the longest length may need. */
export function createLineMemory(maxLinesBytes: number): { readonly open: () => LineBudget } {
  const all = createByteBudget(COLUMNS_PER_LINE * maxLinesBytes, ({ maxBytes }) => noMemory(maxBytes));
  return {
    open() {
      let taken = 0;
      const budget = createByteBudget(
        all.maxBytes,
        ({ maxBytes }) => noMemory(maxBytes),
        (usedBytes) => {
          if (usedBytes > taken) all.take(usedBytes - taken);
          else all.free(taken - usedBytes);
          taken = usedBytes;
        },
      );
      return Object.assign(budget, { close: () => budget.free(budget.usedBytes) });
    },
  };
}

function noMemory(maxBytes: number): ServiceError {
  return new ServiceError(
    'out_of_memory',
    `The lines need more than the ${maxBytes} bytes that all requests with lines may use together.`,
    { hint: 'Send fewer lines or columns at a time, or raise http.max_lines_bytes.' },
  );
}
