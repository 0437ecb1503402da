import { quoted, ServiceError } from '@svc/errors';
import type { PutResult } from '@svc/frames';
import { type Service, SQL_TARGETS } from '@svc/service';
import * as v from 'valibot';
import type { RequestContext } from './request-context.ts';
import { parsedJson } from './exec-params.ts';
import { type Params, parseQueryString, single } from './query-string.ts';
import { readText } from './read-text.ts';
import type { BodyChunks } from './request-body.ts';
import { putOptions } from './upload/write-frame.ts';

const MAX_BYTES = 1024 * 1024;
const HINT =
  'Send {"sql": "select …"}; "engine", "handle", "ttl" in seconds and the list "params" are optional. Send integers beyond 2^53 as strings.';

/** `JSON.parse` has already lost the digits of a larger integer, and reads `1e400` as infinite. */
const ExactNumber = v.pipe(
  v.number(),
  v.check((n) => Number.isFinite(n) && (!Number.isInteger(n) || Number.isSafeInteger(n))),
);

const KeepBody = v.strictObject({
  sql: v.string(),
  engine: v.optional(v.picklist(SQL_TARGETS)),
  handle: v.optional(v.string()),
  ttl: v.optional(v.nullable(v.number())),
  params: v.optional(v.array(v.union([v.null(), v.boolean(), ExactNumber, v.string()]))),
});

/** Stores the result of the query in the body as a frame. */
export async function keepQuery(service: Service, context: RequestContext, body: BodyChunks): Promise<PutResult> {
  const given = parseQueryString(context.c.req.url);
  checkNames(given);
  const options = putOptions(context, single(given, 'ttl'));
  const { sql, engine, handle, ttl, params } = await keepBody(body);
  return service.keepQuery(context.call, sql, {
    ...options,
    ...(engine && { engine }),
    ...(handle !== undefined && { handle }),
    ...ttlOption(options.ttlSeconds, ttl),
    ...(params && { params }),
  });
}

/** Refuses parameters that apply to rows or belong in the body: they would be ignored silently. */
function checkNames(params: Params): void {
  const unknown = params.map(([name]) => name).find((name) => !['fmt', 'ttl'].includes(name));
  if (unknown === undefined) return;
  throw new ServiceError('invalid_argument', `The parameter ${quoted(unknown)} is not allowed with SQL in the body.`, {
    hint: HINT,
  });
}

/** Returns the TTL, which may be in the URL, as for every other write, or in the body. */
function ttlOption(inUrl: number | undefined, inBody: number | null | undefined): { readonly ttlSeconds?: number } {
  if (inUrl !== undefined && inBody !== undefined && inUrl !== inBody) {
    throw new ServiceError('invalid_argument', `ttl is ${inUrl} in the URL, and ${inBody} in the body.`, {
      hint: 'Send ttl once.',
    });
  }
  const ttlSeconds = inUrl ?? inBody;
  return typeof ttlSeconds === 'number' ? { ttlSeconds } : {};
}

async function keepBody(chunks: BodyChunks): Promise<v.InferOutput<typeof KeepBody>> {
  const text = await readText(chunks, MAX_BYTES, 'Send shorter SQL.');
  const parsed = v.safeParse(KeepBody, parsedJson(text));
  if (parsed.success) return parsed.output;
  const key = parsed.issues[0].path?.[0]?.key;
  const what = typeof key === 'string' ? `${quoted(key)} of the body ${quoted(text)}` : `The body ${quoted(text)}`;
  throw new ServiceError('invalid_argument', `${what} is not a valid request to store a query result.`, { hint: HINT });
}
