import { ENCODINGS, type UploadFormat } from '@svc/frames';
import type { JsonSchema, RequestContent, ResponseContent } from '../endpoints/endpoint-table.ts';
import { EXPORT_FORMATS, FILE_TYPES } from '../endpoints/parameters.ts';
import type { SCHEMAS } from './schemas.ts';

/** The media types of a body, each with a schema and perhaps an example. */
export type Content = Readonly<Record<string, { readonly schema: JsonSchema; readonly example?: unknown }>>;

/** The features of a server that bodies depend on. */
export interface ServerFormats {
  readonly uploadFormats: readonly UploadFormat[];
  readonly hasParquet: boolean;
  readonly hasTsdb: boolean;
}

/** Returns the reference to a named schema. */
export function schemaRef(name: keyof typeof SCHEMAS): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

const json = (schema: JsonSchema): Content => ({ 'application/json': { schema } });
const ROWS: JsonSchema = { type: 'array', items: { type: 'object' }, description: 'Rows.' };
const BYTES: JsonSchema = {};
const TEXT: JsonSchema = { type: 'string' };

const EXAMPLE_ROW = { id: 1, symbol: 'ACME', price: 1.5 };
const EXAMPLE_SQL = 'select 42 as answer';
const EXAMPLE_LINE = 'trades,symbol=ACME price=1.5,size=3i 1700000000000000000\n';
/** Examples of the text formats. */
const EXAMPLE_ROWS: Readonly<Record<string, unknown>> = {
  'application/json': [EXAMPLE_ROW],
  'application/x-ndjson': `${JSON.stringify(EXAMPLE_ROW)}\n`,
  'text/csv': `${Object.keys(EXAMPLE_ROW).join()}\n${Object.values(EXAMPLE_ROW).join()}\n`,
};

/** Returns the media type of a content type, without its parameters. */
function mediaType(contentType: string): string {
  return contentType.split(';', 1)[0] ?? contentType;
}

/** Returns the body of a request. */
export function requestContent(name: RequestContent, { uploadFormats }: ServerFormats): Content {
  switch (name) {
    case 'change':
      return { 'application/json': { schema: schemaRef('FrameChange'), example: { ttl: 3600 } } };
    case 'form':
      return {
        'multipart/form-data': {
          schema: { type: 'object', properties: { data: { type: 'string' }, schema: TEXT }, required: ['data'] },
        },
      };
    case 'lines':
      return { 'text/plain': { schema: TEXT, example: EXAMPLE_LINE } };
    case 'rows':
      return uploads(uploadFormats, ROWS);
    case 'rows_or_query':
      return uploads(uploadFormats, { oneOf: [schemaRef('StoredQuery'), ROWS] });
    case 'rows_or_appended_query':
      return uploads(uploadFormats, { oneOf: [schemaRef('AppendedQuery'), ROWS] });
    case 'sql':
      return {
        'application/sql': { schema: TEXT, example: EXAMPLE_SQL },
        'text/plain': { schema: TEXT, example: EXAMPLE_SQL },
        'application/x-www-form-urlencoded': {
          schema: { type: 'object', properties: { query: TEXT }, required: ['query'] },
          example: { query: EXAMPLE_SQL },
        },
      };
    default:
      return name satisfies never;
  }
}

function uploads(formats: readonly UploadFormat[], asJson: JsonSchema): Content {
  const types = formats.flatMap((format): readonly string[] => ENCODINGS[format].in.types);
  return Object.fromEntries(
    types.map((type) => {
      const schema = type === 'application/json' ? asJson : type in EXAMPLE_ROWS ? TEXT : BYTES;
      const example = EXAMPLE_ROWS[type];
      return [type, { schema, ...(example !== undefined && { example }) }];
    }),
  );
}

const ANYTHING: Content = { '*/*': { schema: BYTES } };
const FORWARDED: JsonSchema = { description: 'The response of the time-series database, unchanged.' };

const named = (name: keyof typeof SCHEMAS) => (): Content => json(schemaRef(name));

/** The body of each response. */
export const RESPONSE_CONTENTS: Readonly<Record<ResponseContent, (formats: ServerFormats) => Content>> = {
  document: () => json({ type: 'object' }),
  existence: ({ hasTsdb }) => ({
    ...json(schemaRef('Existence')),
    'text/plain': { schema: TEXT },
    ...(hasTsdb && ANYTHING),
  }),
  export: exportContent,
  file: () => Object.fromEntries(Object.values(FILE_TYPES).map((type) => [mediaType(type), { schema: BYTES }])),
  forwarded: () => ANYTHING,
  frame: named('Frame'),
  frame_list: named('FrameList'),
  health: named('Health'),
  import: named('Import'),
  info: named('Info'),
  page: () => ({ 'text/html': { schema: TEXT } }),
  page_file: () => ({ 'text/css': { schema: TEXT }, 'text/javascript': { schema: TEXT } }),
  query: named('Query'),
  query_list: named('QueryList'),
  settings: named('Settings'),
  shown_frame: named('ShownFrame'),
  state: named('State'),
  table: ({ hasTsdb }) => json(hasTsdb ? { anyOf: [schemaRef('Table'), FORWARDED] } : schemaRef('Table')),
  text: () => ({ 'text/plain': { schema: TEXT } }),
  warnings: () => json({ type: 'array' }),
};

function exportContent({ hasParquet, hasTsdb }: ServerFormats): Content {
  const formats = EXPORT_FORMATS.filter((format) => format !== 'parquet' || hasParquet);
  const own = formats.map((format) => mediaType(ENCODINGS[format].out.contentType));
  return Object.fromEntries([...own, ...(hasTsdb ? ['*/*'] : [])].map((type) => [type, { schema: BYTES }]));
}
