import { createHash } from 'node:crypto';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { createHandle, ENCODINGS, type ListedFrame, type ListOptions } from '@svc/frames';
import type { Service } from '@svc/service';
import { TTL_HINT } from '@svc/service/internal';
import * as v from 'valibot';
import { matchingEtag, refuseConditions } from '../request/conditions.ts';
import { parseCount, parsedJson, parseFlag } from '../request/exec-params.ts';
import { lastSegment, mapGiven, type Params, parseQueryString, single } from '../request/query-string.ts';
import { beginsWith, openBody, readText } from '../request/request-body.ts';
import type { RequestContext } from '../request/request-context.ts';
import { type EndpointResponse, jsonList } from '../response/endpoint-response.ts';
import { serverTiming } from '../response/write-table.ts';
import { appendQuery, keepQuery } from '../upload/stored-query.ts';
import { openUpload, type UploadBody } from '../upload/upload-body.ts';
import { frameResponse, writeFrame, writeUpload } from '../upload/write-frame.ts';
import type { HandlersOf } from './add-endpoints.ts';
import type { Method } from './endpoint-table.ts';

const MAX_PATCH_BYTES = 16 * 1024;

/** The body of a change to a frame: when it expires, or its new handle. */
export const PatchBody = v.union([
  v.strictObject({ ttl: v.nullable(v.number()) }),
  v.strictObject({ handle: v.string() }),
]);

/** Handles `/frames`: lists frames, and creates them from rows, under a generated handle, or from SQL. */
export function frameListHandlers(service: Service): HandlersOf<'GET' | 'POST'> {
  return {
    GET: async ({ c, call }) => {
      const params = parseQueryString(c.req.url);
      const hasColumns = mapGiven(single(params, 'columns'), (text) => parseFlag('columns', text)) ?? true;
      const frames = await service.listFrames(call, listOptions(params));
      return revalidated(await listBody(frames, hasColumns), c.req.header('if-none-match'));
    },
    POST: async (context) => {
      const { pathname } = new URL(context.c.req.url);
      const { response, handle } = await newFrame(service, context);
      return { ...response, headers: { ...response.headers, location: `${pathname}/${handle}` } };
    },
  };
}

/** The body of a list in chunks, and a digest of it. */
interface ListBody {
  readonly chunks: readonly Uint8Array[];
  readonly digest: string;
}

async function listBody(frames: readonly ListedFrame[], hasColumns: boolean): Promise<ListBody> {
  const hash = createHash('sha256');
  const chunks: Uint8Array[] = [];
  for await (const chunk of jsonList('frames', shownFrames(frames, hasColumns))) {
    hash.update(chunk);
    chunks.push(chunk);
  }
  return { chunks, digest: hash.digest('hex').slice(0, ETAG_DIGITS) };
}

function* shownFrames(frames: readonly ListedFrame[], hasColumns: boolean): Generator<object> {
  for (const frame of frames) {
    const { columns: _columns, ...others } = frame;
    yield hasColumns ? frame : others;
  }
}

/** Returns a response whose ETag is the digest of its body; 304 if the client has it already. */
function revalidated({ chunks, digest: version }: ListBody, ifNoneMatch: string | undefined): EndpointResponse {
  const etag = matchingEtag(ifNoneMatch, version);
  if (etag !== undefined) return { status: 304, headers: { etag } };
  async function* body(): AsyncGenerator<Uint8Array, void> {
    yield* chunks;
  }
  return { headers: { 'content-type': ENCODINGS.json.out.contentType }, body: body(), version };
}

const ETAG_DIGITS = 32;

type FrameResponse = ReturnType<typeof frameResponse>;

/** Creates a frame from the rows or the SQL in the body: rows are a JSON array, SQL is in a JSON object. */
async function newFrame(
  service: Service,
  context: RequestContext,
): Promise<{ readonly response: FrameResponse; readonly handle: string }> {
  const { isQuery, upload } = await openRowsOrQuery(service, context);
  if (!isQuery) {
    const handle = createHandle();
    return { response: await writeUpload(service, context, handle, 'putFrame', upload), handle };
  }
  const { info, created, timing } = await keepQuery(service, context, upload.body);
  const response = frameResponse(info, created ? 201 : 200);
  return { response: { ...response, headers: { ...response.headers, ...serverTiming(timing) } }, handle: info.handle };
}

/** Appends the rows in the body, or the result of the SQL in it. */
async function addRows(service: Service, context: RequestContext, handle: string): Promise<FrameResponse> {
  const { isQuery, upload } = await openRowsOrQuery(service, context);
  if (!isQuery) return writeUpload(service, context, handle, 'appendFrame', upload);
  return frameResponse(await appendQuery(service, context, handle, upload.body));
}

async function openRowsOrQuery(
  service: Service,
  context: RequestContext,
): Promise<{ readonly isQuery: boolean; readonly upload: UploadBody }> {
  const upload = await openUpload(service, context);
  if (upload.head !== undefined) refuseVagueQuery(upload.head);
  if (upload.format !== 'json') return { isQuery: false, upload };
  const { matches, body } = await beginsWith(upload.body, '{');
  return { isQuery: matches, upload: { ...upload, body } };
}

/** Refuses what looks like a query but could be a row, if `Content-Type` does not tell. */
function refuseVagueQuery(head: Uint8Array): void {
  if (!/^\s*\{\s*"sql"\s*:/.test(Buffer.from(head).toString('latin1'))) return;
  throw new ServiceError('unsupported_media_type', 'The body could be a query or a row: Content-Type does not tell.', {
    hint: 'Send a query as application/json, and rows as application/x-ndjson.',
  });
}

/** Handles `/frames/{handle}`. */
export function frameHandlers(service: Service): HandlersOf<Method> {
  return {
    GET: async (context) => frameResponse(await service.describeFrame(context.call, handleOf(context))),
    PUT: (context) => writeFrame(service, context, handleOf(context), 'putFrame'),
    POST: (context) => addRows(service, context, handleOf(context)),
    PATCH: async (context) => {
      refuseConditions(context);
      const handle = handleOf(context);
      const change = await patchBody(context);
      const isRename = 'handle' in change;
      return frameResponse(
        isRename
          ? await service.renameFrame(context.call, handle, change.handle)
          : await service.expireFrame(context.call, handle, change.ttl),
      );
    },
    DELETE: async (context) => {
      refuseConditions(context);
      await service.dropFrame(context.call, handleOf(context));
      return { status: 204 };
    },
  };
}

function handleOf({ c }: RequestContext): string {
  return lastSegment(c.req.url);
}

function listOptions(params: Params): ListOptions {
  const prefix = single(params, 'prefix');
  const after = single(params, 'after');
  const limit = single(params, 'limit');
  return {
    ...(prefix !== undefined && { prefix }),
    ...(after !== undefined && { after }),
    ...(limit !== undefined && { limit: parseCount('limit', limit, 'Write limit=100 for the first 100 frames.') }),
  };
}

async function patchBody(context: RequestContext): Promise<v.InferOutput<typeof PatchBody>> {
  const hint = `Send {"ttl": 3600} to expire the frame in an hour, {"ttl": null} to keep it, {"handle": "b"} to rename it. ${TTL_HINT}`;
  const text = await readText(openBody(context), MAX_PATCH_BYTES, hint);
  const parsed = v.safeParse(PatchBody, parsedJson(text));
  if (parsed.success) return parsed.output;
  throw new ServiceError('invalid_argument', `The body ${quoted(text)} is not a valid change to a frame.`, { hint });
}
