import { type Caller, ENCODINGS } from '@svc/frames';
import { type Service, SQL_TARGETS, type SqlTarget } from '@svc/service';
import type { HandlersOf } from '../endpoint.ts';
import { jsonResponse } from '../json-response.ts';

/** The kinds of credentials of callers. */
export type AuthenticationKind = 'token' | 'jwt' | 'certificate';

/** What the host knows about its server; `/info` reports it. */
export interface HostInfo {
  /** The kinds of credentials that a request can have. Default: not reported. */
  readonly authentication?: readonly AuthenticationKind[] | undefined;
  /** What the console of the server may do. Default: not reported. */
  readonly console?: { readonly keepsHistory: boolean } | undefined;
  /** The limits of the engine for SQL over frames, by their names in the response. Default: not reported. */
  readonly limits?: Readonly<Record<string, number | null>> | undefined;
}

/** Options of `/info`. */
export interface InfoOptions {
  readonly service: Service;
  readonly host?: HostInfo | undefined;
  readonly defaultEngine?: SqlTarget | undefined;
  readonly maxRows?: number | undefined;
  readonly hasCallers: boolean;
}

/** Handles `/info`: what this server can do, for programs. */
export function infoHandlers(options: InfoOptions): HandlersOf<'GET'> {
  return { GET: ({ call }) => jsonResponse(infoOf(options, call.caller)) };
}

function infoOf(options: InfoOptions, caller: Caller | undefined): object {
  const { service, host = {}, defaultEngine = 'tsdb', maxRows, hasCallers } = options;
  const { version, engines, hasTsdb, uploadFormats, frameFileFormats, maxUploadBytes, encodeParquet } = service;
  return {
    version,
    engines: SQL_TARGETS.filter((name) => (name === 'tsdb' ? hasTsdb : engines.includes(name))),
    defaultEngine,
    formats: {
      in: uploadFormats,
      out: RESULT_FORMATS.filter((name) => name !== 'parquet' || encodeParquet !== undefined),
      files: frameFileFormats,
    },
    limits: { maxRows: maxRows ?? null, maxUploadBytes, ...host.limits },
    authentication: { isRequired: hasCallers, ...(host.authentication && { kinds: host.authentication }) },
    ...(host.console && { console: host.console }),
    ...(caller && { caller: { tenant: caller.tenant, permissions: [...caller.permissions].toSorted() } }),
  };
}

const RESULT_FORMATS = Object.entries(ENCODINGS).flatMap(([name, row]) => ('out' in row ? [name] : []));
