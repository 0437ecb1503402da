import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import {
  CSV_ENCODINGS,
  type CsvEncoding,
  csvEncodingFrom,
  type CsvOptions,
  type DeclaredColumn,
  type RowsOptions,
  type UploadFormat,
} from '@svc/frames';
import type { PutFrameOptions, Service, ShownInfo } from '@svc/service';
import { TTL_HINT } from '@svc/service/internal';
import type { ParameterRow } from '../endpoints/endpoint-table.ts';
import { UPLOAD_PARAMS } from '../endpoints/parameters.ts';
import { parseIfMatch } from '../request/conditions.ts';
import { parseCount, parseFlag } from '../request/exec-params.ts';
import { all, mapGiven, type Params, parseQueryString, single } from '../request/query-string.ts';
import type { RequestContext } from '../request/request-context.ts';
import { type EndpointResponse, jsonResponse } from '../response/endpoint-response.ts';
import { openUpload, type UploadBody } from './upload-body.ts';

/** Returns a response with the metadata of a frame. */
export function frameResponse(info: ShownInfo, status = 200): Extract<EndpointResponse, { body?: unknown }> {
  return { ...jsonResponse(info, status), version: info.version };
}

/** Puts or appends the rows in the request body, and responds with the metadata of the frame. */
export async function writeFrame(
  service: Service,
  context: RequestContext,
  handle: string,
  operation: 'putFrame' | 'appendFrame',
): Promise<Extract<EndpointResponse, { body?: unknown }>> {
  return writeUpload(service, context, handle, operation, await openUpload(service, context));
}

/** Puts or appends rows, and responds with the metadata of the frame. */
export async function writeUpload(
  service: Service,
  context: RequestContext,
  handle: string,
  operation: 'putFrame' | 'appendFrame',
  { format, body, contentType }: UploadBody,
): Promise<Extract<EndpointResponse, { body?: unknown }>> {
  const { c, call } = context;
  context.format = format;
  const params = parseQueryString(c.req.url);
  checkRowParams(params, format);
  const csv = format === 'csv' && { csv: csvOptions(params, contentType) };
  const rows = (format === 'json' || format === 'ndjson') && { rows: rowsOptions(params) };
  const options = putOptions(context, single(params, 'ttl'));
  const bytes = Number(c.req.header('content-length') ?? 0);
  const { info, created } = await service[operation](call, handle, { format, body, bytes, ...csv, ...rows }, options);
  return frameResponse(info, created ? 201 : 200);
}

/** Returns the conditions of a write and the TTL of the frame. */
export function putOptions({ c }: RequestContext, ttl: string | undefined): PutFrameOptions {
  const ifMatch = mapGiven(c.req.header('if-match'), parseIfMatch);
  const ifNoneMatch = c.req.header('if-none-match');
  if (ifNoneMatch !== undefined && ifNoneMatch.trim() !== '*') {
    throw new ServiceError(
      'invalid_argument',
      `If-None-Match: ${quoted(ifNoneMatch)} is not supported for ${c.req.method}.`,
      { hint: 'Send If-None-Match: * to put the frame only if it does not exist.' },
    );
  }
  return {
    ifAbsent: ifNoneMatch !== undefined,
    ifPresent: ifMatch === '*',
    ...(ifMatch !== undefined && ifMatch !== '*' && { ifVersion: ifMatch }),
    ...(ttl !== undefined && { ttlSeconds: parseCount('ttl', ttl, TTL_HINT) }),
  };
}

/** Parses the parameters of a CSV upload. The charset of its content type counts if `encoding` is not given. */
function csvOptions(params: Params, contentType: string): CsvOptions {
  const header = mapGiven(single(params, 'header'), (text) => parseFlag('header', text));
  const delimiter = single(params, 'delimiter');
  const columns = mapGiven(single(params, 'columns'), parseDeclaredColumns);
  const nulls = all(params, 'null');
  const encoding = parseEncoding(single(params, 'encoding'), contentType);
  const skip = mapGiven(single(params, 'skip'), (text) => parseCount('skip', text, SKIP_HINT));
  const dateFormat = single(params, 'dateformat');
  const timestampFormat = single(params, 'timestampformat');
  return {
    ...(header !== undefined && { header }),
    ...(delimiter !== undefined && { delimiter }),
    ...(columns !== undefined && { columns }),
    ...(nulls.length > 0 && { nulls }),
    ...(encoding !== undefined && { encoding }),
    ...(skip !== undefined && { skip }),
    ...(dateFormat !== undefined && { dateFormat }),
    ...(timestampFormat !== undefined && { timestampFormat }),
  };
}

