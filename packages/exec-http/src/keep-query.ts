import { quoted, ServiceError } from '@svc/errors';
import type { SqlValue } from '@svc/frames';
import { type KeptQuery, type Service, SQL_TARGETS } from '@svc/service';
import * as v from 'valibot';
import { parameterNames, UPLOAD_PARAMS } from './endpoints/parameters.ts';
import type { RequestContext } from './request-context.ts';
import { parsedJson, parseSqlValue } from './exec-params.ts';
import { type Params, parseQueryString, single } from './query-string.ts';
import { readText } from './read-text.ts';
import type { BodyChunks } from './request-body.ts';
import { putOptions } from './upload/write-frame.ts';

const MAX_BYTES = 1024 * 1024;
const HINT =
  'Send {"sql": "select …"}; "engine", "handle", "ttl" in seconds and the list "params" are optional. Send integers beyond 2^53 as strings.';

/** `JSON.parse` reads `1e400` as infinite. */
const Param = v.union([v.null(), v.boolean(), v.pipe(v.number(), v.finite()), v.string()]);

/** The body of a request to store the result of a query. */
export const KeepBody = v.strictObject({
  sql: v.string(),
  engine: v.optional(v.picklist(SQL_TARGETS)),
  handle: v.optional(v.string()),
  ttl: v.optional(v.nullable(v.number())),
  params: v.optional(v.array(Param)),
});

/** Stores the result of the query in the body as a frame. */
export async function keepQuery(service: Service, context: RequestContext, body: BodyChunks): Promise<KeptQuery> {
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

/** The parameters of every body, whatever its format. */
const ALLOWED = parameterNames(UPLOAD_PARAMS, ({ formats }) => formats === undefined);

/** Refuses parameters that apply to rows or belong in the body: they would be ignored silently. */
function checkNames(params: Params): void {
  const unknown = params.map(([name]) => name).find((name) => !ALLOWED.has(name));
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

type KeepRequest = Omit<v.InferOutput<typeof KeepBody>, 'params'> & { readonly params?: readonly SqlValue[] };

async function keepBody(chunks: BodyChunks): Promise<KeepRequest> {
  const text = await readText(chunks, MAX_BYTES, 'Send shorter SQL.');
  const parsed = v.safeParse(KeepBody, parsedJson(text));
  if (!parsed.success) throw invalidBody(text, parsed.issues[0].path?.[0]?.key);
  const { params, ...request } = parsed.output;
  return params === undefined ? request : { ...request, params: sqlValues(text, params) };
}

/** The strings and the numbers of a JSON text. */
const STRINGS_AND_NUMBERS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
const ParamTexts = v.object({ params: v.array(v.unknown()) });

/**
 * Returns the parameters of a body as `/exec` reads them: a number with a decimal point or an exponent is a DOUBLE, which
 * `JSON.parse` alone does not tell from an integer.
 */
function sqlValues(json: string, params: readonly v.InferOutput<typeof Param>[]): readonly SqlValue[] {
  const quotedDoubles = json.replaceAll(STRINGS_AND_NUMBERS, (token) =>
    /^[-\d].*[.eE]/.test(token) ? `"${token}"` : token,
  );
  const texts = v.parse(ParamTexts, JSON.parse(quotedDoubles)).params;
  return params.map((value, i) => {
    const text = texts[i];
    if (typeof value === 'number' && typeof text === 'string') return parseSqlValue(text);
    // `JSON.parse` has already lost the digits of a larger integer.
    if (typeof value === 'number' && !Number.isSafeInteger(value)) throw invalidBody(json, 'params');
    return value;
  });
}

function invalidBody(text: string, key: unknown): ServiceError {
  const what = typeof key === 'string' ? `${quoted(key)} of the body ${quoted(text)}` : `The body ${quoted(text)}`;
  return new ServiceError('invalid_argument', `${what} is not a valid request to store a query result.`, {
    hint: HINT,
  });
}
