import { abortError, ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { type Call, type FrameStream, type Quota, type Store } from '@svc/frames';
import {
  type ByteBudget,
  COLUMN_BYTES,
  createLineDecoder,
  createYield,
  fitLines,
  type LineTable,
} from '@svc/frames/internal';
import type { Audit } from '../audit.ts';
import { eventSource } from '../event-source.ts';
import type { Observer } from '../events.ts';
import { schemaOf } from '../read-operations.ts';
import type { LinesUpload, OperationName, Service } from '../service.ts';
import { createLineMemory } from './line-memory.ts';

/** Dependencies of `createLinesOperation`. */
export interface LinesParts {
  readonly store: Store;
  /** The longest request, as received and decompressed. */
  readonly maxLinesBytes: number;
  readonly quotaOf: (tenant: string) => Quota | undefined;
  readonly audit: Audit;
  readonly begin: (call: Call, operation: OperationName) => void;
  readonly observe: Observer;
}

/** The rows of one table, ready to append. */
interface TableRows extends Pick<LineTable, 'handle'> {
  readonly rows: FrameStream;
  /** The columns that are written, also those that the lines lack. */
  readonly columns: number;
}

/** The most tables that are appended at the same time. */
const CONCURRENT_TABLES = 8;
/** The most columns of them together: a wide table is appended alone. */
const CONCURRENT_COLUMNS = 1000;

/** Creates the operation that appends the lines of line protocol to the frames of their tables. */
export function createLinesOperation(parts: LinesParts): Pick<Service, 'maxLinesBytes' | 'writeLines'> {
  const { maxLinesBytes, audit, begin } = parts;
  const memory = createLineMemory(maxLinesBytes);

  return {
    maxLinesBytes,

    async writeLines(call, upload) {
      const budget = memory.open(call.tenant);
      try {
        const startMs = performance.now();
        const tables = await audit.refused(call, 'writeLines', async () => {
          begin(call, 'writeLines');
          return readTables(parts, call, upload, budget);
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
  { store, maxLinesBytes }: LinesParts,
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
    // The columns that the lines lack are written, too.
    budget.take(COLUMN_BYTES * (columns - own));
    fitted.push({ handle, columns, rows: await fitLines(table, frame, { budget, pause }) });
  }
  return fitted;
}

/**
 * Appends the rows of all tables, and drops those that are stored. A failure names the tables that are stored nevertheless:
 * also the departure of the client, after which no more are written.
 */
async function appendTables(
  parts: LinesParts,
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
  { store, quotaOf, audit, observe }: LinesParts,
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

/** The most handles that a message lists. */
const MAX_SHOWN = 20;

/** A client that sent all lines again would append some of them twice: the code must not be one that clients retry. */
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
