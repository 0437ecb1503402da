import { quoted, ServiceError } from '@svc/errors';
import type { PutResult } from '@svc/frames';
import { type Service, SQL_TARGETS } from '@svc/service';
import * as v from 'valibot';
import type { Exchange } from './endpoint.ts';
import { parsedJson } from './exec-params.ts';
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
export async function keepQuery(service: Service, exchange: Exchange, body: BodyChunks): Promise<PutResult> {
  const { sql, engine, handle, ttl, params } = await keepBody(body);
  return service.keepQuery(exchange.call, sql, {
    ...putOptions(exchange, undefined),
    ...(engine && { engine }),
    ...(handle !== undefined && { handle }),
    ...(typeof ttl === 'number' && { ttlSeconds: ttl }),
    ...(params && { params }),
  });
}

async function keepBody(chunks: BodyChunks): Promise<v.InferOutput<typeof KeepBody>> {
  const text = await readText(chunks, MAX_BYTES, 'Send shorter SQL.');
  const parsed = v.safeParse(KeepBody, parsedJson(text));
  if (parsed.success) return parsed.output;
  const key = parsed.issues[0].path?.[0]?.key;
  const what = typeof key === 'string' ? `${quoted(key)} of the body ${quoted(text)}` : `The body ${quoted(text)}`;
  throw new ServiceError('invalid_argument', `${what} is not what keeps the answer of a query.`, { hint: HINT });
}
