import { type TsdbProxy, TsdbCredentialsError } from '@svc/tsdb-proxy';
import type { Audit } from './audit.ts';
import type { EngineName } from './engine-names.ts';
import { engineNotConfigured } from './engine-not-configured.ts';
import { endWithResponse } from './end-with-response.ts';
import type { QueryParts } from './query-operations.ts';
import { eventSource } from './read-operations.ts';
import type { Service } from './service.ts';

/** Dependencies of `createForward`. */
export interface ForwardParts extends Pick<QueryParts, 'begin' | 'observe' | 'startQuery'> {
  /** Undefined if none is configured. */
  readonly tsdb: TsdbProxy | undefined;
  /** The configured engines, for the error if there is no database. */
  readonly engines: () => readonly EngineName[];
}

/** Creates the operation that forwards SQL to the time-series database. */
export function createForward({ tsdb, engines, begin, observe, startQuery }: ForwardParts): Service['forward'] {
  return async (call, request) => {
    begin(call, 'forward');
    if (tsdb === undefined) throw engineNotConfigured('tsdb', engines());
    const end = request.path === '/chk' ? undefined : startQuery(call.tenant);
    const startMs = performance.now();
    const response = await tsdb.forward(call, request).catch((error: unknown) => {
      end?.();
      if (error instanceof TsdbCredentialsError) observe({ kind: 'tsdb_refused_credentials', ...eventSource(call) });
      throw error;
    });
    const durationMs = performance.now() - startMs;
    observe({ kind: 'query_forwarded', ...eventSource(call), status: response.status, durationMs });
    return end === undefined ? response : endWithResponse(response, end);
  };
}

/** Adds the audit to the operation. A check of an import has no SQL. */
export function audited(forward: Service['forward'], audit: Audit): Service['forward'] {
  return (call, request) =>
    request.path === '/chk' ? forward(call, request) : audit.forward(call, () => forward(call, request));
}
