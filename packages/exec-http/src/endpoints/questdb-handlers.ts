import { nearestName, ServiceError, toServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { decompressBody, isHandle, type LinePrecision } from '@svc/frames';
import { isLinePrecision, LINE_PRECISIONS, LineError } from '@svc/frames/lines';
import { limitBytes } from '@svc/frames/streams';
import type { AppendResult, Service, SqlTarget, Upload } from '@svc/service';
import { parseFlag } from '../request/exec-params.ts';
import { chkTarget, type ExecRules, parseChkRequest } from '../request/exec-request.ts';
import { mapGiven, type Params, parseQueryString, single } from '../request/query-string.ts';
import { openBody } from '../request/request-body.ts';
import type { HttpCall, RequestContext } from '../request/request-context.ts';
import { type EndpointResponse, jsonResponse } from '../response/endpoint-response.ts';
import { type FormFile, openFormFile } from '../upload/form-file.ts';
import { mediaTypeOf, parseContentEncoding, recognised } from '../upload/upload-body.ts';
import { type HandlersOf, methodNotAllowed } from './add-endpoints.ts';
import type { IMPORT_PARAMS } from './parameters.ts';

/** Handles a POST whose errors have further fields, for clients that read them. */
function handlePost(
  work: (context: RequestContext) => Promise<EndpointResponse>,
  fieldsOf: (error: ServiceError, context: RequestContext) => ImportErrorFields | LineErrorFields,
): HandlersOf<'POST'> {
  return {
    POST: async (context) => {
      try {
        return await work(context);
      } catch (thrown) {
        if (context.call.isCancelled && !(thrown instanceof ServiceError)) throw thrown;
        const error = toServiceError(thrown);
        return { error, fields: { ...fieldsOf(error, context) } };
      }
    },
  };
}

/** Handles `/write`: appends the lines in the body to frames. */
export function lineHandlers(service: Service): HandlersOf<'POST'> {
  return handlePost(
    (context) => writeLines(service, context),
    (error, { call: { requestId: errorId } }) => {
      const line = error instanceof LineError ? { line: error.line } : {};
      return { message: error.message, ...line, errorId };
    },
  );
}

async function writeLines(service: Service, context: RequestContext): Promise<EndpointResponse> {
  const { c, call } = context;
  const { maxLinesBytes: maxBytes } = service;
  const precision = mapGiven(single(parseQueryString(c.req.url), 'precision'), parsePrecision);
  const coding = parseContentEncoding(c.req.header('content-encoding'));
  const received = openBody(context);
  const body = coding === undefined ? received : decompressBody(received, coding, { maxBytes });
  const bytes = Number(c.req.header('content-length') ?? 0);
  context.rows = await service.writeLines(call, { body, precision, bytes });
  return { status: 204 };
}

function parsePrecision(text: string): LinePrecision {
  if (isLinePrecision(text)) return text;
  const names = Object.keys(LINE_PRECISIONS);
  const nearest = nearestName(text, new Map(names.map((name) => [name, name])));
  throw new ServiceError('invalid_argument', `precision=${quoted(text)} is not a unit of time.`, {
    hint: `${nearest === undefined ? '' : `Did you mean ${nearest}? `}Use one of ${names.join(', ')}.`,
  });
}

/** The fields of an error for clients of InfluxDB and QuestDB. */
export interface LineErrorFields {
  readonly message: string;
  /** The wrong line, from 1. */
  readonly line?: number;
  readonly errorId: string;
}

/** The effective parameters of an import. */
interface ImportRequest {
  /** The handle; undefined: the name of the file. */
  readonly name: string | undefined;
  readonly overwrite: boolean;
  readonly create: boolean;
  readonly csv: { readonly delimiter?: string; readonly header?: boolean };
}

/** Handles `/imp`: stores the file in a form as a frame, or appends it. */
export function importHandlers(service: Service): HandlersOf<'POST'> {
  return handlePost(
    (context) => importFile(service, context),
    ({ message: status }) => ({ status }),
  );
}

/** The field of an error for tools of QuestDB. */
export interface ImportErrorFields {
  readonly status: string;
}

async function importFile(service: Service, context: RequestContext): Promise<EndpointResponse> {
  const { c, call } = context;
  const { name, overwrite, create, csv } = importRequest(parseQueryString(c.req.url));
  const { file, hasSchema } = await openForm(service, context);
  if (hasSchema && overwrite) throw schemaOfNew();
  const handle = name ?? file.name;
  // The text of a file is CSV, whatever it looks like; other formats are known by their first bytes.
  const { format, body } = await recognised(service, { body: file.body, contentType: '' }, { text: 'csv' });
  context.format = format;
  const bytes = Number(c.req.header('content-length') ?? 0);
  const upload: Upload = { format, body, bytes, ...(format === 'csv' && { csv }) };
  // An existing frame has its types: a schema is of no use.
  const conditions = { ifPresent: !create || hasSchema };
  const stored = await (
    overwrite
      ? service.putFrame(call, handle, upload, conditions)
      : service.appendFrame(call, handle, upload, conditions)
  ).catch((error: unknown) => {
    const isNew = create && error instanceof ServiceError && error.code === 'version_conflict';
    throw isNew ? schemaOfNew() : error;
  });
  return jsonResponse(importReport(stored));
}

function importRequest(params: Params): ImportRequest {
  const given = (name: keyof typeof IMPORT_PARAMS): string | undefined => single(params, name);
  const flag = (name: keyof typeof IMPORT_PARAMS): boolean | undefined =>
    mapGiven(given(name), (text) => parseFlag(name, text));
  // QuestDB's console sends an empty delimiter if the user chose none.
  const delimiter = given('delimiter') || undefined;
  return {
    name: given('name'),
    overwrite: flag('overwrite') ?? false,
    create: flag('create') ?? true,
    csv: { ...(delimiter !== undefined && { delimiter }), ...(flag('forceHeader') === true && { header: true }) },
  };
}

/** The form of an import: the file, and perhaps a part `schema` before it, with the types of columns. */
async function openForm(
  service: Service,
  context: RequestContext,
): Promise<{ readonly file: FormFile; readonly hasSchema: boolean }> {
  const { req } = context.c;
  const contentType = req.header('content-type') ?? '';
  if (mediaTypeOf(contentType) !== 'multipart/form-data') {
    throw new ServiceError('unsupported_media_type', `An import is a form, and not ${quoted(contentType)}.`, {
      hint: 'Send multipart/form-data, for example with curl -F data=@trades.csv, or put the file with PUT /frames/{handle}.',
    });
  }
  const { maxUploadBytes: maxBytes } = service;
  const coding = parseContentEncoding(req.header('content-encoding'));
  const received = limitBytes(openBody(context), maxBytes);
  const body = coding === undefined ? received : decompressBody(received, coding, { maxBytes });
  let schema = '';
  const file = await openFormFile(contentType, body, { name: 'schema', onText: (text) => void (schema = text) });
  return { file, hasSchema: !/^(?:\[\s*\])?$/.test(schema.trim()) };
}

function schemaOfNew(): ServiceError {
  return new ServiceError('invalid_argument', 'The form has a schema, but the frame does not exist yet.', {
    hint: 'Leave the schema out: types come from all rows. PUT /frames/{handle}?columns=id:LONG,name declares them.',
  });
}

/** What QuestDB reports of an import, as far as it applies. */
function importReport({ info, rowsWritten = info.rows }: AppendResult): object {
  const { handle: location, columns } = info;
  return {
    status: 'OK',
    location,
    rowsRejected: 0,
    rowsImported: rowsWritten,
    partitionBy: 'NONE',
    ...(columns && {
      header: columns.some(({ name }, i) => name !== `column${i}`),
      columns: columns.map(({ name, type }) => ({ name, type, errors: 0 })),
    }),
  };
}

/** The answers of QuestDB. Its console offers no import under a reserved name. */
type Existence = 'Exists' | 'Does not exist' | 'Reserved name';

/** Handles `/chk`: looks for a frame if SQL runs over frames by default; else asks the database. */
export function chkHandlers(service: Service, rules: ExecRules): HandlersOf<'GET'> {
  async function existenceOf(call: HttpCall, handle: string): Promise<Existence> {
    if (!isHandle(handle)) return 'Reserved name';
    try {
      await service.describeFrame(call, handle);
      return 'Exists';
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'handle_not_found') return 'Does not exist';
      throw error;
    }
  }

  return {
    GET: async ({ c, call }) => {
      const params = parseQueryString(c.req.url);
      const isLocal = chkTarget(params, rules) === 'local' && rules.defaultEngine === 'local';
      service.authorize(call, isLocal ? 'describeFrame' : 'forward');
      if (!isLocal && c.req.method === 'HEAD') {
        return methodNotAllowed('HEAD is not forwarded to the database.', ['GET']);
      }
      const request = parseChkRequest(params, rules);
      if (request.kind === 'forward') {
        return { forwarded: await service.forward(call, { path: '/chk', params: request.params }) };
      }
      const status = await existenceOf(call, request.handle);
      if (request.isJson) return jsonResponse({ status });
      return { headers: { 'content-type': 'text/plain; charset=utf-8' }, body: `${status}\r\n` };
    },
  };
}

