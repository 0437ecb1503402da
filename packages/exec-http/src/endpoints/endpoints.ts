import type { EndpointRow, EndpointTable, MethodRow } from './endpoint-table.ts';
import { ETAG_HEADERS, PAGE_PARAMS, QUERY_PARAMS, RUNNING_PARAMS } from './parameters.ts';
import { READ_ENDPOINTS } from './read-endpoints.ts';
import { FRAME_ENDPOINTS, LINE_ENDPOINTS, QUESTDB_ENDPOINTS } from './write-endpoints.ts';

/** The paths of running SQL, and of what the server can do. */
const QUERY_ENDPOINTS = {
  '/queries': {
    group: 'Server',
    methods: {
      GET: {
        id: 'listQueries',
        summary: 'List the running SQL',
        operation: 'listQueries',
        params: RUNNING_PARAMS,
        responses: { 200: { means: 'The statements that wait, run, or send their result.', content: 'query_list' } },
        uses: [{ gives: 'the running SQL', section: 'running-sql' }],
      },
    },
  },
  '/queries/{id}': {
    group: 'Server',
    pathParams: QUERY_PARAMS,
    methods: {
      GET: {
        id: 'findQuery',
        summary: 'Show the running SQL of a request',
        operation: 'findQuery',
        params: RUNNING_PARAMS,
        responses: { 200: { means: 'The state of the statement.', content: 'query' } },
        errors: ['query_not_found'],
        uses: [{ gives: 'the SQL of one request', section: 'running-sql' }],
      },
      DELETE: {
        id: 'cancelQuery',
        summary: 'Cancel the running SQL of a request',
        operation: 'cancelQuery',
        refusesOthers: true,
        responses: { 204: { means: 'The statement is cancelled.' } },
        errors: ['query_not_found'],
        uses: [{ gives: 'cancels it', section: 'running-sql' }],
      },
    },
  },
  '/info': {
    group: 'Server',
    methods: {
      GET: {
        id: 'info',
        summary: 'Show what this server can do',
        responses: { 200: { means: 'The version, engines, formats and limits.', content: 'info' } },
        uses: [{ gives: 'what this server can do: engines, formats, limits', section: 'what-the-server-can-do' }],
      },
    },
  },
} as const satisfies EndpointTable;

const READY = { 200: { means: 'The server is ready.', content: 'state' } } as const;
const NOT_MODIFIED = { means: 'The client has it already.', headers: ['etag'] } as const;
/** A path that tells only whether the server works, to anyone and however busy it is. */
const probe = <Get extends Omit<MethodRow, 'uses'>>(get: Get, gives: string) =>
  ({
    group: 'Server',
    access: 'open',
    isProbe: true,
    methods: { GET: { ...get, uses: [{ gives, section: 'state-of-the-server' }] } },
  }) satisfies EndpointRow;

const ready = (id: string) =>
  ({ id, summary: 'Check that the server is ready', responses: READY, errors: ['unavailable'] }) as const;

/** The state of the server, and its description. */
const STATE_ENDPOINTS = {
  '/ping': probe(
    {
      id: 'ping',
      summary: 'Check that the listener answers',
      responses: { 200: { means: 'The listener answers: `ok`.', content: 'text' } },
    },
    '`ok`',
  ),
  '/health': {
    group: 'Server',
    access: 'optional',
    isProbe: true,
    methods: {
      GET: {
        id: 'health',
        summary: 'Show the state of the server',
        responses: {
          200: { means: 'The server works, perhaps without some of its frames.', content: 'health' },
          503: { means: 'The store fails, or the server is stopping.', content: 'health' },
        },
        uses: [{ gives: 'the state of the server', section: 'state-of-the-server' }],
      },
    },
  },
  '/ready': probe(ready('ready'), 'whether requests should be sent here: 200 or 503'),
  '/readyz': probe(ready('readyz'), 'the same as `/ready`'),
  '/livez': probe(
    {
      id: 'livez',
      summary: 'Check that the process is alive',
      responses: { 200: { means: 'The process is alive.', content: 'state' } },
    },
    'whether the process is alive',
  ),
  '/openapi.json': {
    group: 'Server',
    methods: {
      GET: {
        id: 'openapi',
        summary: 'Describe this API',
        headers: ETAG_HEADERS,
        responses: {
          200: { means: 'The description, in OpenAPI 3.1.', content: 'document', headers: ['etag'] },
          304: NOT_MODIFIED,
        },
        uses: [{ gives: 'the description of this API, in OpenAPI 3.1', section: 'the-description-of-the-api' }],
      },
    },
  },
  '/docs': {
    group: 'Server',
    access: 'open',
    methods: {
      GET: {
        id: 'docs',
        summary: 'Show this API as a page',
        headers: ETAG_HEADERS,
        responses: { 200: { means: 'The page.', content: 'page', headers: ['etag'] }, 304: NOT_MODIFIED },
        uses: [{ gives: 'the same as a page, to read and to try', section: 'the-description-of-the-api' }],
      },
    },
  },
  '/docs/{file}': {
    group: 'Server',
    access: 'open',
    pathParams: PAGE_PARAMS,
    methods: {
      GET: {
        id: 'docsFile',
        summary: 'Load a file of the page',
        headers: ETAG_HEADERS,
        responses: { 200: { means: 'The file.', content: 'page_file', headers: ['etag'] }, 304: NOT_MODIFIED },
        errors: ['route_not_found'],
        uses: [],
      },
    },
  },
} as const satisfies EndpointTable;

/** The paths of the API, also if all others are those of the database. */
export const API_ENDPOINTS = {
  ...READ_ENDPOINTS,
  ...FRAME_ENDPOINTS,
  ...QUERY_ENDPOINTS,
  ...STATE_ENDPOINTS,
} as const satisfies EndpointTable;

/**
 * Every path of the API: it routes requests, tells parsers the names of the parameters, and describes the API in
 * `/openapi.json` and the documentation.
 */
export const ENDPOINTS = {
  ...API_ENDPOINTS,
  ...LINE_ENDPOINTS,
  ...QUESTDB_ENDPOINTS,
} as const satisfies EndpointTable;
