import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { type ByteBudget, createByteBudget, tenantShare } from '@svc/frames/internal';

/** The memory of the lines of a request. */
export interface LineBudget extends ByteBudget {
  /** Returns all bytes of the request. */
  close(): void;
}

/** Columns take up to this many times the bytes of their lines, while their buffers grow. */
const COLUMNS_PER_LINE = 4;
/** Room for some thousand columns, however short the longest request. */
const MIN_BYTES = 16 * 1024 ** 2;

const HINT =
  'Send fewer tables, columns or lines at a time (a column takes 4 KiB besides its values), or raise http.max_lines_bytes.';

/**
 * Bounds the memory of the lines of all requests together: as much as one request of the longest length may need. A tenant
 * may use three quarters of it, so that its requests do not refuse those of others.
 */
export function createLineMemory(maxLinesBytes: number): { readonly open: (tenant: string) => LineBudget } {
  const all = createByteBudget(Math.max(COLUMNS_PER_LINE * maxLinesBytes, MIN_BYTES), ({ maxBytes }) =>
    noMemory('The requests with lines', maxBytes),
  );
  const maxBytes = tenantShare(all.maxBytes);
  const tenants = new Map<string, { readonly budget: ByteBudget; requests: number }>();

  function shareOf(tenant: string): { readonly budget: ByteBudget; requests: number } {
    const known = tenants.get(tenant);
    if (known !== undefined) return known;
    const refusal = () => noMemory(`The requests with lines of the tenant ${quoted(tenant)}`, maxBytes);
    const share = { budget: within(all, maxBytes, refusal), requests: 0 };
    tenants.set(tenant, share);
    return share;
  }

  return {
    open(tenant) {
      const share = shareOf(tenant);
      share.requests += 1;
      const budget = within(share.budget, maxBytes, () => tooLarge(maxBytes));
      return Object.assign(budget, {
        close() {
          budget.free(budget.usedBytes);
          share.requests -= 1;
          if (share.requests === 0) tenants.delete(tenant);
        },
      });
    },
  };
}

/** A budget whose bytes also count in another one. */
function within(outer: ByteBudget, maxBytes: number, refusal: () => ServiceError): ByteBudget {
  let taken = 0;
  return createByteBudget(maxBytes, refusal, (usedBytes) => {
    if (usedBytes > taken) outer.take(usedBytes - taken);
    else outer.free(taken - usedBytes);
    taken = usedBytes;
  });
}

function tooLarge(maxBytes: number): ServiceError {
  return new ServiceError(
    'payload_too_large',
    `The lines need more than the ${maxBytes} bytes of memory that one request may use.`,
    { hint: HINT },
  );
}

function noMemory(whose: string, maxBytes: number): ServiceError {
  return new ServiceError(
    'out_of_memory',
    `${whose} need more than the ${maxBytes} bytes that they may use together.`,
    {
      hint: HINT,
    },
  );
}
