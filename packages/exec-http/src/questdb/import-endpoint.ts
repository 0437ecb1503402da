import { ServiceError, toServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { decompressBody } from '@svc/frames';
import { limitBytes } from '@svc/frames/internal';
import type { AppendResult, Service, Upload } from '@svc/service';
import type { EndpointResponse } from '../endpoint-response.ts';
import type { HandlersOf } from '../endpoint.ts';
import type { IMPORT_PARAMS } from '../endpoints/parameters.ts';
import { parseFlag } from '../exec-params.ts';
import { jsonResponse } from '../json-response.ts';
import { mapGiven, type Params, parseQueryString, single } from '../query-string.ts';
import { openBody } from '../request-body.ts';
import type { RequestContext } from '../request-context.ts';
import { parseContentEncoding } from '../upload/content-encoding.ts';
import { type FormFile, openFormFile } from '../upload/form-file.ts';
import { mediaTypeOf, recognised } from '../upload/upload-body.ts';

/** The parameters of an import that have an effect. */
interface ImportRequest {
  /** The handle; undefined: the name of the file. */
  readonly name: string | undefined;
  readonly overwrite: boolean;
  readonly create: boolean;
  readonly csv: { readonly delimiter?: string; readonly header?: boolean };
}

/** Handles `/imp`: stores the file in a form as a frame, or appends it. */
export function importHandlers(service: Service): HandlersOf<'POST'> {
  return {
    POST: async (context) => {
      try {
        return await importFile(service, context);
      } catch (thrown) {
        if (context.call.isCancelled && !(thrown instanceof ServiceError)) throw thrown;
        const error = toServiceError(thrown);
        const fields: ImportErrorFields = { status: error.message };
        return { error, fields: { ...fields } };
      }
    },
  };
}

/** The field of an error that tools of QuestDB read. */
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
  // A schema is of no use for a frame that exists, and has its types.
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
