import { ERROR_CODES, type ErrorCode } from '@svc/errors';
import { type OperationName, REQUIRED_PERMISSIONS, type SqlTarget } from '@svc/service';
import { toJsonSchema } from '@valibot/to-json-schema';
import type {
  EndpointRow,
  EndpointTable,
  JsonSchema,
  MethodRow,
  ParameterRow,
  ParameterTable,
  ResponseHeader,
  ResponseRow,
} from '../endpoints/endpoint-table.ts';
import { requestContent, RESPONSE_CONTENTS, schemaRef, type ServerFormats } from './contents.ts';
import { SCHEMAS } from './schemas.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** The parts of an OpenAPI 3.1 document. */
export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: JsonObject;
  readonly servers: readonly JsonObject[];
  readonly security?: readonly JsonObject[];
  readonly tags: readonly JsonObject[];
  /** The operations by path and method. */
  readonly paths: Readonly<Record<string, JsonObject>>;
  readonly components: Readonly<Record<string, JsonObject>>;
}

const DESCRIPTION = `Data frames over HTTP: put them, read them, query them with SQL.

\`HEAD\` works wherever \`GET\` does, except that it never runs SQL. Another method is 405 with \`Allow\`, and an unknown path is
404. Every response carries \`x-request-id\`: the client's, if it sent a valid one, else a new one. Every error is JSON with a
code from a closed set, a sentence and a hint.`;

/** What the groups of paths are for. */
const GROUPS: Readonly<Record<EndpointRow['group'], string>> = {
  'Rows and SQL': 'Read frames and run SQL.',
  Frames: 'Put, append, list, describe and drop frames.',
  Server: 'The state of the server, and what it can do.',
};

const SECURITY_SCHEMES = {
  bearer: { type: 'http', scheme: 'bearer', description: 'A token or a JWT.' },
  basic: { type: 'http', scheme: 'basic', description: 'Any user, and the token as the password.' },
};

/** Describes every path of a table as an OpenAPI document. */
export function createDocument(table: EndpointTable, server: DescribedServer): OpenApiDocument {
  const { version, basePath, hasCallers, hasTokens } = server;
  const { paths, responses } = createOperations(table, server);
  return {
    openapi: '3.1.0',
    info: {
      title: 'svc',
      version,
      summary: 'A small data-frame server.',
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: basePath === '' ? '/' : basePath }],
    // The credentials of a host are its own.
    ...(hasTokens && { security: Object.keys(SECURITY_SCHEMES).map((name) => ({ [name]: [] })) }),
    ...(!hasCallers && { security: [] }),
    tags: [...new Set(Object.values(table).map(({ group }) => group))].map((name) => ({
      name,
      description: GROUPS[name],
    })),
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(SCHEMAS).map(([name, schema]) => [name, jsonSchema(schema)])),
      responses,
      headers: Object.fromEntries(
        Object.entries(RESPONSE_HEADERS).filter(([name]) => hasCallers || name !== 'www-authenticate'),
      ),
      ...(hasTokens && { securitySchemes: SECURITY_SCHEMES }),
    },
  };
}

function jsonSchema(schema: (typeof SCHEMAS)[keyof typeof SCHEMAS]): JsonSchema {
  // JSON has only finite numbers.
  const { $schema: _dialect, ...rest } = toJsonSchema(schema, { target: 'draft-2020-12', ignoreActions: ['finite'] });
  return rest;
}

/** What the description of a server depends on. */
export interface DescribedServer extends ServerFormats {
  readonly version: string;
  /** The path of the mount; empty at the root. */
  readonly basePath: string;
  /** True if requests have callers. */
  readonly hasCallers: boolean;
  /** True if callers have tokens or JWTs, and not credentials of the host. */
  readonly hasTokens: boolean;
  /** The configured targets of SQL. */
  readonly targets: readonly SqlTarget[];
  /** The target of SQL without `engine`. */
  readonly defaultTarget: SqlTarget;
}

/** The operations of a document, and their shared responses. */
export interface Operations {
  readonly paths: Readonly<Record<string, JsonObject>>;
  readonly responses: JsonObject;
}

