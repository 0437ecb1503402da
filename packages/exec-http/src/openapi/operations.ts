import { ERROR_CODES, type ErrorCode } from '@svc/errors';
import { type OperationName, REQUIRED_PERMISSIONS } from '@svc/service';
import type {
  EndpointRow,
  EndpointTable,
  MethodRow,
  ParameterTable,
  ResponseRow,
} from '../endpoints/endpoint-table.ts';
import { requestContent, responseContent, schemaRef, type ServerFormats } from './contents.ts';
import { headerRefs, type RESPONSE_HEADERS } from './response-headers.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** What the description of a server depends on. */
export interface DescribedServer extends ServerFormats {
  readonly version: string;
  /** The path under which the API is mounted; empty at the root. */
  readonly basePath: string;
  /** Whether requests have callers. */
  readonly hasCallers: boolean;
  /** Whether callers have tokens or JWTs, and not credentials of the host. */
  readonly hasTokens: boolean;
}

/** The operations of a document, and the responses that they share. */
export interface Operations {
  readonly paths: Readonly<Record<string, JsonObject>>;
  readonly responses: JsonObject;
}

/** Describes the paths of a table. */
export function createOperations(table: EndpointTable, server: DescribedServer): Operations {
  const responses: Record<string, JsonObject> = {};
  const paths = Object.entries(table).map(([path, row]) => {
    const { pathParams = {}, methods, group } = row;
    const operations = Object.entries(methods).map(([method, it]) => {
      const described = {
        tags: [group],
        operationId: it.id,
        summary: it.summary,
        description: descriptionOf(method, path, it, server),
        ...parametersOf(it),
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

/** Returns which permissions a method needs, in a sentence. */
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

function parametersOf({ params = {}, headers = {} }: MethodRow): { readonly parameters?: readonly JsonObject[] } {
  const all = [...parameters('query', params), ...parameters('header', headers)];
  return all.length === 0 ? {} : { parameters: all };
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
        ...(content && { content: responseContent(content, server) }),
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
  return { default: { description, content: responseContent('forwarded', server) } };
}

function securityOf({ access = 'closed' }: EndpointRow, { hasTokens }: DescribedServer): JsonObject {
  if (!hasTokens || access === 'closed') return {};
  return { security: access === 'open' ? [] : [{}, { bearer: [] }, { basic: [] }] };
}