/** Parses the parameters of JSON and NDJSON. */
function rowsOptions(params: Params): RowsOptions {
  const columns = mapGiven(single(params, 'columns'), parseDeclaredColumns);
  return columns === undefined ? {} : { columns };
}

const ROWS: ReadonlyMap<string, ParameterRow> = new Map(Object.entries(UPLOAD_PARAMS));

/** Refuses parameters of other formats: they would be ignored silently. */
function checkRowParams(params: Params, format: UploadFormat): void {
  for (const [name] of params) {
    const formats = ROWS.get(name)?.formats;
    if (formats === undefined || formats.includes(format)) continue;
    const either = new Intl.ListFormat('en-GB', { type: 'disjunction' });
    throw new ServiceError('invalid_argument', `The parameter ${name} does not apply to ${format}.`, {
      hint: `Leave it out, or send ${either.format(formats.map((one) => one.toUpperCase()))}.`,
    });
  }
}

const SKIP_HINT = 'Write skip=2 if the header is in the third line.';

function parseEncoding(given: string | undefined, contentType: string): CsvEncoding | undefined {
  const name = given ?? charsetOf(contentType);
  if (name === undefined) return undefined;
  const encoding = csvEncodingFrom(name);
  if (encoding !== undefined) return encoding;
  const what = given === undefined ? `The charset ${quoted(name)} of the Content-Type` : `encoding=${quoted(name)}`;
  throw new ServiceError('invalid_argument', `${what} is not supported.`, {
    hint: `Send encoding= with one of: ${CSV_ENCODINGS.join(', ')}.`,
  });
}

function charsetOf(contentType: string): string | undefined {
  const [, inQuotes, plain] = /;\s*charset\s*=\s*(?:"([^"]*)"|([^\s;"]+))/i.exec(contentType) ?? [];
  return inQuotes ?? plain;
}

/** One column and the separator after it. The comma in `px:DECIMAL(18,4)` belongs to the type. */
const COLUMN = /(?:"((?:[^"]|"")*)"|([^",()]*:[A-Za-z]\w*\([0-9 ]*,[0-9 ]*\)|[^",]*))(,|$)/y;
const NAME_AND_TYPE = /^(.+):([A-Za-z][A-Za-z0-9_]*(?:\([0-9, ]*\))?)$/s;

/**
 * Parses `columns`: comma-separated names, each with or without a type (`id:LONG`). A column with a comma or a quote in
 * its name is in double quotes, with `""` for `"`.
 */
export function parseDeclaredColumns(text: string): readonly DeclaredColumn[] {
  const columns = new Map<string, DeclaredColumn>();
  const pattern = new RegExp(COLUMN);
  while (pattern.lastIndex <= text.length) {
    const [, inQuotes, plain, separator] = pattern.exec(text) ?? [];
    const column = inQuotes?.replaceAll('""', '"') ?? plain;
    if (!column) {
      throw new ServiceError('invalid_argument', `columns=${quoted(text)} is not a list of columns.`, {
        hint: 'Write columns=id:LONG,name; put a name with a comma or a quote in double quotes, and write "" for a quote.',
      });
    }
    const [, name = column, type] = NAME_AND_TYPE.exec(column) ?? [];
    if (columns.has(name)) {
      throw new ServiceError('invalid_argument', `columns=${quoted(text)} names the column ${quoted(name)} twice.`, {
        hint: 'Name each column once.',
      });
    }
    columns.set(name, { name, ...(type !== undefined && { type }) });
    if (separator === '') break;
  }
  return [...columns.values()];
}
