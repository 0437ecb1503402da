import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { createYield } from '@svc/frames/async';
import { limitBytes, onEachBatch } from '@svc/frames/streams';
import type { Service, SqlTarget } from '@svc/service';
import {
  type AuthorizeTarget,
  type ExecRequest,
  type ExecRules,
  type HandleRequest,
  parseExecRequest,
  parseExpRequest,
  type SqlRequest,
  sqlTarget,
} from '../request/exec-request.ts';
import { type Params, parseForm, parseQueryString } from '../request/query-string.ts';
import { openBody, readText } from '../request/request-body.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { FullStatement } from '../request/short-statement.ts';
import type { EndpointResponse } from '../response/endpoint-response.ts';
import { type FrameReads, readFrame } from '../response/read-frame.ts';
import { canReuseBuffers, serverTiming, tableHeaders, writeTable } from '../response/write-table.ts';
import { mediaTypeOf } from '../upload/upload-body.ts';
import { type Handler, type HandlersOf, methodNotAllowed } from './add-endpoints.ts';
import { sendFile } from './file-handlers.ts';

/** Handles `/exec`: reads a frame or runs SQL and returns a JSON table, or forwards SQL. */
export function execHandlers(reads: FrameReads, rules: ExecRules): HandlersOf<'GET' | 'POST'> {
  return readHandlers('/exec', reads, rules, parseExecRequest);
}

/** Handles `/exp`: the same in the export formats. */
export function expHandlers(reads: FrameReads, rules: ExecRules): HandlersOf<'GET' | 'POST'> {
  return readHandlers('/exp', reads, rules, parseExpRequest);
}

/** True for a whole frame as Parquet: clients can read ranges of its file. */
function isFile({ format, rows, columns }: HandleRequest, { frameFileFormats }: Service): boolean {
  const isWhole = rows.offset === 0 && rows.limit === undefined && columns === undefined;
  return format === 'parquet' && isWhole && frameFileFormats.includes(format);
}

/** Forwards SQL. The timing of the database stays the first. */
async function forwardSql(
  service: Service,
  { call }: RequestContext,
  request: Parameters<Service['forward']>[1],
): Promise<EndpointResponse> {
  const startMs = performance.now();
  const forwarded = await service.forward(call, request);
  const { 'server-timing': own } = serverTiming({ waitMs: 0, executeMs: performance.now() - startMs });
  const { 'server-timing': theirs } = forwarded.headers;
  forwarded.headers['server-timing'] = theirs === undefined ? own : `${theirs}, ${own}`;
  return { forwarded };
}

function readHandlers(
  path: '/exec' | '/exp',
  reads: FrameReads,
  rules: ExecRules,
  parse: (params: Params, rules: ExecRules, authorize: AuthorizeTarget) => ExecRequest,
): HandlersOf<'GET' | 'POST'> {
  const { service } = reads;

  function authorize({ call }: RequestContext, target: 'handle' | SqlTarget): void {
    if (target === 'handle') service.authorize(call, 'readFrame');
    else if (target === 'tsdb') service.authorize(call, 'forward');
    else service.authorize(call, 'query', target);
  }

  async function respond(context: RequestContext, params: Params): Promise<EndpointResponse> {
    const request = parse(params, rules, (target) => authorize(context, target));
    if (request.kind === 'handle' && isFile(request, service))
      return sendFile(reads, context, request.handle, 'parquet');
    if (request.kind === 'handle') return readFrame(reads, context, request);
    if (request.kind === 'sql') return runSql(service, context, request);
    return forwardSql(service, context, { path, params: request.params });
  }
  return {
    GET: (context) => {
      const params = parseQueryString(context.c.req.url);
      if (context.c.req.method === 'HEAD' && params.some(([name]) => name === 'query')) {
        return methodNotAllowed('HEAD does not run SQL.', ['GET', 'POST']);
      }
      return respond(context, params);
    },
    POST: async (context) => {
      const params = parseQueryString(context.c.req.url);
      // The engine may be a field of a form; else it is known before the body is read.
      const target =
        mediaTypeOf(context.c.req.header('content-type') ?? '') === FORM ? undefined : sqlTarget(params, rules);
      if (target !== undefined) authorize(context, target);
      return respond(context, [...params, ...(await sqlParams(context))]);
    },
  };
}

