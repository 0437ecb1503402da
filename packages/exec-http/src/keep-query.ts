import { quoted, ServiceError } from '@svc/errors';
import type { PutResult } from '@svc/frames';
import { type Service, SQL_TARGETS } from '@svc/service';
import * as v from 'valibot';
import type { RequestContext } from './endpoint.ts';
import { parsedJson } from './exec-params.ts';
import { type Params, parseQueryString, single } from './query-string.ts';
import { readText } from './read-text.ts';
import type { BodyChunks } from './request-body.ts';
import { putOptions } from './write-frame.ts';

const MAX_BYTES = 1024 * 1024;
const HINT =
  'Send {"sql": "select …"}, and if wanted "engine", "handle", "ttl" in seconds and "params" as a list, whole numbers past 2^53 as texts.';

/** JSON has lost the digits of a longer one by the time it is seen here. */
const ExactNumber = v.pipe(
  v.number(),
  v.check((n) => !Number.isInteger(n) || Number.isSafeInteger(n)),
);

const KeepBody = v.strictObject({
  sql: v.string(),
  engine: v.optional(v.picklist(SQL_TARGETS)),
  handle: v.optional(v.string()),
  ttl: v.optional(v.nullable(v.number())),
  params: v.optional(v.array(v.union([v.null(), v.boolean(), ExactNumber, v.string()]))),
});

/** Keeps the answer of the query that a body describes. */
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

/** The others describe rows in the body, or belong into the body: ignored, they would silently mean nothing. */
function checkNames(params: Params): void {
  const unknown = params.map(([name]) => name).find((name) => !['fmt', 'ttl'].includes(name));
  if (unknown === undefined) return;
  throw new ServiceError('invalid_argument', `The parameter ${quoted(unknown)} has no meaning with SQL in the body.`, {
    hint: HINT,
  });
}

/** The time to live may be in the URL, as for every other write, or in the body. */
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
  throw new ServiceError('invalid_argument', `${what} is not what keeps the answer of a query.`, { hint: HINT });
}
