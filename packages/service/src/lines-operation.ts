import { abortError, ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { Call, FrameStream, Store } from '@svc/frames';
import { createYield, tenantShare } from '@svc/frames/async';
import { COLUMN_BYTES, createLineDecoder, fitLines, type LineTable } from '@svc/frames/lines';
import { type ByteBudget, createByteBudget } from '@svc/frames/streams';
import { eventSource } from './events.ts';
import { type OperationParts, schemaOf } from './frame-operations.ts';
import type { LinesUpload, Service } from './service.ts';

/** The rows of one table, ready to append. */
interface TableRows extends Pick<LineTable, 'handle'> {
  readonly rows: FrameStream;
  /** The written columns, also those without a value in the lines. */
  readonly columns: number;
}

/** The most tables to append at the same time. */
const CONCURRENT_TABLES = 8;
/** The most columns of them together: a wide table is appended alone. */
const CONCURRENT_COLUMNS = 1000;

/**
 * Creates the operation that appends the lines of line protocol to the frames of their tables. `maxLinesBytes`: the longest
 * request, as received and decompressed.
 */
export function createLinesOperation(
  parts: OperationParts,
  maxLinesBytes: number,
): Pick<Service, 'maxLinesBytes' | 'writeLines'> {
  const { store, audit, begin } = parts;
  const memory = createLineMemory(maxLinesBytes);

  return {
    maxLinesBytes,

    async writeLines(call, upload) {
      const budget = memory.open(call.tenant);
      try {
        const startMs = performance.now();
        const tables = await audit.refused(call, 'writeLines', async () => {
          begin(call, 'writeLines');
          return readTables({ store, maxLinesBytes }, call, upload, budget);
        });
        const receiveMs = performance.now() - startMs;
        return await appendTables(parts, call, tables, { startMs, receiveMs });
      } finally {
        budget.close();
      }
    },
  };
}

/** How many bytes to read before other requests may get a turn. */
const STEP_BYTES = 128 * 1024;

/** Reads all lines, and checks those of every table against its frame. Nothing is stored if one of them is wrong. */
async function readTables(
  { store, maxLinesBytes }: { readonly store: Store; readonly maxLinesBytes: number },
  call: Call,
  { body, precision, bytes = 0 }: LinesUpload,
  budget: ByteBudget,
): Promise<TableRows[]> {
  const nowNs = BigInt(Date.now()) * 1_000_000n;
  const tooLong = (): ServiceError =>
    new ServiceError('payload_too_large', `The lines are longer than ${maxLinesBytes} bytes.`, {
      hint: 'Send the lines in several requests, or raise http.max_lines_bytes.',
    });
  if (bytes > maxLinesBytes) throw tooLong();
  const decoder = createLineDecoder({ precision, nowNs, budget });
  const pause = createYield();
  let left = maxLinesBytes;
  for await (const chunk of body) {
    left -= chunk.byteLength;
    if (left < 0) throw tooLong();
    for (let at = 0; at < chunk.byteLength; at += STEP_BYTES) {
      decoder.write(chunk.subarray(at, at + STEP_BYTES));
      await pause();
    }
  }
  const fitted: TableRows[] = [];
  for (const table of decoder.end()) {
    call.signal.throwIfAborted();
    const { handle } = table;
    const frame = await schemaOf(store, { tenant: call.tenant, handle });
    const own = table.columns.length + 1;
    const columns = Math.max(own, frame?.fields.length ?? 0);
    // Columns without a value in the lines are written, too.
    budget.take(COLUMN_BYTES * (columns - own));
    fitted.push({ handle, columns, rows: await fitLines(table, frame, pause) });
  }
  return fitted;
}

/**
 * Appends the rows of all tables, and drops the stored ones. A failure names the tables that are stored nevertheless:
 * also the departure of the client, after which no more are written.
 */
async function appendTables(
  parts: OperationParts,
  call: Call,
  tables: TableRows[],
  times: { readonly startMs: number; readonly receiveMs: number },
): Promise<number> {
  const stored: string[] = [];
  let rows = 0;
  while (tables.length > 0) {
    if (call.signal.aborted) throw partialWrite(abortError(call.signal.reason), stored);
    const group = tables.splice(0, concurrentTables(tables));
    const outcomes = await Promise.allSettled(group.map((table) => append(parts, call, table, times)));
    for (const [i, outcome] of outcomes.entries()) {
      if (outcome.status === 'rejected') continue;
      rows += outcome.value;
      stored.push(group[i]?.handle ?? '');
    }
    const failed = outcomes.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw partialWrite(failed.reason, stored);
  }
  return rows;
}

/** How many of the next tables are appended at the same time. */
function concurrentTables(tables: readonly TableRows[]): number {
  let columns = 0;
  const end = tables.findIndex(
    (table, i) => i === CONCURRENT_TABLES || (columns += table.columns) > CONCURRENT_COLUMNS,
  );
  return end === -1 ? tables.length : Math.max(1, end);
}

function append(
  { store, quotaOf, audit, observe }: OperationParts,
  call: Call,
  { handle, rows }: TableRows,
  { startMs, receiveMs }: { readonly startMs: number; readonly receiveMs: number },
): Promise<number> {
  return audit.write(call, 'writeLines', handle, async () => {
    const { tenant, signal } = call;
    const options = { missingAsNull: true, quota: quotaOf(tenant), origin: call, signal };
    const { info, created, rowsWritten = info.rows } = await store.append({ tenant, handle }, rows, options);
    const durationMs = performance.now() - startMs;
    const written = { rows: info.rows, rowsWritten, bytes: info.bytes, created };
    observe({ kind: 'frame_appended', ...eventSource(call), handle, ...written, durationMs, receiveMs });
    return rowsWritten;
  });
}

/** The most handles in a message. */
const MAX_SHOWN = 20;

/** Sent again, some of the lines would be appended twice: the code must not be one for a retry. */
function partialWrite(cause: unknown, stored: readonly string[]): unknown {
  if (stored.length === 0) return cause;
  const shown = stored.slice(0, MAX_SHOWN).map(quoted).join(', ');
  const more = stored.length > MAX_SHOWN ? ` and ${stored.length - MAX_SHOWN} more` : '';
  const reason = cause instanceof ServiceError ? cause.message : 'The server failed to append them.';
  return new ServiceError('partial_write', `Only the lines of ${shown}${more} are stored, and no others: ${reason}`, {
    hint: 'Send the lines of the other tables again, and not those of these tables.',
    cause,
  });
}

/** The memory of the lines of a request. */
interface LineBudget extends ByteBudget {
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
