import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { SqlValue } from '@svc/frames';
import { ENGINE_NAMES, type KeptQuery, type Service, type ShownInfo, SQL_TARGETS } from '@svc/service';
import * as v from 'valibot';
import { parameterNames, UPLOAD_PARAMS } from '../endpoints/parameters.ts';
import { refuseConditions } from '../request/conditions.ts';
import { parsedJson, parseSqlValue } from '../request/exec-params.ts';
import { MAX_PARAMETERS, type Params, parseQueryString, single, tooManyParameters } from '../request/query-string.ts';
import { type BodyChunks, readText } from '../request/request-body.ts';
import type { RequestContext } from '../request/request-context.ts';
import { putOptions } from './write-frame.ts';

const MAX_BYTES = 1024 * 1024;
const INTEGERS = 'Send integers beyond 2^53 as strings.';
const KEEP: BodyKind = {
  what: 'store a query result',
  hint: `Send {"sql": "select …"}; "engine", "handle", "ttl" in seconds and the list "params" are optional. ${INTEGERS}`,
};
const APPEND: BodyKind = {
  what: 'append a query result',
  hint: `Send {"sql": "select …"}; "engine" and the lists "columns" and "params" are optional. ${INTEGERS} Send rows as an array.`,
};

/** How errors name a body. */
interface BodyKind {
  readonly what: string;
  readonly hint: string;
}

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

/** The body of a request to append the result of a query. */
export const AppendBody = v.strictObject({
  sql: v.string(),
  engine: v.optional(v.picklist(ENGINE_NAMES)),
  columns: v.optional(v.array(v.string())),
  params: v.optional(v.array(Param)),
});

/** Appends the result of the query in the body to a frame, by the order of the columns. */
export async function appendQuery(
  service: Service,
  context: RequestContext,
  handle: string,
  body: BodyChunks,
): Promise<ShownInfo> {
  const [name] = parseQueryString(context.c.req.url).find(([given]) => given !== 'fmt') ?? [];
  if (name !== undefined) throw notWithSql(name, APPEND);
  refuseConditions(context);
  const { sql, engine, columns, params } = await queryBody(AppendBody, body, APPEND);
  const options = { ...(engine && { engine }), ...(columns && { columns }), ...(params && { params }) };
  return (await service.appendQuery(context.call, handle, sql, options)).info;
}

/** Stores the result of the query in the body as a frame. */
export async function keepQuery(service: Service, context: RequestContext, body: BodyChunks): Promise<KeptQuery> {
  const given = parseQueryString(context.c.req.url);
  checkNames(given);
  const options = putOptions(context, single(given, 'ttl'));
  const { sql, engine, handle, ttl, params } = await queryBody(KeepBody, body, KEEP);
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

/** Refuses parameters of rows, and those for the body: they would be ignored silently. */
function checkNames(params: Params): void {
  const unknown = params.map(([name]) => name).find((name) => !ALLOWED.has(name));
  if (unknown !== undefined) throw notWithSql(unknown, KEEP);
}

function notWithSql(name: string, { hint }: BodyKind): ServiceError {
  return new ServiceError('invalid_argument', `The parameter ${quoted(name)} is not allowed with SQL in the body.`, {
    hint,
  });
}

/** Returns the TTL: from the URL, as for every other write, or from the body. */
function ttlOption(inUrl: number | undefined, inBody: number | null | undefined): { readonly ttlSeconds?: number } {
  if (inUrl !== undefined && inBody !== undefined && inUrl !== inBody) {
    throw new ServiceError('invalid_argument', `ttl is ${inUrl} in the URL, and ${inBody} in the body.`, {
      hint: 'Send ttl once.',
    });
  }
  const ttlSeconds = inUrl ?? inBody;
  return typeof ttlSeconds === 'number' ? { ttlSeconds } : {};
}

type GivenParams = readonly v.InferOutput<typeof Param>[];

async function queryBody<T extends { readonly params?: GivenParams | undefined }>(
  schema: v.GenericSchema<unknown, T>,
  chunks: BodyChunks,
  kind: BodyKind,
): Promise<Omit<T, 'params'> & { readonly params?: readonly SqlValue[] }> {
  const text = await readText(chunks, MAX_BYTES, 'Send shorter SQL.');
  if (syntaxLength(text) > MAX_SYNTAX_LENGTH) throw tooManyValues();
  const value = parsedJson(text);
  const given = v.safeParse(ParamTexts, value);
  if (given.success && given.output.params.length > MAX_PARAMETERS) throw tooManyParameters();
  const parsed = v.safeParse(schema, value);
  if (!parsed.success) throw invalidBody(text, parsed.issues[0].path?.[0]?.key, kind);
  const { params, ...request } = parsed.output;
  return params === undefined ? request : { ...request, params: sqlValues(text, params, kind) };
}

/** The most characters of a body besides its strings: `JSON.parse` takes 0.3 s for half a million brackets. */
const MAX_SYNTAX_LENGTH = 64 * 1024;

function tooManyValues(): ServiceError {
  return new ServiceError(
    'invalid_argument',
    `The body has more than ${MAX_SYNTAX_LENGTH} characters besides its strings.`,
    {
      hint: 'Send fewer parameters, or put the values as a frame and join it.',
    },
  );
}

/** The rest of a string after its first quote. */
const REST_OF_STRING = /[^"\\]*(?:\\.[^"\\]*)*"/sy;

/** Counts the characters of a JSON text outside its strings, up to about the limit. */
function syntaxLength(json: string): number {
  let length = 0;
  for (let at = 0; length <= MAX_SYNTAX_LENGTH && at < json.length; at = REST_OF_STRING.lastIndex) {
    const quote = json.indexOf('"', at);
    if (quote < 0) return length + json.length - at;
    length += quote + 2 - at;
    REST_OF_STRING.lastIndex = quote + 1;
    // It is not JSON if the string does not end.
    if (!REST_OF_STRING.test(json)) break;
  }
  return length;
}

/** The strings and the numbers of a JSON text. */
const STRINGS_AND_NUMBERS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
const ParamTexts = v.object({ params: v.array(v.unknown()) });

/**
 * Returns the parameters of a body as `/exec` reads them: a number with a decimal point or an exponent is a DOUBLE, which
 * `JSON.parse` alone does not tell from an integer.
 */
function sqlValues(json: string, params: GivenParams, kind: BodyKind): readonly SqlValue[] {
  const quotedDoubles = json.replaceAll(STRINGS_AND_NUMBERS, (token) =>
    /^[-\d].*[.eE]/.test(token) ? `"${token}"` : token,
  );
  const texts = v.parse(ParamTexts, JSON.parse(quotedDoubles)).params;
  return params.map((value, i) => {
    const text = texts[i];
    if (typeof value === 'number' && typeof text === 'string') return parseSqlValue(text);
    // `JSON.parse` has already lost the digits of a larger integer.
    if (typeof value === 'number' && !Number.isSafeInteger(value)) throw invalidBody(json, 'params', kind);
    return value;
  });
}

function invalidBody(text: string, key: unknown, { what: purpose, hint }: BodyKind): ServiceError {
  const what = typeof key === 'string' ? `${quoted(key)} of the body ${quoted(text)}` : `The body ${quoted(text)}`;
  return new ServiceError('invalid_argument', `${what} is not a valid request to ${purpose}.`, { hint });
}