/** Far more than fits in the URL to the database. */
const MAX_BYTES = 1024 * 1024;
const FORM = 'application/x-www-form-urlencoded';
const PLAIN = ['application/sql', 'text/plain'];

/** Reads the parameters in the body of `POST /exec`: plain SQL, or a form. */
async function sqlParams(context: RequestContext): Promise<Params> {
  const contentType = context.c.req.header('content-type') ?? '';
  const mediaType = mediaTypeOf(contentType);
  if (mediaType !== FORM && !PLAIN.includes(mediaType)) {
    const given =
      contentType === '' ? 'Content-Type is missing' : `Content-Type ${quoted(contentType)} is not supported for SQL`;
    throw new ServiceError('unsupported_media_type', `${given}.`, {
      hint: `Send the SQL as ${PLAIN.join(' or ')}, or as the field query of ${FORM}.`,
    });
  }
  // Each pass over a long text takes milliseconds.
  const pause = createYield();
  const text = await readText(openBody(context), MAX_BYTES, 'Send shorter SQL.');
  await pause();
  const params: Params = mediaType === FORM ? parseForm(text) : [['query', text]];
  await pause();
  return params;
}

/** Responds with the rows of an SQL statement over frames. */
async function runSql(service: Service, context: RequestContext, request: SqlRequest): Promise<EndpointResponse> {
  const { call } = context;
  context.format = request.format;
  const { sql, engine, params, rows, columns, full = { sql, shift: 0, shiftedFrom: 0 } } = request;
  // Without a limit, the rows of the response are all.
  const counting = request.countsAll && request.format === 'json' && (rows.offset > 0 || rows.limit !== undefined);
  let total = 0;
  const reuseBuffers = canReuseBuffers(request.format);
  const startNs = process.hrtime.bigint();
  const options = { engine, params, ...rows, ...(columns && { columns }), reuseBuffers };
  const onTotal = (count: number): void => void (total = count);
  const result = await service
    .query(call, full.sql, { ...options, ...(counting && { onTotal }) })
    .catch((error: unknown) => {
      throw request.full === undefined ? error : inShortForm(error, sql, full);
    });
  const firstRowsNs = process.hrtime.bigint();
  const timings = () => ({
    execute: Number(firstRowsNs - startNs),
    encode: Number(process.hrtime.bigint() - firstRowsNs),
  });
  context.rows = 0;
  const stream = onEachBatch(result, ({ numRows }) => {
    context.rows = (context.rows ?? 0) + numRows;
  });
  const onBytes = (bytes: number): void => result.sent(bytes);
  const table = {
    stream,
    query: sql,
    ...(counting && { count: () => total }),
    timings,
    onBytes,
    close: (error?: unknown) => result.close(error),
  };
  return {
    headers: { ...tableHeaders('query', request), ...serverTiming(result.timing) },
    body: writeTable(service, call, table, request),
    reuseBuffers,
    isPacked: request.format === 'parquet',
  };
}

/** Returns the error of a full statement as one of the short statement from the client. */
function inShortForm(error: unknown, query: string, { shift, shiftedFrom }: FullStatement): unknown {
  if (!(error instanceof ServiceError) || error.code !== 'invalid_sql') return error;
  const { code, message, hint, position } = error;
  const back = position !== undefined && position >= shiftedFrom ? shift : 0;
  const at = position === undefined ? {} : { position: Math.max(0, position - back) };
  return new ServiceError(code, message, { hint, query, ...at, cause: error });
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
const ALLOW = { allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS' };

/**
 * Forwards any request to the time-series database, with its method, body and streaming: for the paths that this server does
 * not have. The permission is checked before the body is read. OPTIONS is answered here: browsers send it without credentials.
 */
export function forwardHandler(service: Service): Handler {
  return async (context) => {
    const { c, call } = context;
    const { method } = c.req;
    if (method === 'OPTIONS') return { status: 204, headers: ALLOW };
    const operation = READS.has(method) ? 'forwardRead' : 'forwardChange';
    service.authorize(call, operation);
    const { pathname, search } = new URL(c.req.url);
    const request = { method, target: pathname + search, headers: c.req.header() };
    if (operation === 'forwardRead') return { forwarded: await service.forwardRead(call, request) };
    const body = limitBytes(openBody(context), service.maxUploadBytes);
    return { forwarded: await service.forwardChange(call, { ...request, body }) };
  };
}