/** Describes the paths of a table. */
function createOperations(table: EndpointTable, server: DescribedServer): Operations {
  const responses: Record<string, JsonObject> = {};
  const paths = Object.entries(table).map(([path, row]) => {
    const { pathParams = {}, methods, group } = row;
    const operations = Object.entries(methods).map(([method, it]) => {
      const described = {
        tags: [group],
        operationId: it.id,
        summary: it.summary,
        description: descriptionOf(method, path, it, server),
        ...parametersOf(it, server),
        ...(it.body && { requestBody: { required: true, content: requestContent(it.body, server) } }),
        responses: { ...successes(it, server), ...failures(row, it, server, responses), ...anyOther(it, server) },
        ...securityOf(row, server),
      };
      return [method.toLowerCase(), described] as const;
    });
    const inPath = parameters('path', pathParams);
    return [path, { ...(inPath.length > 0 && { parameters: inPath }), ...Object.fromEntries(operations) }] as const;
  });
  return { paths: Object.fromEntries(paths), responses };
}

function descriptionOf(
  method: string,
  path: string,
  { uses, ...row }: MethodRow,
  { hasCallers }: DescribedServer,
): string {
  const lines = uses.map(({ request = path, gives }) => `- \`${method} ${request}\`: ${gives}`);
  return [lines.join('\n'), ...(hasCallers ? permissionsOf(row) : [])].join('\n\n');
}

/** Returns the permissions of a method, in a sentence. */
function permissionsOf({ operation, body, mayForward = false }: Omit<MethodRow, 'uses'>): readonly string[] {
  const { query, keepQuery, appendQuery, forward, readFrame } = REQUIRED_PERMISSIONS;
  if (mayForward && operation === undefined) {
    const rows = { 'a frame': readFrame, 'engine=local': query.local, 'engine=scheduler': query.scheduler };
    return [sentence({ ...rows, 'engine=tsdb': forward })];
  }
  if (operation === undefined) return [];
  const own: Readonly<Record<OperationName, unknown>> = REQUIRED_PERMISSIONS;
  const permissions = own[operation];
  if (!Array.isArray(permissions)) return [];
  const ofQuery = body === 'rows_or_query' ? keepQuery : body === 'rows_or_appended_query' ? appendQuery : undefined;
  if (ofQuery === undefined) return [`Permission: ${permissions.map((name) => `\`${name}\``).join(', ')}.`];
  const engines = Object.entries(ofQuery).map(([engine, names]) => [`SQL with engine ${engine}`, names] as const);
  return [sentence({ rows: permissions, ...Object.fromEntries(engines) })];
}

function sentence(rows: Readonly<Record<string, readonly string[]>>): string {
  const parts = Object.entries(rows).map(
    ([what, names]) => `${names.map((name) => `\`${name}\``).join(' and ')} for ${what}`,
  );
  return `Permissions: ${parts.join(', ')}.`;
}

function parametersOf(
  { params = {}, headers = {}, body }: MethodRow,
  server: DescribedServer,
): { readonly parameters?: readonly JsonObject[] } {
  const { engine } = params;
  const inQuery = engine === undefined ? params : { ...params, engine: configured(engine, body === 'sql', server) };
  const all = [...parameters('query', inQuery), ...parameters('header', headers)];
  return all.length === 0 ? {} : { parameters: all };
}

/** Returns `engine` with the configured targets. A body with SQL needs it if the default is not configured. */
function configured(row: ParameterRow, hasSql: boolean, { targets, defaultTarget }: DescribedServer): ParameterRow {
  const all: readonly unknown[] = Array.isArray(row.schema['enum']) ? row.schema['enum'] : [];
  const values = all.filter((name) => targets.some((target) => target === name));
  if (values.length === 0) return row;
  return { ...row, schema: { enum: values }, isRequired: hasSql && !targets.includes(defaultTarget) };
}

function parameters(place: 'header' | 'path' | 'query', table: ParameterTable): readonly JsonObject[] {
  return Object.entries(table).map(([name, { rule, schema, isRequired = false, isRepeatable = false, formats }]) => ({
    name,
    in: place,
    description: formats === undefined ? rule : `For ${formats.join(', ')}. ${rule}`,
    ...(isRequired && { required: true }),
    ...(isRepeatable ? { schema: { type: 'array', items: schema }, style: 'form', explode: true } : { schema }),
  }));
}

function successes({ responses }: MethodRow, server: DescribedServer): JsonObject {
  const rows: readonly (readonly [string, ResponseRow])[] = Object.entries(responses);
  return Object.fromEntries(
    rows.map(([status, { means, content, headers = [] }]) => [
      status,
      {
        description: means,
        headers: headerRefs(['x-request-id', ...headers]),
        ...(content && { content: RESPONSE_CONTENTS[content](server) }),
      },
    ]),
  );
}

/** The errors of every request. */
const COMMON_ERRORS = [
  'invalid_argument',
  'permission_denied',
  'headers_too_large',
  'internal',
] as const satisfies readonly ErrorCode[];

/** Adds the errors of a method to the shared responses, and returns references to them by status. */
function failures(
  { access = 'closed', isProbe = false }: EndpointRow,
  { errors = [], responses: own }: MethodRow,
  { hasCallers }: DescribedServer,
  responses: Record<string, JsonObject>,
): JsonObject {
  const codes: readonly ErrorCode[] = [
    ...COMMON_ERRORS,
    ...(hasCallers && access !== 'open' ? (['unauthenticated'] as const) : []),
    ...(isProbe ? [] : (['too_many_requests', 'unavailable'] as const)),
    ...errors,
  ];
  const statuses = [...new Set(codes.map((code) => ERROR_CODES[code].http))];
  const refs = statuses
    .filter((status) => !(status in own))
    .map((status) => {
      const ofStatus = [...new Set(codes)].filter((code) => ERROR_CODES[code].http === status).toSorted();
      const name = ofStatus.join('-');
      responses[name] ??= failure(ofStatus);
      return [status, { $ref: `#/components/responses/${name}` }] as const;
    });
  return Object.fromEntries(refs);
}

