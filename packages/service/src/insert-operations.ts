import { ServiceError } from '@svc/errors';
import { type Call, type FrameRef, type FrameStream, parseHandle } from '@svc/frames';
import { rowsToInsert } from '@svc/frames/internal';
import type { Schema } from 'apache-arrow';
import { defaultOf, engineOf, namesOf } from './configured-engines.ts';
import { eventSource } from './event-source.ts';
import { shownInfo } from './frame-operations.ts';
import { limitRows } from './limit-upload.ts';
import type { QueryParts } from './query-operations.ts';
import { notFound, schemaOf } from './read-operations.ts';
import type { InsertedRows, InsertOptions, Service } from './service.ts';
import { startQuery } from './start-query.ts';

/** Dependencies of the operations that insert rows. */
export type InsertParts = Omit<QueryParts, 'forward'>;

/** Creates the operations that append rows by the order of their columns. */
export function createInsertOperations(parts: InsertParts): Pick<Service, 'appendQuery' | 'appendRows'> {
  const { store, engines, maxUploadBytes, quotaOf, audit, begin, observe } = parts;

  async function insert(
    call: Call,
    { ref, schema }: { readonly ref: FrameRef; readonly schema: Schema },
    rows: FrameStream,
    { columns }: InsertOptions,
  ): Promise<InsertedRows> {
    const { tenant, handle } = ref;
    const startMs = performance.now();
    const added = limitRows(rowsToInsert(schema, rows, columns), maxUploadBytes);
    const conditions = { ifPresent: true, quota: quotaOf(tenant), signal: call.signal, origin: call };
    const {
      info,
      rowsWritten = 0,
      created,
    } = await store.append(ref, added, conditions).catch((error: unknown) => {
      const isGone = error instanceof ServiceError && error.code === 'version_conflict';
      return isGone ? notFound(handle) : Promise.reject(error);
    });
    const written = { rows: info.rows, rowsWritten, bytes: info.bytes, created };
    const durationMs = performance.now() - startMs;
    observe({ kind: 'frame_appended', ...eventSource(call), handle, ...written, durationMs });
    return { info: shownInfo(call, info), rowsWritten };
  }

  return {
    appendRows: (call, name, rows, options = {}) =>
      audit.write(call, 'appendRows', name, async () => {
        begin(call, 'appendRows');
        const ref = { tenant: call.tenant, handle: parseHandle(name) };
        const schema = (await schemaOf(store, ref)) ?? notFound(name);
        return insert(call, { ref, schema }, rows, options);
      }),

    appendQuery: (call, name, sql, { engine = defaultOf(namesOf(engines)), params = [], ...options } = {}) =>
      audit.write(call, 'appendQuery', name, async () => {
        begin(call, 'appendQuery', engine);
        const ref = { tenant: call.tenant, handle: parseHandle(name) };
        // Do not run a query whose result cannot be appended.
        const schema = (await schemaOf(store, ref)) ?? notFound(name);
        const run = engineOf(engines, engine);
        const running = parts.running.begin(call, sql, engine);
        try {
          const result = await startQuery(running, run, { params }, parts.idleTimeoutMs);
          try {
            const rows = limitRows(result, maxUploadBytes, (bytes) => running.checkBytes(bytes));
            const inserted = await insert(running.call, { ref, schema }, rows, options);
            running.end();
            return inserted;
          } finally {
            result.close();
          }
        } catch (error) {
          running.end(error);
          throw error;
        }
      }),
  };
}