/** Names of QuestDB, for its clients. Version 2 of the protocol has binary values. */
const LINES = { 'line.proto.support.versions': [1], 'cairo.max.file.name.length': 127 };

/**
 * Handles `/settings`: what clients of line protocol may send; and, if SQL runs over frames by default, what QuestDB's web
 * console asks for: an edition without users of its own, and preferences that cannot be changed. Clients of line protocol
 * ask without credentials, so the first part is for everyone; the version of the server is not.
 */
export function settingsHandlers(
  { version }: Service,
  defaultEngine: SqlTarget | undefined,
  hasCallers: boolean,
): HandlersOf<'GET'> {
  const edition = { 'release.type': 'OSS', 'release.version': version, 'http.settings.readonly': true };
  const settings =
    defaultEngine === 'local'
      ? { config: { ...edition, ...LINES, 'posthog.enabled': false }, 'preferences.version': 0, preferences: {} }
      : { config: LINES };
  return {
    GET: ({ call }) => jsonResponse(hasCallers && call.caller === undefined ? { config: LINES } : settings),
  };
}

/** Handles `/warnings` of QuestDB's web console: there are none, as `/health` has the state of this server. */
export const WARNINGS_HANDLERS: HandlersOf<'GET'> = { GET: () => jsonResponse([]) };
