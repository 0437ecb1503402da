import { toJsonSchema } from '@valibot/to-json-schema';
import type { EndpointRow, EndpointTable, JsonSchema } from '../endpoints/endpoint-table.ts';
import { createOperations, type DescribedServer } from './operations.ts';
import { RESPONSE_HEADERS } from './response-headers.ts';
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