function failure(codes: readonly ErrorCode[]): JsonObject {
  return {
    description: codes.map((code) => `\`${code}\`: ${ERROR_CODES[code].meaning}`).join('\n\n'),
    headers: headerRefs(['x-request-id', ...codes.flatMap((code) => ERROR_HEADERS[code] ?? [])]),
    content: { 'application/json': { schema: schemaRef('Error') } },
  };
}

const ERROR_HEADERS: Partial<Readonly<Record<ErrorCode, readonly (keyof typeof RESPONSE_HEADERS)[]>>> = {
  unauthenticated: ['www-authenticate'],
  method_not_allowed: ['allow'],
  too_many_requests: ['retry-after'],
};

/** The database may answer with any status. */
function anyOther({ mayForward = false }: MethodRow, server: DescribedServer): JsonObject {
  if (!mayForward || !server.hasTsdb) return {};
  const description = 'Any other status of the time-series database passes through with its body.';
  return { default: { description, content: RESPONSE_CONTENTS.forwarded(server) } };
}

function securityOf({ access = 'closed' }: EndpointRow, { hasTokens }: DescribedServer): JsonObject {
  if (!hasTokens || access === 'closed') return {};
  return { security: access === 'open' ? [] : [{}, { bearer: [] }, { basic: [] }] };
}

/** A header of responses. */
export interface HeaderObject {
  readonly description: string;
  readonly required?: true;
  readonly schema: JsonSchema;
}

const TEXT = { type: 'string' } as const;

type ErrorHeader = 'allow' | 'retry-after' | 'www-authenticate';

/** The headers of responses. */
const RESPONSE_HEADERS = {
  'x-request-id': { description: 'Identifies the request in the log.', required: true, schema: TEXT },
  etag: { description: 'The version of the frame or file, for conditional requests.', schema: TEXT },
  'x-total-count': { description: 'The number of rows in the whole frame.', schema: { type: 'integer', minimum: 0 } },
  location: { description: 'The path of the frame.', required: true, schema: TEXT },
  'content-disposition': { description: 'A name for the file.', schema: TEXT },
  'accept-ranges': { description: 'Whether `Range` works.', schema: { enum: ['bytes', 'none'] } },
  'content-range': { description: 'Which bytes these are, and how many there are.', schema: TEXT },
  'server-timing': {
    description: 'How long SQL waited (`queue`) and ran until its first rows (`execute`), in milliseconds.',
    schema: TEXT,
  },
  allow: { description: 'The methods of the path.', required: true, schema: TEXT },
  'retry-after': { description: 'When to retry, in seconds.', required: true, schema: { type: 'integer', minimum: 0 } },
  'www-authenticate': { description: 'Which credentials to send.', required: true, schema: TEXT },
} as const satisfies Readonly<Record<ErrorHeader | ResponseHeader | 'x-request-id', HeaderObject>>;

/** Returns headers by name, as references. */
function headerRefs(names: readonly (keyof typeof RESPONSE_HEADERS)[]): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
